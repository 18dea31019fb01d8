"""E-values by the difference of two networks, which starts as a random function.

A network that starts at a constant does not keep it where it has no data. A random function differs from state to
state, so what is learned about one says nothing about it in another: the difference of a network from it stays large
until there is data. Such differences carry novelty forward if they are learned with zero reward, as E-values are.
"""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from dorax.agents.adam import adam_state
from dorax.agents.explorers.protocol import Look, Visited
from dorax.agents.explorers.training import Pair, are_equal, mean_where, pair_of, trained
from dorax.agents.value_network import Inputs, ValueNetwork
from dorax.core.bonuses import Bonus
from dorax.core.counters import EValues
from dorax.core.counts import generalized_count, next_count
from dorax.features.specs import RandomStart

_TINY = 1e-30  # of a mean square


class Learned(NamedTuple):
    """State of `RandomStartCounts`.

    Attributes:
        weights: weights of the network that learns.
        opt_state: state of its optimizer.
        start: weights of the random function.
    """

    weights: Any
    opt_state: Any
    start: Any


class Differences(NamedTuple):
    """Features of `RandomStartCounts`.

    Attributes:
        x: the observations.
        d: differences from the random function.
    """

    x: Any
    d: Float[Array, "games actions outputs"]


class RandomStartCounts(eqx.Module):
    """Explorer whose E-values are the size of a difference from a random function.

    Attributes:
        counter: the E-values' discount and learning rate, the base of the counts.
        bonus: bonus of a count, or None.
        spec: the networks.
        inputs: what they see.
        actions: number of actions.
    """

    counter: EValues
    bonus: Bonus | None
    spec: RandomStart
    inputs: Inputs = eqx.field(static=True)
    actions: int = eqx.field(static=True)

    def init(self, key: PRNGKeyArray) -> Learned:
        for_weights, for_start = jax.random.split(key)
        weights, start = self._network.init(for_weights), self._network.init(for_start, last=1.0)
        return Learned(weights, adam_state(weights), start)

    def look(self, state: Learned, x: Any) -> Look:
        d = self._differences(state.weights, state.start, x)
        return Look(Differences(x, d), self._count(d, 0.0))

    def are_same(self, features: Differences) -> Bool[Array, "games games"]:
        return are_equal(features.x)

    def observe(self, state: Learned, visited: Visited) -> tuple[Learned, Float[Array, " games"], Pair]:
        bonus = jnp.zeros(len(visited.action))
        if self.bonus is not None:
            rate = self.counter.rate()
            d = _taken(visited.features.d, visited.action)
            target = self._target(visited.arrived.features.d, visited.next_action, visited.terminated)
            # E is at most 1, so the count after a visit is at least that of a first visit that leads to a new pair.
            least = next_count(jnp.zeros(()), jnp.zeros(()), rate, self.counter.discount)
            bonus = self.bonus(self._count((1 - rate) * d + rate * target, least), rate)
        return state, bonus, pair_of(visited)

    def update(self, state: Learned, rows: Pair, key: PRNGKeyArray, learns: Bool[Array, ""]) -> Learned:
        """Learn from the steps since the last update."""

        def loss(weights: Any, rows: Pair) -> Float[Array, ""]:
            d = _taken(self._differences(weights, state.start, rows.x), rows.action)
            next_d = self._differences(weights, state.start, rows.next_x)
            target = jax.lax.stop_gradient(self._target(next_d, rows.next_action, rows.terminated))
            return 0.5 * mean_where(jnp.mean((target - d) ** 2, axis=1), rows.is_visit)

        old = state.weights, state.opt_state
        weights, opt_state = trained(loss, old, rows, self.spec.learning_rate, key, learns)
        return Learned(weights, opt_state, state.start)

    def _differences(self, weights: Any, start: Any, x: Any) -> Float[Array, "batch actions outputs"]:
        random = jax.lax.stop_gradient(self._network.apply(start, x))
        random = random.reshape(len(random), self.actions, -1)
        random = random * jax.lax.rsqrt(jnp.mean(random**2, axis=-1, keepdims=True) + _TINY)
        return self._network.apply(weights, x).reshape(random.shape) - random

    def _target(self, next_d: Array, next_action: Array, terminated: Array) -> Float[Array, "batch outputs"]:
        return self.counter.discount * jnp.where(terminated[:, None], 0.0, _taken(next_d, next_action))

    def _count(self, d: Float[Array, "*batch outputs"], least: Array | float) -> Float[Array, "*batch"]:
        e = jnp.sqrt(jnp.mean(d**2, axis=-1) + _TINY)
        return jnp.maximum(generalized_count(e, self.counter.rate()), least)

    @property
    def _network(self) -> ValueNetwork:
        outputs = self.actions * self.spec.outputs
        return ValueNetwork(self.inputs, outputs, self.spec.width, self.spec.depth)


def _taken(d: Float[Array, "batch actions outputs"], action: Array) -> Float[Array, "batch outputs"]:
    return jnp.take_along_axis(d, action[:, None, None], axis=1)[:, 0]
