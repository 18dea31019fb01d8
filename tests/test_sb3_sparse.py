"""The study of Stable-Baselines3 as it is recorded."""

import pytest

from dorax.experiments import sb3_sparse as study
from dorax.study import long_runs
from dorax.study.results import LeftOut
from dorax.study.store import Store


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return long_runs.load("sb3_sparse", study.EXPERIMENT, Store(tmp_path_factory.mktemp("nothing run here")))


@pytest.mark.parametrize(("problem", "kind"), study.SCALES, ids=str)
def test_the_scale_of_a_bonus_is_the_best_on_the_tuning_seeds(problem, kind, recorded):
    try:
        best = study.best_scale(recorded, problem, kind)
    except LeftOut:
        pytest.skip("its tuning is not recorded")
    assert study.SCALES[problem, kind] == best
    assert best in study.GRIDS[problem, kind][1:-1], "at the end of its grid"


def test_no_seed_that_is_judged_was_tuned_on(recorded):
    for cell in recorded:
        is_tuning = "tuning" in cell.name
        assert all((seed in study.TUNING_SEEDS) == is_tuning for seed in cell.data().seed.values)
