"""Random network distillation (Burda et al., 2018), as a bonus: the error of predicting a fixed random network.

The error is large for observations that are unlike those that the predictor was trained on. Observations and errors
are normalised by running statistics, which the authors found necessary.
"""

# JAX and Equinox: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array as JaxArray
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from dorax.agents.adam import adam_state, adam_step
from dorax.agents.deep.networks import Network
from dorax.agents.explorers.moments import Moments
from dorax.agents.explorers.specs import RND

_CLIP = 5.0  # standard deviations
_DISCOUNT = 0.99  # of the sum of errors whose standard deviation normalises them
_TINY = 1e-8  # added to variances


class RNDMemory(NamedTuple):
    """What an `RND` bonus has learned.

    Attributes:
        target: weights of the fixed network.
        predictor: weights of the predictor.
        opt_state: state of its optimizer.
        steps: number of steps seen so far.
        observations: statistics of the observations.
        sums: statistics of the discounted sum of errors.
        discounted_sum: that sum now.
    """

    target: Any
    predictor: Any
    opt_state: Any
    steps: Int[JaxArray, ""]
    observations: Moments
    sums: Moments
    discounted_sum: Float[JaxArray, ""]


class Visit(NamedTuple):
    """A visited observation, to train the predictor on.

    Attributes:
        x: the observation, normalised.
        is_used: whether to train on it.
    """

    x: Float[JaxArray, "*steps dims"]
    is_used: Bool[JaxArray, "*steps"]


def new_memory(rnd: RND, dims: int, key: PRNGKeyArray) -> RNDMemory:
    """Make the memory of a bonus that has seen nothing.

    Args:
        rnd: the bonus.
        dims: length of an observation.
        key: random key.

    Returns:
        The memory.
    """
    target, predictor = _network(rnd, dims).draw(key, 2)
    zero, zeros = jnp.zeros(()), jnp.zeros(dims)
    steps = jnp.zeros((), jnp.int32)
    return RNDMemory(target, predictor, adam_state(predictor), steps, Moments(zeros, zeros), Moments(zero, zero), zero)


def visited(
    rnd: RND, memory: RNDMemory, observation: Float[JaxArray, " dims"], learns: Bool[JaxArray, ""]
) -> tuple[RNDMemory, Float[JaxArray, ""], Visit]:
    """Update the running statistics after a step, and compute its bonus.

    Args:
        rnd: the bonus.
        memory: memory before the step.
        observation: the observation that the step led to.
        learns: if False, nothing changes.

    Returns:
        The new memory, the bonus, and the row to train the predictor on.
    """
    steps = memory.steps + learns
    weight = 1 / jnp.maximum(steps, 1).astype(float)
    observations = _with(memory.observations, observation, weight, learns)
    deviation = jnp.sqrt(observations.variance + _TINY)
    x = jnp.clip((observation - observations.mean) / deviation, -_CLIP, _CLIP)
    network = _network(rnd, observation.shape[0])
    error = _error(network, memory.predictor, memory.target, x)
    old = memory.discounted_sum
    discounted_sum = jnp.where(learns, _DISCOUNT * old, old) + jnp.where(learns, error, 0.0)
    sums = _with(memory.sums, discounted_sum, weight, learns)
    is_used = learns & (steps > rnd.warm_up)
    bonus = jnp.where(is_used, rnd.scale * (error / jnp.sqrt(sums.variance + _TINY)), 0.0)
    after = memory._replace(steps=steps, observations=observations, sums=sums, discounted_sum=discounted_sum)
    return after, bonus, Visit(x, is_used)


def trained(rnd: RND, memory: RNDMemory, visits: Visit, key: PRNGKeyArray, learns: Bool[JaxArray, ""]) -> RNDMemory:
    """Take one step of Adam on a share of the observations since the last one.

    Args:
        rnd: the bonus.
        memory: memory before the step.
        visits: the rows, with a leading axis over steps.
        key: key of the random numbers that choose the share.
        learns: if False, nothing changes.

    Returns:
        The new memory.
    """
    network = _network(rnd, visits.x.shape[-1])
    is_used = visits.is_used & (jax.random.uniform(key, visits.is_used.shape) < rnd.share)
    is_due = learns & jnp.any(is_used)
    share = jnp.where(is_used, 1 / jnp.maximum(jnp.sum(is_used), 1).astype(float), 0.0)

    def loss(predictor: Any) -> Float[JaxArray, ""]:
        def error(x: Float[JaxArray, " dims"]) -> Float[JaxArray, ""]:
            return _error(network, predictor, memory.target, x)

        return jnp.sum(share * jax.vmap(error)(visits.x))

    grads = jax.grad(loss)(memory.predictor)
    new = adam_step(memory.predictor, grads, memory.opt_state, rnd.learning_rate, is_due)

    def selected(new: JaxArray, old: JaxArray) -> JaxArray:
        return jnp.where(is_due, new, old)

    predictor, opt_state = jax.tree.map(selected, new, (memory.predictor, memory.opt_state))
    return memory._replace(predictor=predictor, opt_state=opt_state)


def _network(rnd: RND, dims: int) -> Network:
    return Network(dims, rnd.outputs, rnd.width, depth=2)


def _error(network: Network, predictor: Any, target: Any, x: Float[JaxArray, " dims"]) -> Float[JaxArray, ""]:
    return jnp.mean((network.apply(predictor, x) - network.apply(target, x)) ** 2)


def _with(moments: Moments, x: JaxArray, weight: Float[JaxArray, ""], learns: Bool[JaxArray, ""]) -> Moments:
    """Add a value to running statistics; its weight is 1 over the number of values. For selections see `adam_step`."""
    away = x - moments.mean
    mean = moments.mean + jnp.where(learns, weight * away, 0.0)
    spread = moments.variance + jnp.where(learns, weight * away**2, 0.0)
    return Moments(mean, jnp.where(learns, (1 - weight) * spread, moments.variance))
