"""Probe that records returns of many games by the steps of the run."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from dorax.engine.protocols import Change, Step

_RECORDS = 100
_KINDS = ("greedy", "exploring")


class ReturnsState(NamedTuple):
    """State of `GameReturns`.

    Attributes:
        running: return of each game's episode so far.
        steps: number of steps of the run so far.
        sums: sum of returns and number of episodes, by record and kind of game.
    """

    running: Float[Array, " games"]
    steps: Int[Array, ""]
    sums: Float[Array, "records kinds 2"]


class GameReturns(eqx.Module):
    """Mean return of the episodes that ended since the last record: of games that play greedily, and of the others.

    Attributes:
        greedy_games: number of games that play greedily, the first ones.
        size: number of steps between records.
        records: number of records.
        columns: empty, because the probe adds nothing to the record of an episode.
        marks: None, because the probe takes no snapshots.
    """

    greedy_games: int = eqx.field(static=True)
    size: Int[Array, ""]  # traced, so that runs of any length share a compiled program
    records: int = eqx.field(static=True)
    columns: tuple[str, ...] = eqx.field(default=(), static=True)
    marks: None = eqx.field(default=None, static=True)

    @classmethod
    def of(cls, steps: int, greedy_games: int) -> GameReturns:
        """Make the probe for a run.

        Args:
            steps: number of steps of the run.
            greedy_games: number of games that play greedily, the first ones.

        Returns:
            The probe.
        """
        size = -(-steps // _RECORDS)
        return cls(greedy_games, jnp.asarray(size, jnp.int32), -(-steps // size))

    def init(self, algorithm: Any, memory: Any) -> ReturnsState:
        return ReturnsState(
            jnp.zeros(algorithm.games), jnp.zeros((), jnp.int32), jnp.zeros((self.records, len(_KINDS), 2))
        )

    def watch(self, state: ReturnsState, step: Step, change: Change | None, observation: Any) -> ReturnsState:
        running = state.running + jnp.where(step.learns, step.reward, 0.0)
        is_over = step.learns & (step.terminated | step.truncated)
        steps = state.steps + jnp.sum(step.learns, dtype=jnp.int32)
        record = jnp.clip((steps - 1) // self.size, 0, self.records - 1)
        is_greedy = jnp.arange(len(running)) < self.greedy_games
        ended = jnp.stack([is_over & is_greedy, is_over & ~is_greedy])
        found = jnp.stack([jnp.sum(jnp.where(ended, running, 0.0), axis=1), jnp.sum(ended, axis=1)], axis=1)
        return ReturnsState(jnp.where(is_over, 0.0, running), steps, state.sums.at[record].add(found))

    def record(self, state: ReturnsState) -> tuple[Float[Array, ""], ...]:
        return ()

    def enough(self, state: ReturnsState) -> Bool[Array, ""]:
        return jnp.zeros((), bool)

    def summary(self, state: Any) -> Mapping[str, Any]:
        total, episodes = np.moveaxis(np.asarray(state.sums, np.float64), -1, 0)
        mean = np.where(episodes > 0, total / np.maximum(episodes, 1), np.nan)
        steps = np.broadcast_to(int(self.size) * np.arange(1, self.records + 1.0), mean.shape[:-1])
        return {"record_step": steps, **{f"{kind}_return": mean[..., i] for i, kind in enumerate(_KINDS)}}

    def dims(self, name: str) -> tuple[str, ...]:
        del name
        return ("record",)
