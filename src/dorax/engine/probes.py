"""Probes of the engine: the error of Q in a finite MDP, and maps of visits and counts over an observation space."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from dorax.core.checks import InvalidInput, check_whole
from dorax.engine.protocols import Change, Step, View
from dorax.envs.simulation import EnvSpec
from dorax.mdps import MDP


class QErrorState(NamedTuple):
    """State of `QError`: a compensated sum.

    Attributes:
        total: the sum.
        lost: correction for rounding errors, to be added to the sum.
        at_start: the sum at the start of the run.
    """

    total: Float[Array, ""]
    lost: Float[Array, ""]
    at_start: Float[Array, ""]

    @property
    def now(self) -> Float[Array, ""]:
        """The current error."""
        return jnp.maximum(self.total + self.lost, 0.0)


class QError(eqx.Module):
    """Squared error of Q, weighted by the optimal policy's visits; updated incrementally, one entry per step.

    Attributes:
        answer: Q* and the weight of every pair.
        moments: weighted mean and variance of Q*.
        until: end a run after an episode with an error of at most this fraction of the initial one, and of that of
            Q = 0; -1 for never.
        columns: `q_error`.
        marks: None, because the probe takes no snapshots.
    """

    answer: Float[Array, "states actions 2"]
    moments: Float[Array, 2]
    until: Float[Array, ""]
    columns: tuple[str, ...] = eqx.field(default=("q_error",), static=True)
    marks: None = eqx.field(default=None, static=True)

    @classmethod
    def of(cls, mdp: MDP, discount: float, states: int, until: float | None = None) -> QError:
        """Make the probe of an MDP.

        Args:
            mdp: the MDP.
            discount: the agent's discount.
            states: number of states of its simulation, padding included.
            until: see `QError`; None for never.

        Returns:
            The probe.
        """
        optimal_q = np.where(mdp.available, mdp.optimal_q(discount), 0.0)
        occupancy = mdp.optimal_occupancy(discount)
        mean = np.sum(occupancy * optimal_q)
        variance = np.sum(occupancy * (optimal_q - mean) ** 2)
        answer = np.pad(np.stack([optimal_q, occupancy], axis=-1), [(0, states - mdp.states), (0, 0), (0, 0)])
        return cls(
            jnp.asarray(answer, float),
            jnp.asarray([mean, variance], float),
            jnp.asarray(-1.0 if until is None else until, float),
        )

    def init(self, algorithm: Any, memory: Any) -> QErrorState:
        mean, variance = self.moments
        initial = algorithm.agent.initial_entry()["q"]
        error = jnp.asarray(_bounded(initial - mean) ** 2 + variance, float)
        return QErrorState(error, jnp.zeros(()), error)

    def watch(self, state: QErrorState, step: Step, change: Change | None, observation: Any) -> QErrorState:
        assert change is not None
        optimum, weight = self.answer[step.features[0], step.action[0]]
        gain, loss = (
            jnp.where(step.learns[0], weight * _bounded(value[0] - optimum) ** 2, 0.0)
            for value in (change.new, change.old)
        )
        total, lost = _compensated_sum(state.total, state.lost, gain)
        total, lost = _compensated_sum(total, lost, -loss)
        return QErrorState(total, lost, state.at_start)

    def record(self, state: QErrorState) -> tuple[Float[Array, ""], ...]:
        return (state.now,)

    def enough(self, state: QErrorState) -> Bool[Array, ""]:
        mean, variance = self.moments
        return (self.until >= 0) & (state.now <= self.until * jnp.minimum(state.at_start, mean**2 + variance))

    def summary(self, state: Any) -> Mapping[str, Any]:
        mean, variance = np.asarray(self.moments, np.float64)
        return {"q_error_at_start": state.at_start, "q_error_of_zero": mean**2 + variance}


class Maps(eqx.Module):
    """Record visits and counts over the observation space, at regular intervals.

    Visits are those of all states, from the start of an episode to its end; see `MapProbe`.

    Args:
        bins: number of equal bins along each dimension.
        every: episodes between snapshots.
    """

    bins: tuple[int, ...] = eqx.field(static=True)
    every: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        check_whole("maps.every", self.every)
        for bins in self.bins:
            check_whole("a number of maps.bins", bins)


class MapProbe(eqx.Module):
    """Probe that records `Maps` in one environment.

    Visits are those of all states of an episode: its start, and every state that a step led to, the last one included.
    An episode of n steps thus makes n + 1 visits. Counts are of actions, so nothing is counted in the last state, and
    what a map of counts shows there is what the agent generalizes from other states.

    Attributes:
        maps: what to record.
        low: lowest observation.
        high: highest observation.
        marks: episodes after which a snapshot is taken.
        columns: empty, because the probe adds nothing to the record of an episode.
    """

    maps: Maps = eqx.field(static=True)
    low: tuple[float, ...] = eqx.field(static=True)
    high: tuple[float, ...] = eqx.field(static=True)
    marks: Sequence[int] = eqx.field(static=True)
    columns: tuple[str, ...] = eqx.field(default=(), static=True)

    @classmethod
    def of(cls, maps: Maps, env: EnvSpec, episodes: int) -> MapProbe:
        """Make the probe for a run.

        Args:
            maps: what to record.
            env: description of the environment.
            episodes: number of episodes of the run.

        Returns:
            The probe.
        """
        if env.low is None or env.high is None:
            raise InvalidInput("maps is given with a finite MDP; maps supports environments with vector observations")
        if len(maps.bins) != len(env.low):
            raise InvalidInput(f"maps.bins is {maps.bins}; allowed: one number for each of {len(env.low)} dimensions")
        if not np.all(np.isfinite(env.low) & np.isfinite(env.high)):
            raise InvalidInput(f"maps of observations from {env.low} to {env.high}; allowed: finite bounds")
        marks = (*range(maps.every, episodes, maps.every), episodes)
        return cls(maps, env.low, env.high, marks)

    def init(self, algorithm: Any, memory: Any) -> Int[Array, ...]:
        return jnp.zeros(self.maps.bins, jnp.int32)

    def watch(self, state: Int[Array, ...], step: Step, change: Change | None, observation: Any) -> Int[Array, ...]:
        """Count the state that the step led to, or that an episode starts in."""
        low, high, bins = (np.asarray(x) for x in (self.low, self.high, self.maps.bins))
        index = jnp.floor((observation[0] - low) / (high - low) * bins).astype(jnp.int32)
        at = tuple(jnp.clip(index, 0, bins - 1))
        return state.at[at].add((step.learns[0] | step.is_start[0]).astype(jnp.int32))

    def record(self, state: Int[Array, ...]) -> tuple[Float[Array, ""], ...]:
        return ()

    def enough(self, state: Int[Array, ...]) -> Bool[Array, ""]:
        return jnp.zeros((), bool)

    def summary(self, state: Any) -> Mapping[str, Any]:
        return {}

    def dims(self, name: str) -> tuple[str, ...]:
        del name
        return tuple(f"bin_{i}" for i in range(len(self.low)))

    def snapshot(self, state: Any, views: Callable[[Any], View]) -> Mapping[str, np.ndarray]:
        """Return the visits so far, and the counts at the centre of every bin, summed over actions."""
        edges = [
            low + (high - low) * (np.arange(n) + 0.5) / n
            for low, high, n in zip(self.low, self.high, self.maps.bins, strict=True)
        ]
        centres = np.stack(np.meshgrid(*edges, indexing="ij"), axis=-1).reshape(-1, len(edges))
        counts = np.asarray(views(jnp.asarray(centres, float)).counts).sum(axis=-1)
        return {"visits": np.asarray(state), "count": counts.reshape(-1, *self.maps.bins)}


def _compensated_sum(total: Array, lost: Array, term: Array) -> tuple[Array, Array]:
    """Add a term by Neumaier's summation, which keeps the rounding error beside the total."""
    updated = total + term
    is_total_larger = jnp.abs(total) >= jnp.abs(term)
    larger, smaller = jnp.where(is_total_larger, total, term), jnp.where(is_total_larger, term, total)
    return updated, lost + ((larger - updated) + smaller)


def _bounded(difference: Array) -> Array:
    """Bound a difference so far that its square is finite."""
    return jnp.clip(difference, -1e18, 1e18)
