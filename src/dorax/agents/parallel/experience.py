"""What a `ParallelAgent` learns Q from: the last steps of its games, and earlier ones from a replay."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


class Sequences(NamedTuple):
    """Consecutive steps of several games.

    Attributes:
        x: observations before the actions, and after the last one.
        action: actions taken, and the one that will be taken next.
        reward: rewards.
        bonus: bonuses, computed when the steps were made.
        terminated: whether the step ended an episode in a terminal state.
        is_over: whether it ended an episode in any way.
        learns: whether the step is one to learn from; one that only starts an episode is not.
    """

    x: Any
    action: Int[Array, "steps+1 games"]
    reward: Float[Array, "steps games"]
    bonus: Float[Array, "steps games"]
    terminated: Bool[Array, "steps games"]
    is_over: Bool[Array, "steps games"]
    learns: Bool[Array, "steps games"]


class Replay(NamedTuple):
    """The last rollouts.

    Attributes:
        rollouts: their sequences, with a leading axis over rollouts.
        added: number of rollouts added so far, including those that were overwritten.
    """

    rollouts: Sequences
    added: Int[Array, ""]


def empty(like: Sequences, capacity: int) -> Replay:
    """Make an empty replay.

    Args:
        like: a rollout with the shapes and dtypes to store.
        capacity: maximum number of rollouts.

    Returns:
        The replay.
    """

    def room(leaf: Any) -> Array:
        return jnp.zeros((capacity, *leaf.shape), leaf.dtype)

    return Replay(jax.tree.map(room, like), jnp.zeros((), jnp.int32))


def added(replay: Replay, rollout: Sequences, is_wanted: Bool[Array, ""]) -> Replay:
    """Add a rollout, in place of the oldest if the replay is full.

    Args:
        replay: the replay.
        rollout: the rollout.
        is_wanted: if False, the replay is returned unchanged.

    Returns:
        The new replay.
    """
    capacity = len(replay.rollouts.reward)
    at = jnp.where(is_wanted, replay.added % capacity, capacity)

    def stored(room: Array, leaf: Array) -> Array:
        return room.at[at].set(leaf, mode="drop")

    return Replay(jax.tree.map(stored, replay.rollouts, rollout), replay.added + is_wanted)


def sample(replay: Replay, key: PRNGKeyArray, number: int) -> Sequences:
    """Draw sequences uniformly from all games of all rollouts, with replacement.

    Args:
        replay: the replay.
        key: random key.
        number: number of sequences.

    Returns:
        The sequences, as games of one rollout.
    """
    capacity, _, games = replay.rollouts.reward.shape
    size = games * jnp.clip(replay.added, 1, capacity)
    chosen = jax.random.randint(key, (number,), 0, size)

    def drawn(room: Array) -> Array:
        return jnp.moveaxis(room[chosen // games, :, chosen % games], 0, 1)

    return jax.tree.map(drawn, replay.rollouts)
