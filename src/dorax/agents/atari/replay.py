"""Replay of games that run in parallel, on the device, with every frame stored once.

A row holds one step of all games: the frame, the action and its outcome. The games play in groups that take turns,
so a row is filled group by group. A state is the last four frames of its episode, so a transition needs five frames.
The next action, which E-values are learned from, is in the next row.
"""

# JAX and Equinox: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt8, UInt32

from dorax.envs.atari import PIXELS, STACK


class Outcome(NamedTuple):
    """Outcome of the last row's actions, one entry per game.

    Attributes:
        reward: the environment's reward.
        terminated: whether the episode ended in a terminal state.
        is_step: whether there was a step; False for rows that hold only the last frame of an episode.
    """

    reward: Float[Array, ...]
    terminated: Bool[Array, ...]
    is_step: Bool[Array, ...]


class ReplayBuffer(NamedTuple):
    """A ring buffer of rows x games.

    Attributes:
        frames: newest frame of each game.
        is_first: whether it is the first of an episode.
        actions: action taken.
        bonuses: bonus, computed at the visit.
        outcomes: outcomes of the actions; that of a group's newest row is not known yet.
        begun: number of rows that each group has started.
    """

    frames: UInt8[Array, "rows games 7056"]
    is_first: Bool[Array, "rows games"]
    actions: UInt8[Array, "rows games"]
    bonuses: Float[Array, "rows games"]
    outcomes: Outcome
    begun: Int[Array, " groups"]


class Transitions(NamedTuple):
    """A batch of transitions.

    Attributes:
        stacks: last four frames before the action.
        next_stacks: last four frames after it.
        actions: action taken.
        next_actions: action taken next.
        bonuses: bonus, computed at the visit.
        outcome: outcome; its `is_step` is False if a row was drawn that holds no step.
    """

    stacks: UInt8[Array, "batch 4 7056"]
    next_stacks: UInt8[Array, "batch 4 7056"]
    actions: Int[Array, " batch"]
    next_actions: Int[Array, " batch"]
    bonuses: Float[Array, " batch"]
    outcome: Outcome


def empty(rows: int, games: int, groups: int = 1) -> ReplayBuffer:
    """Make an empty buffer.

    Args:
        rows: number of rows.
        games: number of games, all groups together.
        groups: number of groups.

    Returns:
        The buffer.
    """
    shape = rows, games
    return ReplayBuffer(
        frames=jnp.zeros((*shape, PIXELS), jnp.uint8),
        is_first=jnp.zeros(shape, bool),
        actions=jnp.zeros(shape, jnp.uint8),
        bonuses=jnp.zeros(shape),
        outcomes=Outcome(jnp.zeros(shape), jnp.zeros(shape, bool), jnp.zeros(shape, bool)),
        begun=jnp.zeros(groups, jnp.int32),
    )


def with_outcome(rows: ReplayBuffer, group: Int[Array, ""], outcome: Outcome) -> ReplayBuffer:
    """Store the outcome of a group's newest row. Before the first row this writes to a row that is overwritten later.

    Args:
        rows: the buffer.
        group: index of the group.
        outcome: the outcome.

    Returns:
        The new buffer.
    """
    put = _at(group, rows.begun[group] - 1)
    return rows._replace(outcomes=jax.tree.map(put, rows.outcomes, outcome))


def with_row(
    rows: ReplayBuffer,
    group: Int[Array, ""],
    frames: UInt8[Array, "games 7056"],
    is_first: Bool[Array, " games"],
    actions: Int[Array, " games"],
    bonuses: Float[Array, " games"],
) -> ReplayBuffer:
    """Add a row of a group, in place of its oldest if the buffer is full.

    Args:
        rows: the buffer.
        group: index of the group.
        frames: newest frame of each game, in blocks.
        is_first: whether it is the first of an episode.
        actions: action taken.
        bonuses: bonus of the visit.

    Returns:
        The new buffer.
    """
    put = _at(group, rows.begun[group])
    return rows._replace(
        frames=put(rows.frames, frames),
        is_first=put(rows.is_first, is_first),
        actions=put(rows.actions, actions.astype(jnp.uint8)),
        bonuses=put(rows.bonuses, bonuses),
        begun=rows.begun.at[group].add(1),
    )


def _at(group: Int[Array, ""], row: Int[Array, ""]) -> Callable[[Array, Array], Array]:
    """Return a function that writes a group's part of a row."""

    def put(room: Array, new: Array) -> Array:
        start = (row % room.shape[0], group * new.shape[0], *(0 for _ in new.shape[1:]))
        return jax.lax.dynamic_update_slice(room, new[None].astype(room.dtype), start)

    return put


def sample(rows: ReplayBuffer, bits: UInt32[Array, "updates 2 batch"]) -> Transitions:
    """Draw transitions uniformly, with replacement, from those whose frames are all in the buffer.

    Args:
        rows: the buffer; all groups have started at least two rows.
        bits: random bits, two numbers per transition.

    Returns:
        The batches of all updates, concatenated.
    """
    capacity, games = rows.actions.shape
    newest, most = jnp.min(rows.begun) - 1, jnp.max(rows.begun)
    # In a full ring, the frames before the oldest rows have been overwritten.
    oldest = jnp.where(most > capacity, most - capacity + STACK - 1, 0)
    for_row, for_game = jnp.moveaxis(bits, 1, 0).reshape(2, -1)
    row = oldest + (for_row % (newest - oldest).astype(bits.dtype)).astype(jnp.int32)
    game = (for_game % games).astype(jnp.int32)
    seen = row[:, None] + jnp.arange(1 - STACK, 2)
    slots, at = seen % capacity, row % capacity
    frames = rows.frames[slots, game[:, None]]
    # A frame is part of the state unless a new episode started after it.
    begins = rows.is_first[slots[:, 1:STACK], game[:, None]]
    belongs = ~jnp.flip(jnp.cumsum(jnp.flip(begins, 1), axis=1), 1).astype(bool)
    belongs = jnp.concatenate([belongs, jnp.ones((len(row), 2), bool)], axis=1)
    frames = jnp.where(belongs[..., None], frames, 0)
    return Transitions(
        stacks=frames[:, :STACK],
        next_stacks=frames[:, 1:],
        actions=rows.actions[at, game].astype(jnp.int32),
        next_actions=rows.actions[(row + 1) % capacity, game].astype(jnp.int32),
        bonuses=rows.bonuses[at, game],
        outcome=jax.tree.map(lambda room: room[at, game], rows.outcomes),
    )
