"""Training of explorers' networks on the steps since their last update."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array as JaxArray
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from dorax.agents.adam import adam_step
from dorax.agents.explorers.protocol import Visited
from dorax.core.arrays import Array

_PARTS = 4


class Pair(NamedTuple):
    """A visited pair and its successor, as networks learn from it.

    Attributes:
        x: observation in which the action was taken.
        action: the action.
        next_x: observation that followed.
        next_action: action that will be taken there.
        terminated: whether the episode ended in a terminal state.
        is_visit: whether there is a visit to learn from.
    """

    x: Any
    action: Int[JaxArray, " games"]
    next_x: Any
    next_action: Int[JaxArray, " games"]
    terminated: Bool[JaxArray, " games"]
    is_visit: Bool[JaxArray, " games"]


def pair_of(visited: Visited) -> Pair:
    """Return what a network learns from a step.

    Args:
        visited: the step.
    """
    return Pair(
        visited.x, visited.action, visited.next_x, visited.next_action, visited.terminated, visited.is_visit
    )  # fmt: skip


def trained(
    loss: Callable[[Any, Any], Float[JaxArray, ""]],
    state: tuple[Any, Any],
    rows: Any,
    rate: Array,
    key: PRNGKeyArray,
    learns: Bool[JaxArray, ""],
    parts: int = _PARTS,
) -> tuple[Any, Any]:
    """Learn from every row once, in random order, by a few steps of Adam on equal parts.

    If the number of rows is not divisible, the last few of that order are left out.

    Args:
        loss: loss of the weights on some rows.
        state: the weights, and the state of their optimizer.
        rows: the rows, with leading axes over steps and games.
        rate: learning rate of Adam.
        key: random key.
        learns: if False, nothing changes.
        parts: number of parts.

    Returns:
        The new weights and the new state.
    """
    flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), rows)
    number = len(jax.tree.leaves(flat)[0])
    parts = min(parts, number)
    order = jax.random.permutation(key, number)[: number // parts * parts].reshape(parts, -1)

    def learned(state: tuple[Any, Any], chosen: Int[JaxArray, " part"]) -> tuple[tuple[Any, Any], None]:
        weights, opt_state = state
        grads = jax.grad(loss)(weights, jax.tree.map(lambda leaf: leaf[chosen], flat))
        return adam_step(weights, grads, opt_state, rate, learns), None

    return jax.tree.map(partial(jnp.where, learns), jax.lax.scan(learned, state, order)[0], state)


def mean_where(numbers: Float[JaxArray, "*batch"], is_used: Bool[JaxArray, "*batch"]) -> Float[JaxArray, ""]:
    """Compute the mean of some of the numbers; 0 if there are none.

    Args:
        numbers: the numbers.
        is_used: which of them count.
    """
    return jnp.sum(jnp.where(is_used, numbers, 0.0)) / jnp.maximum(jnp.sum(is_used), 1)


def are_equal(x: Any) -> Bool[JaxArray, "games games"]:
    """Return which observations are equal.

    Args:
        x: numbers of states [games], or vectors [games, dims].
    """
    equal = x[:, None] == x[None]
    return equal if x.ndim == 1 else jnp.all(equal, axis=2)
