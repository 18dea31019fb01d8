"""The studies of agents with many games: equal effort for every explorer, and runs measured by greedy play."""

import math
from dataclasses import replace
from importlib import import_module
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
import xarray as xr

from dorax import mdps
from dorax.agents.explorers import preset
from dorax.agents.parallel import ParallelAgent
from dorax.agents.tabular import TabularAgent
from dorax.core import LLL, EValues, InvalidInput, Softmax
from dorax.experiments import _parallel as parallel
from dorax.experiments import deep_sea_on_cpu, deep_sea_parts, few_episodes, one_setting
from dorax.experiments._parallel_explorers import LADDER, TABLE, TURNS, VISITS, explorers, half_fraction
from dorax.experiments._parallel_study import condition
from dorax.experiments.deep_seas import agents
from dorax.mdps.solve import greedy_policy, optimal_return, start_values
from dorax.study import figures
from dorax.study.archive import Archive
from dorax.study.claims import judged
from dorax.study.experiment import FULL, Job
from dorax.study.fitting import settings_of
from dorax.study.identity import describe
from dorax.study.results import run
from dorax.study.store import Store

STUDIES = ("deep_seas", "deep_sea_parts", "parallel_worlds", "minatar", "one_setting", "few_episodes", "key_and_door")


def study(name):
    return import_module(f"dorax.experiments.{name}").EXPERIMENT


def test_every_explorer_has_24_settings_and_the_same_learner():
    agents: list[Any] = []
    for found in (explorers(), deep_sea_parts.parts(), few_episodes.agents()):
        assert {len(settings_of(each.grid)) for each in found.values()} == {24}
    agents = [each.agent for each in explorers().values()]
    for name in ("games", "greedy_share", "rollout", "epochs", "minibatches", "width", "depth", "discount", "replay"):
        assert len({getattr(agent, name) for agent in agents}) == 1, name


@pytest.mark.parametrize("name", STUDIES)
def test_settings_are_fitted_on_three_worlds_and_held_out_worlds_have_no_tuning_of_their_own(name):
    fitted_on = ["deep sea of 20", "mountain car", "MinAtar Breakout"]
    if name == "key_and_door":  # which compares learners, not explorers
        fitted_on = ["key and door, 9 rows"]
    for each in study(name).conditions(study(name).size):
        world = each.run.world.name
        assert bool(each.grid) == (not each.fitted)
        if each.grid:
            assert world in fitted_on
        for other in each.fitted:
            assert other.condition.run.world.name in fitted_on


def test_one_setting_for_all_worlds_is_judged_where_nothing_was_tuned():
    assert not {"deep sea of 20", "mountain car", "MinAtar Breakout"} & set(one_setting.WORLDS)
    for each in one_setting.conditions(FULL):
        assert len(each.fitted) == 3


def test_the_study_that_runs_on_any_machine_takes_the_defaults_and_fits_nothing():
    words = {TURNS: "e-values", VISITS: "visits", LADDER: "epsilon-greedy"}
    assert {name: describe(each.agent) for name, each in deep_sea_on_cpu.explorers().items()} == {
        name: describe(ParallelAgent(**preset(word))) for name, word in words.items()
    }
    made = deep_sea_on_cpu.conditions(FULL)
    assert len(made) == 3
    assert not any(each.grid or each.fitted or each.is_recorded for each in made)
    assert not study("deep_sea_on_cpu").is_recorded


def test_names_of_conditions_and_texts_of_claims_are_unique():
    for name in STUDIES:
        experiment = study(name)
        names = [each.name for each in experiment.conditions(experiment.size)]
        assert len(set(names)) == len(names)


def test_a_full_run_needs_a_gpu_unless_it_may_run_anywhere(tmp_path):
    archive = Archive("deep_seas", FULL, Store(tmp_path))
    network, table = (condition(name, agents()[name], parallel.sea(20)) for name in (TURNS, TABLE))
    with pytest.raises(InvalidInput, match=r"^deep_seas needs a GPU, and JAX finds none; allowed: --quick"):
        archive.check_machine(network, anywhere=False)
    archive.check_machine(network, anywhere=True)
    archive.check_machine(table, anywhere=False)


