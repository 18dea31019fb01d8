"""Replay of games played side by side: every frame once, on the device.

A row holds one step of all games: the frame that was seen, what was done, and what came
of it. The games play in groups that take turns, so a row is begun group by group. A state
is the last four frames of its episode, so a step with its successor is five frames; the
successor's action, which E-values are learned by, stands in the next row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from dorax.agents.atari.network import PIXELS, STACK


class Outcome(NamedTuple):
    """What came of the last row's actions, one entry a game."""

    reward: Any
    is_terminal: Any
    is_step: Any  # not so for rows that only show how an episode ended


class ReplayBuffer(NamedTuple):
    """A ring of rows x games. Each group has `begun` so many; of its newest, the outcome is not known yet."""

    frames: jax.Array
    is_first: jax.Array
    actions: jax.Array
    bonuses: jax.Array
    outcomes: Outcome
    begun: jax.Array


class Steps(NamedTuple):
    """A batch to learn from; `is_step` is false where the draw met no step."""

    stacks: jax.Array
    next_stacks: jax.Array
    actions: jax.Array
    next_actions: jax.Array
    bonuses: jax.Array
    outcome: Outcome


def empty(rows: int, games: int, groups: int = 1) -> ReplayBuffer:
    shape = rows, games
    return ReplayBuffer(
        frames=jnp.zeros((*shape, PIXELS), jnp.uint8),
        is_first=jnp.zeros(shape, bool),
        actions=jnp.zeros(shape, jnp.uint8),
        bonuses=jnp.zeros(shape),
        outcomes=Outcome(jnp.zeros(shape), jnp.zeros(shape, bool), jnp.zeros(shape, bool)),
        begun=jnp.zeros(groups, jnp.int32),
    )


def with_outcome(rows: ReplayBuffer, group: jax.Array, outcome: Outcome) -> ReplayBuffer:
    """What came of a group's newest row. Before it began any, this goes where the first will overwrite it."""
    put = _at(rows, group, rows.begun[group] - 1)
    return rows._replace(outcomes=jax.tree.map(put, rows.outcomes, outcome))


def with_row(
    rows: ReplayBuffer, group: jax.Array, frames: jax.Array, is_first: jax.Array, actions: jax.Array, bonuses: jax.Array
) -> ReplayBuffer:
    """With a row more of a group, in place of its oldest."""
    put = _at(rows, group, rows.begun[group])
    return rows._replace(
        frames=put(rows.frames, frames),
        is_first=put(rows.is_first, is_first),
        actions=put(rows.actions, actions.astype(jnp.uint8)),
        bonuses=put(rows.bonuses, bonuses),
        begun=rows.begun.at[group].add(1),
    )


def _at(rows: ReplayBuffer, group: jax.Array, row: jax.Array) -> Callable[[jax.Array, jax.Array], jax.Array]:
    """How to put something where a group's row is."""

    def put(room: jax.Array, new: jax.Array) -> jax.Array:
        start = (row % room.shape[0], group * new.shape[0], *(0 for _ in new.shape[1:]))
        return jax.lax.dynamic_update_slice(room, new[None].astype(room.dtype), start)

    return put


def sample(rows: ReplayBuffer, key: jax.Array, batch: int) -> Steps:
    """Steps drawn evenly, with repetition, from those whose frames are all there; all groups have begun two rows."""
    capacity, games = rows.actions.shape
    newest, most = jnp.min(rows.begun) - 1, jnp.max(rows.begun)
    # Of a full ring the first rows lack frames before them.
    oldest = jnp.where(most > capacity, most - capacity + STACK - 1, 0)
    bits = jax.random.bits(key, (2, batch))
    row = oldest + (bits[0] % (newest - oldest).astype(bits.dtype)).astype(jnp.int32)
    game = (bits[1] % games).astype(jnp.int32)
    seen = row[:, None] + jnp.arange(1 - STACK, 2)
    slots, at = seen % capacity, row % capacity
    frames = rows.frames[slots, game[:, None]]
    # A frame belongs to the state unless an episode began after it.
    begins = rows.is_first[slots[:, 1:STACK], game[:, None]]
    belongs = ~jnp.flip(jnp.cumsum(jnp.flip(begins, 1), axis=1), 1).astype(bool)
    belongs = jnp.concatenate([belongs, jnp.ones((batch, 2), bool)], axis=1)
    frames = jnp.where(belongs[..., None], frames, 0)
    return Steps(
        stacks=frames[:, :STACK],
        next_stacks=frames[:, 1:],
        actions=rows.actions[at, game].astype(jnp.int32),
        next_actions=rows.actions[(row + 1) % capacity, game].astype(jnp.int32),
        bonuses=rows.bonuses[at, game],
        outcome=jax.tree.map(lambda room: room[at, game], rows.outcomes),
    )
