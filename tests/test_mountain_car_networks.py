"""What the comparison of networks on the mountain car measures, on runs made by hand."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

from dorax.experiments import mountain_car_networks as networks
from dorax.study.claims import by_axes
from dorax.study.experiment import Size
from dorax.study.fitting import settings_of
from dorax.study.measures import area_under_curve, times_to_threshold
from dorax.study.results import ConditionResult, Results

EPISODES = 40


def runs(first_successes, tests, lengths):
    """Runs of 40 episodes with four greedy tests; all episodes of a run have the same length."""
    seeds = len(first_successes)
    returns = np.zeros((seeds, EPISODES))
    for row, first in zip(returns, first_successes, strict=True):
        row[first - 1 :: 3] = 1  # later episodes may fail again
    length = np.repeat(np.asarray(lengths, float)[:, None], EPISODES, axis=1)
    dims = ("seed", "episode")
    return xr.Dataset(
        {
            "return": (dims, returns),
            "length": (dims, length),
            "steps": (dims, np.cumsum(length, axis=1)),
            "total_steps": ("seed", length.sum(axis=1)),
            "test_return": (("seed", "test"), np.asarray(tests, float)),
        }
    )


DATA = runs([4, 11], [[0, 1, 1, 0], [1, 1, 0, 0]], [100, 1000])


def test_the_first_success_is_that_of_the_first_training_episode_that_reaches_the_goal():
    assert times_to_threshold(DATA, "episode", networks.FIRST).time.tolist() == [4, 11]
    assert times_to_threshold(DATA, "step", networks.FIRST).time.tolist() == [400, 11_000]
    never = times_to_threshold(runs([41], [[0] * 4], [10]), "step", networks.FIRST)
    assert (never.time.tolist(), never.is_reached.tolist()) == ([400], [False])


def test_a_test_counts_until_the_next_and_before_the_first_there_is_no_success():
    # Tests are after episodes 10, 20, 30 and 40, and count from that episode on.
    np.testing.assert_allclose(networks.greedy_success(DATA, "episode"), [20 / 40, 20 / 40])
    curve = networks.greedy_failures(DATA).values
    assert curve[0].tolist() == [1] * 19 + [0] * 20 + [1]
    assert curve[1].tolist() == [1] * 9 + [0] * 20 + [1] * 11
    np.testing.assert_allclose(area_under_curve(DATA, "episode", networks.GREEDY), [0.5, 0.5])


def test_by_step_success_is_averaged_up_to_the_horizon():
    # In 25 episodes of 100 steps the first run has 6 after its first success; the second has 2500 steps of failure.
    np.testing.assert_allclose(networks.greedy_success(DATA, "step", 2500), [6 / 25, 0])
    np.testing.assert_allclose(networks.greedy_success(DATA, "step"), [20 / 40, 20 / 40])


def test_a_run_that_ended_early_counts_as_long_as_it_lasted():
    ended = DATA.copy(deep=True)
    for name in ("return", "length", "steps"):
        ended[name].values[:, 25:] = np.nan
    ended["test_return"].values[:, 2:] = np.nan
    np.testing.assert_allclose(networks.greedy_success(ended, "episode"), [6 / 25, 16 / 25])
    np.testing.assert_allclose(networks.greedy_success(ended, "step", 2000), [1 / 20, 0])


def test_greedy_tests_are_compared_over_as_many_steps_for_both():
    quick, slow = runs([1] * 3, [[1] * 4] * 3, [100] * 3), runs([1] * 3, [[1] * 4] * 3, [1000] * 3)
    by_axis: Any = {name: {"episode": data, "step": data} for name, data in (("quick", quick), ("slow", slow))}
    results = Results({name: ConditionResult(name, data) for name, data in by_axis.items()}, Size())
    cases = by_axes(lambda axis: networks.learns_better("quick", "slow", axis), "quick is better").cases
    assert cases["by episode"](results).interval.value == pytest.approx(0)
    # In 4000 steps the slow one has played 4 episodes and no test, the quick one 31 of 40 after its first.
    assert cases["by step"](results).interval.value == pytest.approx(31 / 40)


def test_every_agent_has_as_many_settings_and_the_same_ones_of_q():
    grids = [grid for _, grid in networks.agents().values()]
    assert len({len(settings_of(grid)) for grid in grids}) == 1
    assert len({(grid["learning_rate"], grid["target_every"]) for grid in grids}) == 1
