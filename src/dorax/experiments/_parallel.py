"""Worlds for agents that play many games, and runs that are measured by greedy play."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from dorax import mdps
from dorax.agents.parallel import ParallelAgent
from dorax.agents.tabular import TabularAgent
from dorax.engine.policy_values import GreedyValue
from dorax.engine.resuming import SharedFolder
from dorax.engine.training import train
from dorax.envs import DenseView, SparseAcrobot, SparseMountainCar, from_gymnax, with_params
from dorax.mdps import MDP
from dorax.mdps.solve import optimal_return
from dorax.study.experiment import Job, Setting
from dorax.study.measures import Measure

RECORDS = 50  # of the exact value of the greedy policy in a run, after the first one at the start
LAST = 0.05  # share of a run that counts as its end
SEA_STEPS = {20: 600_000, 30: 1_500_000, 40: 2_400_000, 50: 4_000_000}
CAR_LIMIT = 500  # steps of an episode
STRENGTHS = {"weak": 1.0, "strong": 2.0}  # of noise inputs: a quarter of the signal, and as much


@dataclass(frozen=True)
class World:
    """A world and the number of steps to learn in it.

    Attributes:
        name: name of the world.
        make: makes the environment for a seed.
        steps: number of steps of all games together.
        best: best return, or a high one where the best is not known; None for that of the first seed's MDP.
        worst: return that counts as nothing.
        has_own: whether every seed has its own environment.
        is_exact: whether returns of the greedy policy are computed exactly; else those of greedy games are averaged.
    """

    name: str
    make: Callable[[int], Any]
    steps: int
    best: float | None = 1.0
    worst: float = 0.0
    has_own: bool = True
    is_exact: bool = False

    def envs(self, seeds: Sequence[int]) -> Any:
        """Make the environments of some seeds.

        Args:
            seeds: the seeds.

        Returns:
            One for all seeds, or a list.
        """
        return [self.make(seed) for seed in seeds] if self.has_own else self.make(0)


def sea(size: int) -> World:
    """Create the deep sea, with actions that are mapped anew for every seed.

    Args:
        size: number of rows.
    """
    steps = SEA_STEPS.get(size, 1000 * size**2)
    return World(f"deep sea of {size}", partial(_sea, size), steps, is_exact=True)


def _sea(size: int, seed: int) -> MDP:
    return mdps.deep_sea(size, seed)


def stochastic_sea(size: int) -> World:
    """Create the deep sea with random moves and noisy rewards.

    Args:
        size: number of rows.
    """
    return World(f"stochastic sea of {size}", partial(_stochastic_sea, size), 1_000_000, best=None, is_exact=True)


def _stochastic_sea(size: int, seed: int) -> MDP:
    return mdps.deep_sea(size, seed, is_stochastic=True)


def dense_sea(size: int, strength: str) -> World:
    """Create the deep sea seen through a random map, beside inputs of noise.

    Args:
        size: number of rows.
        strength: of the noise, one of `STRENGTHS`.
    """
    return World(f"dense sea of {size}, {strength} noise", partial(_dense_sea, size, STRENGTHS[strength]), 1_000_000)


def _dense_sea(size: int, noise: float, seed: int) -> DenseView:
    return DenseView(mdps.deep_sea(size, seed), seed, noise=noise)


def chain() -> World:
    """Create the randomised chain of OPIQ, in which the best return is 11."""
    return World("chain of 100", partial(_chain, 100), 1_000_000, best=11.0, is_exact=True)


def _chain(length: int, seed: int) -> MDP:
    return mdps.chain(length, seed)


def car() -> World:
    """Create the sparse mountain car with short episodes."""
    return World("mountain car", _car, 800_000, has_own=False)


def _car(seed: int) -> Any:
    del seed
    return with_params(SparseMountainCar(), max_steps_in_episode=CAR_LIMIT)


def acrobot() -> World:
    """Create the sparse Acrobot."""
    return World("Acrobot", _acrobot, 800_000, has_own=False)


def _acrobot(seed: int) -> Any:
    del seed
    return SparseAcrobot()


def minatar(game: str, high: float) -> World:
    """Create a game of MinAtar.

    Args:
        game: its name.
        high: a high return, which curves are relative to.
    """
    return World(f"MinAtar {game}", partial(_minatar, game), 3_000_000, high, has_own=False)


def _minatar(game: str, seed: int) -> Any:
    del seed
    return from_gymnax(f"{game}-MinAtar")


@dataclass(frozen=True)
class ParallelRun:
    """Runs of an agent in a world.

    The dataset has `lost` over the dimension record, the share of the best return that greedy play does not get, with
    `record_step`; and the returns themselves, `greedy_return` and `exploring_return`. Where `greedy_return` is exact,
    the returns of games have records of their own, `games_step`.

    Attributes:
        agent: the agent.
        world: the world.
    """

    agent: ParallelAgent | TabularAgent
    world: World

    def __call__(self, settings: Sequence[Setting], seeds: Sequence[int], job: Job) -> xr.Dataset:
        world = self.world
        envs, probes = world.envs(seeds), []
        if world.is_exact:
            every = max(1, world.steps // RECORDS)
            probes = [GreedyValue.of(envs, 1.0, every, world.steps, settings=len(settings))]
        data = train(
            self.agent, envs, steps=world.steps, settings=settings, seeds=seeds, probes=probes, learners=[],
            progress=job, folder=SharedFolder(job.scratch),
        ).data  # fmt: skip
        if world.is_exact:
            exact = data[["snapshot_step", "greedy_value"]].drop_vars("snapshot").rename(snapshot="record")
            kept = exact.rename(snapshot_step="record_step", greedy_value="greedy_return")
            if "exploring_return" in data:
                games = data[["record_step", "exploring_return"]].drop_vars("record", errors="ignore")
                kept = kept.merge(games.rename(record="games_record", record_step="games_step"))
        else:
            kept = data[["record_step", "greedy_return", "exploring_return"]]
        best = optimal_return(envs[0]) if world.best is None else world.best
        reached = (latest(kept.greedy_return.transpose(..., "record")) - world.worst) / (best - world.worst)
        return kept.assign(lost=(1 - reached).fillna(1.0).clip(0.0, 1.0), total_steps=data.total_steps)


def latest(curve: xr.DataArray) -> xr.DataArray:
    """Fill records in which no greedy game ended with the latest one before.

    Args:
        curve: returns, with the records along the last dimension.

    Returns:
        The returns; NaN before the first.
    """
    values = curve.values
    at = np.maximum.accumulate(np.where(np.isfinite(values), np.arange(values.shape[-1]), 0), axis=-1)
    return curve.copy(data=np.take_along_axis(values, at, axis=-1))


def lost(data: xr.Dataset) -> xr.DataArray:
    """Return the share of the best return that greedy play does not get, by record.

    Args:
        data: runs of one condition.
    """
    return data.lost.transpose(..., "record")


def first_found(data: xr.Dataset) -> np.ndarray:
    """Return the number of steps after which a game that explores had a return above 0 for the first time.

    Args:
        data: runs of one condition in a world where nothing but the goal pays.

    Returns:
        One number for each seed; infinite if there was none.
    """
    returns = np.nan_to_num(data.exploring_return.transpose("seed", "games_record").values)
    steps = data.games_step.transpose("seed", "games_record").values
    return np.where(returns > 0, steps, np.inf).min(axis=-1)


LOST = Measure("greedy play gets 95 % of the best return", lost, 0.05, fitted_by="area")


def is_solved(data: xr.Dataset) -> np.ndarray:
    """Return which runs end with greedy play that gets 95 % of the best return.

    Args:
        data: runs of one condition.
    """
    curve = lost(data).values
    last = max(1, round(LAST * curve.shape[-1]))
    return curve[..., -last:].mean(axis=-1) <= LOST.threshold