def test_records_without_a_finished_greedy_game_repeat_the_one_before():
    curve = xr.DataArray([[np.nan, 1.0, np.nan, 3.0, np.nan]], dims=("seed", "record"))
    np.testing.assert_array_equal(parallel.latest(curve), [[np.nan, 1, 1, 3, 3]])


def test_a_run_is_solved_if_its_end_is_and_not_if_it_only_was():
    kept, forgotten = np.ones(40), np.ones(40)
    kept[10:] = 0.01
    forgotten[10:30] = 0.01
    data = xr.Dataset({"lost": (("seed", "record"), np.stack([kept, forgotten]))})
    np.testing.assert_array_equal(parallel.is_solved(data), [True, False])


def test_the_best_return_of_the_stochastic_sea_is_that_of_always_moving_right():
    """A move to the right succeeds with probability 1 - 1/N; the treasure takes N successes in a row."""
    size = 20
    success = (1 - 1 / size) ** size
    cost = 0.01 / size
    falls = sum((1 - 1 / size) ** row for row in range(size))
    best = optimal_return(mdps.deep_sea(size, is_stochastic=True))
    assert success - cost * size <= best + 1e-9
    assert best == pytest.approx(success - cost * falls, abs=0.02)


def test_a_run_on_finite_worlds_records_the_exact_return_of_every_seeds_greedy_policy(tmp_path):
    world = replace(parallel.sea(5), steps=4000)
    agent = TabularAgent(LLL(Softmax(0.03)), EValues(0.99, learning_rate=0.5), discount=0.99)
    settings = [{"temperature": 0.03}, {"temperature": 100.0}]
    data = parallel.ParallelRun(agent, world)(settings, [3, 4, 5], Job(lambda *_: None, tmp_path))
    assert data.greedy_return.dims == ("setting", "seed", "record")
    assert data.record_step.values[0, 0, 0] == 0
    np.testing.assert_allclose(data.greedy_return.isel(setting=0, record=-1), 0.99, atol=1e-6)
    for i, seed in enumerate((3, 4, 5)):  # before the first step all actions are equal
        mdp = mdps.deep_sea(5, seed)
        undecided = greedy_policy(np.zeros((mdp.states, mdp.actions)))
        expected = start_values(mdp, undecided[None], 1.0)
        np.testing.assert_allclose(data.greedy_return.values[:, i, 0], expected[0], atol=1e-6)
    assert math.isclose(data.lost.max(), 1.0)


def test_a_condition_is_recorded_whole():
    made = condition(TURNS, explorers()[TURNS], parallel.sea(20))
    assert made.is_recorded
    assert made.records(is_tuning=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_a_quick_run_goes_from_the_agents_to_the_claims_and_the_figure(name, tmp_path):
    experiment = study(name)
    results = run(name, experiment, experiment.quick, Store(tmp_path), lambda name: lambda share, steps: None)
    rows = judged(name, experiment, results)
    assert all(row["verdict"] in ("holds", "fails", "unclear") for row in rows)
    assert experiment.tables is not None
    assert all(table.rows for table in experiment.tables(results))
    figure = figures.drawn(experiment, results)
    assert figure.axes[0].has_data()
    assert any(LADDER in each.name or TURNS in each.name or "games" in each.name for each in results)


def test_the_goal_is_found_with_the_first_record_in_which_exploring_games_are_paid():
    returns = [[np.nan, 0.0, 0.2, 0.0], [0.0, 0.0, np.nan, 0.0]]
    data = xr.Dataset(
        {
            "exploring_return": (("seed", "games_record"), returns),
            "games_step": (("seed", "games_record"), [[10.0, 20.0, 30.0, 40.0]] * 2),
        }
    )
    np.testing.assert_array_equal(parallel.first_found(data), [30.0, np.inf])


def test_half_of_all_combinations_have_every_pair_of_values():
    numbers = {"scale": (1.0, 2.0, 3.0), "share": (0.25, 1.0), "rate": (0.1, 0.2), "trace": (0.5, 0.9)}
    chosen = half_fraction(numbers)
    assert len(chosen) == 12
    for one, other in combinations(numbers, 2):
        pairs = {(setting[one], setting[other]) for setting in chosen}
        assert pairs == set(product(numbers[one], numbers[other]))
