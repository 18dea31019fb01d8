"""Replay of transitions: a ring buffer on the device, sampled uniformly."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


class Transition(NamedTuple):
    """A transition, or an array of them, with the next action, because E-values are learned by SARSA.

    Attributes:
        observation: observation before the action.
        action: action taken.
        reward: reward, including the bonus.
        terminated: whether the episode ended in a terminal state.
        next_observation: observation after the action.
        next_action: action taken there.
    """

    observation: Float[Array, "*batch dims"]
    action: Int[Array, "*batch"]
    reward: Float[Array, "*batch"]
    terminated: Bool[Array, "*batch"]
    next_observation: Float[Array, "*batch dims"]
    next_action: Int[Array, "*batch"]


class Replay(NamedTuple):
    """A ring buffer of transitions.

    Attributes:
        steps: the transitions, with a leading axis of length `capacity`.
        added: number of transitions added so far, including those that were overwritten.
    """

    steps: Transition
    added: Int[Array, ""]

    @property
    def capacity(self) -> int:
        """Maximum number of transitions."""
        return self.steps.action.shape[0]

    @property
    def size(self) -> Int[Array, ""]:
        """Current number of transitions."""
        return jnp.minimum(self.added, self.capacity)


def empty(like: Transition, capacity: int) -> Replay:
    """Make an empty replay.

    Args:
        like: transition with the shapes and dtypes to store.
        capacity: maximum number of transitions.

    Returns:
        The replay.
    """

    def room(leaf: Array) -> Array:
        return jnp.zeros((capacity, *jnp.shape(leaf)), jnp.asarray(leaf).dtype)

    return Replay(jax.tree.map(room, like), jnp.zeros((), jnp.int32))


def added(replay: Replay, step: Transition, is_wanted: Bool[Array, ""]) -> Replay:
    """Add a transition, in place of the oldest if the replay is full.

    Args:
        replay: the replay.
        step: the transition.
        is_wanted: if False, the replay is returned unchanged.

    Returns:
        The new replay.
    """
    at = jnp.where(is_wanted, replay.added % replay.capacity, replay.capacity)

    def stored(room: Array, leaf: Array) -> Array:
        return room.at[at].set(leaf, mode="drop")

    return Replay(jax.tree.map(stored, replay.steps, step), replay.added + is_wanted)


def sample(replay: Replay, key: PRNGKeyArray, batch: int) -> Transition:
    """Draw a batch uniformly, with replacement.

    Args:
        replay: the replay.
        key: random key.
        batch: number of transitions.

    Returns:
        The transitions.
    """
    # The modulo bias of 32 bits is a few parts in a thousand at most, up to 10^7 slots; randint draws 4 times as many.
    bits = jax.random.bits(key, (batch,))
    index = (bits % jnp.maximum(replay.size, 1).astype(bits.dtype)).astype(jnp.int32)

    def drawn(room: Array) -> Array:
        return room[index]

    return jax.tree.map(drawn, replay.steps)
