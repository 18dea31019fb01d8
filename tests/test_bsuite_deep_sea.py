"""The study of bsuite's deep seas as it is recorded. None of this needs bsuite."""

import math
import sys

import numpy as np
import pytest
import xarray as xr

from dorax.core.checks import InvalidInput
from dorax.experiments import bsuite_deep_sea as study
from dorax.study.experiment import FIRST_TUNING_SEED
from dorax.study.measures import area_under_curve
from dorax.study.results import load
from dorax.study.store import Store


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return load("bsuite_deep_sea", study.EXPERIMENT, Store(tmp_path_factory.mktemp("nothing run here")))


def test_every_agent_is_tuned_as_hard_as_ours():
    sizes = {name: math.prod(len(values) for values in grid.values()) for name, grid in study.GRIDS.items()}
    assert set(sizes.values()) == {20}


def test_agents_are_tuned_on_small_seas_with_other_mappings_of_actions_than_those_of_the_ids():
    tuned = [study.problem_of(FIRST_TUNING_SEED + i) for i in range(study.EXPERIMENT.size.tuning_seeds)]
    assert {(problem.family, problem.size) for problem in tuned} == set(study.TUNED_ON)
    assert all(problem.size <= 20 and problem.mapping_seed != study.MAPPING_SEED for problem in tuned)


@pytest.mark.slow
def test_no_seed_that_is_judged_was_tuned_on(recorded):
    for result in recorded:
        assert all(seed < FIRST_TUNING_SEED for seed in result.data().seed.values)


@pytest.mark.slow
def test_a_run_is_recorded_under_the_seed_of_its_id(recorded):
    for result in recorded:
        data = result.data()
        sizes = [study.problem_of(int(seed)).size for seed in data.seed.values]
        np.testing.assert_array_equal(data["size"], sizes)


@pytest.mark.slow
def test_recorded_scores_are_those_of_the_rule_that_bsuite_documents(recorded):
    for result in recorded:
        data = result.data()
        expected = data.solved_at < 2.0 ** data["size"] + 100  # not if it is NaN
        np.testing.assert_array_equal(data.score, expected)
        for family, (limit, first) in {study.DETERMINISTIC: (0.9, 1), study.STOCHASTIC: (0.8, 100)}.items():
            runs = study.runs_of(recorded, result.name, family)
            is_good = (runs.record_bad_episodes / runs.record_episode < limit) & (runs.record_episode >= first)
            np.testing.assert_array_equal(runs.solved_at, runs.record_episode.where(is_good).min("record"))


def test_settings_are_fitted_by_the_time_in_records_and_if_nothing_is_solved_by_the_share_of_bad_episodes():
    episodes = [[1.0, 2, 3, 4], [1, 2, np.nan, np.nan], [1, 2, 3, 4], [1, 2, 3, np.nan]]
    bad = [[1.0, 2, 2, 2], [1, 1, np.nan, np.nan], [1, 2, 3, 4], [1, 1, 3, np.nan]]
    data = xr.Dataset(
        {
            "record_episode": (("seed", "record"), episodes),
            "record_bad_episodes": (("seed", "record"), bad),
            "solved_at": ("seed", [3.0, 2, np.nan, np.nan]),
        }
    )
    areas = area_under_curve(data, "episode", study.UNSOLVED)
    np.testing.assert_allclose(areas, [2 / 4, 1 / 4, 1, (1 + 0.995 + 1 + 1) / 4])
    np.testing.assert_array_equal(study.times_of(data).time, [3, 2, 4, 3])
    np.testing.assert_array_equal(study.times_of(data).is_reached, [True, True, False, False])


def test_without_bsuite_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "bsuite", None)
    with pytest.raises(InvalidInput, match=r"^bsuite is not installed; install it with pip install 'dorax\[bsuite\]'$"):
        study.check_installed()
