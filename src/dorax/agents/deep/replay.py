"""Replay: a ring of past transitions, on the device, sampled evenly."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp


class Transition(NamedTuple):
    """One step, with the action that followed it: E-values are learned by SARSA."""

    observation: jax.Array
    action: jax.Array
    reward: jax.Array
    terminated: jax.Array
    next_observation: jax.Array
    next_action: jax.Array


class Replay(NamedTuple):
    """The last `capacity` steps, and how many there ever were."""

    steps: Transition
    added: jax.Array

    @property
    def capacity(self) -> int:
        return self.steps.action.shape[0]

    @property
    def size(self) -> jax.Array:
        return jnp.minimum(self.added, self.capacity)


def empty(like: Transition, capacity: int) -> Replay:
    """Room for so many steps of these shapes."""
    room = jax.tree.map(lambda leaf: jnp.zeros((capacity, *jnp.shape(leaf)), jnp.asarray(leaf).dtype), like)
    return Replay(room, jnp.zeros((), jnp.int32))


def added(replay: Replay, step: Transition, is_wanted: jax.Array) -> Replay:
    """With one step more, in place of the oldest; unchanged unless it is wanted."""
    at = jnp.where(is_wanted, replay.added % replay.capacity, replay.capacity)
    steps = jax.tree.map(lambda room, leaf: room.at[at].set(leaf, mode="drop"), replay.steps, step)
    return Replay(steps, replay.added + is_wanted)


def sample(replay: Replay, key: jax.Array, batch: int) -> Transition:
    """A batch drawn evenly, with repetition, from what is there."""
    # Remainders of 32 bits are even to a few parts in a thousand up to 10^7 slots; randint draws four times as many.
    bits = jax.random.bits(key, (batch,))
    index = (bits % jnp.maximum(replay.size, 1).astype(bits.dtype)).astype(jnp.int32)
    return jax.tree.map(lambda room: room[index], replay.steps)
