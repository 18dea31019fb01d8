"""Replay: a ring of past transitions, on the device, sampled evenly."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


class Transition(NamedTuple):
    """A step, or an array of them, with the action that followed it: E-values are learned by SARSA."""

    observation: Float[Array, "*batch dims"]
    action: Int[Array, "*batch"]
    reward: Float[Array, "*batch"]
    terminated: Bool[Array, "*batch"]
    next_observation: Float[Array, "*batch dims"]
    next_action: Int[Array, "*batch"]


class Replay(NamedTuple):
    """The last `capacity` steps, and how many there ever were."""

    steps: Transition
    added: Int[Array, ""]

    @property
    def capacity(self) -> int:
        return self.steps.action.shape[0]

    @property
    def size(self) -> Int[Array, ""]:
        return jnp.minimum(self.added, self.capacity)


def empty(like: Transition, capacity: int) -> Replay:
    """Room for so many steps of these shapes."""

    def room(leaf: Array) -> Array:
        return jnp.zeros((capacity, *jnp.shape(leaf)), jnp.asarray(leaf).dtype)

    return Replay(jax.tree.map(room, like), jnp.zeros((), jnp.int32))


def added(replay: Replay, step: Transition, is_wanted: Bool[Array, ""]) -> Replay:
    """With one step more, in place of the oldest; unchanged unless it is wanted."""
    at = jnp.where(is_wanted, replay.added % replay.capacity, replay.capacity)

    def stored(room: Array, leaf: Array) -> Array:
        return room.at[at].set(leaf, mode="drop")

    return Replay(jax.tree.map(stored, replay.steps, step), replay.added + is_wanted)


def sample(replay: Replay, key: PRNGKeyArray, batch: int) -> Transition:
    """A batch drawn evenly, with repetition, from what is there."""
    # Remainders of 32 bits are even to a few parts in a thousand up to 10^7 slots; randint draws four times as many.
    bits = jax.random.bits(key, (batch,))
    index = (bits % jnp.maximum(replay.size, 1).astype(bits.dtype)).astype(jnp.int32)

    def drawn(room: Array) -> Array:
        return room[index]

    return jax.tree.map(drawn, replay.steps)
