"""Worlds with random moves or rewards, and runs that are measured by the exact value of the greedy policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr

from dorax import mdps
from dorax.agents.tabular import TabularAgent
from dorax.engine.policy_values import GreedyValue
from dorax.engine.training import train
from dorax.mdps import MDP
from dorax.mdps.solve import start_values
from dorax.study.experiment import Job, Setting
from dorax.study.measures import Measure

RECORDS = 20  # evaluations of the greedy policy in a run, after the first one at the start
LANES, STATES = 128, 256  # tuning and reporting share one compiled program, and so do worlds of the same shape
_SHORTEST = 4  # steps: no agent's episodes are shorter than this on average, so that runs end by steps

FOUR_ROOMS = """
############
#S...#.....#
#....#.....#
#....#.....#
#..........#
#....#.....#
#....#.....#
######.#####
#....#.....#
#..........#
#....#....G#
############
"""  # the maze that comes with dorax


@dataclass(frozen=True, eq=False)
class World:
    """A world with its discount and the number of steps to learn in it.

    Attributes:
        name: name of the world.
        mdp: the MDP.
        discount: the paper's gamma; gamma_E is the same.
        steps: training steps at full size.
    """

    name: str
    mdp: MDP
    discount: float
    steps: int

    @cached_property
    def largest_value(self) -> float:
        """The largest optimal value of a pair that an episode can reach."""
        return float(self.mdp.optimal_q(self.discount)[self.mdp.reachable].max())

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The values of random actions and of the optimal policy, from the start."""
        policies = np.stack([self.mdp.available / self.mdp.available.sum(axis=1, keepdims=True)])
        worst = start_values(self.mdp, policies, self.discount)[0]
        return float(worst), float(self.mdp.start @ self.mdp.optimal_q(self.discount).max(axis=1))


def worlds() -> list[World]:
    """Create the six worlds."""
    import gymnasium

    return [
        World("river swim", mdps.river_swim(6), 0.95, 5_000),
        World("noisy deep sea", mdps.deep_sea(10, is_stochastic=True), 0.99, 20_000),
        World("four rooms", mdps.maze(FOUR_ROOMS, goal=1.0, slip=1 / 3, name="four_rooms"), 0.95, 30_000),
        World("FrozenLake 4×4", mdps.from_gymnasium("FrozenLake-v1"), 0.99, 20_000),
        World("FrozenLake 8×8", mdps.from_gymnasium("FrozenLake8x8-v1"), 0.99, 50_000),
        World("Taxi in the rain", mdps.from_gymnasium(gymnasium.make("Taxi-v4", is_rainy=True)), 0.95, 30_000),
    ]


@dataclass(frozen=True)
class ValueRun:
    """Runs of an agent in a world, measured by the exact value of its greedy policy.

    The dataset has `share` over the dimension record, the value of the greedy policy on a scale where random actions
    have 0 and the optimal policy has 1, and `record_step`.

    Attributes:
        agent: the agent.
        mdp: the MDP.
        ends: the values of random actions and of the optimal policy.
        steps: number of training steps.
    """

    agent: TabularAgent
    mdp: MDP
    ends: tuple[float, float]
    steps: int

    def __call__(self, settings: Sequence[Setting], seeds: Sequence[int], job: Job) -> xr.Dataset:
        probe = GreedyValue.of(self.mdp, float(self.agent.discount), self.steps // RECORDS, self.steps)
        data = train(
            self.agent,
            self.mdp,
            episodes=-(-self.steps // _SHORTEST),
            steps=self.steps,
            settings=settings,
            seeds=seeds,
            probes=[probe],
            lanes=LANES,
            states=STATES,
            learners=[],
            progress=job,
        ).data
        worst, best = self.ends
        share = (data.greedy_value - worst) / (best - worst)
        kept = xr.Dataset({"share": share, "record_step": data.snapshot_step, "total_steps": data.total_steps})
        return kept.drop_vars("snapshot").rename(snapshot="record")


def lost_share(data: xr.Dataset) -> xr.DataArray:
    """Compute the share of the optimal value that the greedy policy loses: 1 for random actions or worse.

    Args:
        data: runs of one condition.

    Returns:
        The share by record.
    """
    return (1 - data.share).clip(0.0, 1.0)


LOST = Measure("the greedy policy has 90 % of the optimal value", lost_share, 0.1, "area")
