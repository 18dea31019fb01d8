"""The study of Stable-Baselines3 as it is recorded."""

import numpy as np
import pytest
import xarray as xr

from dorax.experiments import _sb3_pairs as pairs
from dorax.experiments import sb3_sparse as study
from dorax.study.claims import judge
from dorax.study.experiment import FIRST_TUNING_SEED, Size
from dorax.study.results import ConditionResult, LeftOut, Results, load
from dorax.study.store import Store

SEA, CAR = "PPO, deep sea of 20", "PPO, sparse mountain car"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return load("sb3_sparse", study.EXPERIMENT, Store(tmp_path_factory.mktemp("nothing run here")))


def test_all_is_recorded(recorded):
    assert not recorded.missing
    assert len(recorded.conditions) == 14


def test_what_is_fitted_is_not_at_the_edge_of_its_grid(recorded):
    fitted = [result.choices for result in recorded if result.choices]
    assert len(fitted) == len(study.GRIDS)
    for choices in fitted:
        assert choices["step"] == choices["episode"], "there are no episodes to count"
        assert choices["step"].is_by_area
        if min(area for *_, area in choices["step"].scores) < 1:  # else no setting got any return, as by visits
            assert choices["step"].at_edge == []


def test_the_fitted_setting_has_the_highest_mean_return(recorded):
    for result in recorded:
        for choice in result.choices.values():
            assert choice.setting == min(choice.scores, key=lambda score: score[-1])[0]


@pytest.mark.parametrize("problem", study.PROBLEMS)
def test_all_kinds_are_fitted_with_the_same_effort(problem):
    grids = [study.GRIDS[problem, kind] for kind in study.kinds_on(problem) if kind != study.NONE]
    assert {tuple(len(values) for values in grid.values()) for grid in grids} in ({(4,)}, {(5,)})


def test_no_seed_that_is_judged_was_tuned_on(recorded):
    for result in recorded:
        assert all(study.FIRST_SEED <= seed < FIRST_TUNING_SEED for seed in result.data().seed.values)


def results_of(solved):
    """Results in which each seed of a problem and kind either solves it, at once, or never."""
    conditions = {}
    for (problem, kind), seeds in solved.items():
        returns = np.outer(list(seeds.values()), np.ones(8))
        data = xr.Dataset(
            {
                "record_return": (("seed", "record"), returns),
                "record_step": (("seed", "record"), np.tile(np.arange(1.0, 9), (len(seeds), 1))),
            },
            {"seed": list(seeds)},
        )
        name = study.agent_name(problem, kind)
        conditions[name] = ConditionResult(name, {"episode": data, "step": data})
    return Results(conditions, Size())


def test_pairs_are_compared_on_the_seeds_and_problems_that_both_have():
    results = results_of(
        {
            (SEA, study.RND): {100: True, 101: True, 102: True},
            (SEA, study.E_VALUES): {101: True, 102: False, 103: True},
            (CAR, study.RND): {100: True},
            (CAR, study.E_VALUES): {100: False},
            ("DQN, deep sea of 20", study.RND): {100: True},
        }
    )
    assert pairs.counts(results, (study.E_VALUES, study.RND), list(study.PROBLEMS)) == [(1, 3), (3, 3)]
    assert pairs.counts(results, (study.RND, study.E_VALUES), [CAR]) == [(1, 1), (0, 1)]
    with pytest.raises(LeftOut):
        pairs.counts(results, (study.E_VALUES, study.VISITS), list(study.PROBLEMS))


@pytest.mark.parametrize(("ours", "theirs", "verdict"), [(12, 0, "holds"), (6, 6, "unclear"), (0, 12, "fails")])
def test_the_question_who_solves_more_has_three_answers(ours, theirs, verdict):
    solved = {(SEA, study.E_VALUES): ours, (SEA, study.RND): theirs}
    results = results_of({each: {seed: seed < number for seed in range(12)} for each, number in solved.items()})
    claim = next(claim for claim in study.EXPERIMENT.claims if claim.text.endswith("E-values than with RND"))
    assert judge("sb3_sparse", "", claim, results)["verdict"] == verdict


def test_tables_have_every_pair_twice_with_opposite_signs():
    kinds = study.kinds_on(SEA)
    results = results_of({(SEA, kind): {seed: seed < 3 * i for seed in range(12)} for i, kind in enumerate(kinds)})
    _, table = study.tables(results)
    assert table.caption.startswith(SEA)
    assert table.header == ("", *kinds)
    differences = [[cell.split(" ")[0] for cell in row[1:]] for row in table.rows]
    assert differences == [
        ["", "−25", "−50", "−75"],
        ["+25", "", "−25", "−50"],
        ["+50", "+25", "", "−25"],
        ["+75", "+50", "+25", ""],
    ]
