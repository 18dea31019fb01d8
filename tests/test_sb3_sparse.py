"""The study of Stable-Baselines3 as it is recorded."""

import pytest

from dorax.experiments import sb3_sparse as study
from dorax.study.experiment import FIRST_TUNING_SEED
from dorax.study.results import load
from dorax.study.store import Store


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return load("sb3_sparse", study.EXPERIMENT, Store(tmp_path_factory.mktemp("nothing run here")))


def test_all_of_it_is_recorded(recorded):
    assert recorded.missing == []
    assert len(recorded.conditions) == 12


@pytest.mark.parametrize(("problem", "kind"), study.GRIDS, ids=str)
def test_the_scale_of_a_bonus_is_fitted_and_not_at_the_edge_of_its_grid(problem, kind, recorded):
    choices = recorded[study.agent_name(problem, kind)].choices
    assert choices["step"] == choices["episode"], "there are no episodes to count"
    assert choices["step"].is_by_area
    assert choices["step"].at_edge == []


def test_the_fitted_scale_has_the_highest_mean_return(recorded):
    scores = recorded[study.agent_name("PPO, deep sea of 20", study.E_VALUES)].choices["step"].scores
    best = min(scores, key=lambda score: score[-1])
    assert best[0] == {"scale": 0.03}


def test_no_seed_that_is_judged_was_tuned_on(recorded):
    for result in recorded:
        assert all(study.FIRST_SEED <= seed < FIRST_TUNING_SEED for seed in result.data().seed.values)
