"""The measures of the Freeway experiment, on curves made by hand."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import xarray as xr

from dorax.experiments import freeway
from dorax.study import fingerprints, repository
from dorax.study.experiment import Condition, Size
from dorax.study.results import ConditionResult, Results, run
from dorax.study.store import Store


def runs(rewards, tests=(0.0,), seconds=None):
    """Seeds whose records, one every 10 000 steps, paid so much a step; games last 2000 steps."""
    rewards = np.asarray(rewards, float)
    seeds, records = rewards.shape
    step = np.where(np.isnan(rewards), np.nan, 10_000.0 * np.arange(1, records + 1))
    clock = step / 10_000 if seconds is None else np.asarray(seconds, float)
    return xr.Dataset(
        {
            "length": (("seed", "episode"), np.full((seeds, 3), 2000.0)),
            "record_step": (("seed", "record"), step),
            "record_updates": (("seed", "record"), np.maximum(step - 20_000, 0) / 4),
            "record_seconds": (("seed", "record"), clock),
            "record_reward": (("seed", "record"), rewards),
            "test_return": (
                ("seed", "test", "game"),
                np.broadcast_to(np.asarray(tests)[:, None], (seeds, len(tests), 2)),
            ),
        },
        coords={"seed": range(seeds)},
    )


def results_of(found: dict[str, xr.Dataset]) -> Results:
    conditions = {name: ConditionResult(name, {"episode": data, "step": data}) for name, data in found.items()}
    return Results(conditions, Size(seeds=5))


def test_a_training_return_is_the_reward_of_a_step_times_the_steps_of_a_game():
    assert freeway.training_return(runs([[0.01] * 30]))[0, -1] == pytest.approx(20)


def test_a_threshold_is_reached_when_the_mean_of_a_hundred_thousand_steps_is_there():
    never, late = [0.0] * 30, [0.0] * 10 + [0.01] * 20
    times = freeway.times_to(runs([never, late]), threshold=10.0)
    np.testing.assert_array_equal(times.is_reached, [False, True])
    np.testing.assert_array_equal(times.time, [300_000, 150_000])  # five of ten records pay 20


def test_a_shorter_run_is_watched_as_long_as_it_lasted():
    times = freeway.times_to(runs([[0.0] * 30, [0.0] * 12 + [np.nan] * 18]), threshold=1.0)
    np.testing.assert_array_equal(times.time, [300_000, 120_000])


def test_the_cost_of_a_step_leaves_out_what_was_not_learned_from():
    """Compiling takes long before the first updates, and again after an interruption in the middle."""
    clock = np.cumsum([50.0, 2.0, 3.0, 1.0, 1.0, 1.0, 1.0, 40.0, 1.0, 1.0])
    assert freeway.seconds_a_step(runs([[0.0] * 10], seconds=[clock])) == pytest.approx(1e-4)


def test_the_end_of_a_run_is_its_last_five_tests():
    assert freeway.final_tests(runs([[0.0]], tests=[9.0, 1, 2, 3, 4, 5])) == pytest.approx(3)


def test_few_seeds_show_a_value_and_decide_nothing():
    found = {
        freeway.E_VALUES: runs([[0.02] * 30] * 5, tests=[30.0] * 5),
        freeway.DQN: runs([[0.0] * 30] * 5),
        freeway.DENSITY: runs([[0.0] * 30] * 2),
    }
    results = results_of(found)
    for worse, seeds, verdict in ((freeway.DENSITY, 2, "unclear"), (freeway.DQN, 5, "holds")):
        claim = freeway.ends_better(freeway.E_VALUES, worse)
        estimate = claim.cases[""](results)
        assert claim.verdict(estimate.interval) == verdict
        assert estimate.interval.value == 30
        assert estimate.seeds == seeds
    leaves = freeway.leaves_more_often(freeway.E_VALUES, freeway.DQN)
    assert leaves.verdict(leaves.cases[""](results).interval) == "holds"


def test_learning_that_sets_in_after_the_shortest_runs_have_ended_is_censored_there():
    late, soon = [0.0] * 160 + [0.01] * 40, [0.0] * 20 + [0.01] * 180
    times = freeway.onset(runs([late, soon]))
    np.testing.assert_array_equal(times.is_reached, [False, True])
    np.testing.assert_array_equal(times.time, [freeway.ONSET_STEPS, 210_000])


def test_the_end_is_judged_by_seeds_that_run_for_all_steps():
    found = {freeway.E_VALUES: runs([[0.02] * 30] * 8, tests=[30.0] * 5), freeway.DQN: runs([[0.0] * 30] * 6)}
    assert freeway.ends_better(freeway.E_VALUES, freeway.DQN).cases[""](results_of(found)).seeds == freeway.LONG_SEEDS


@pytest.mark.parametrize(("spread", "verdict"), [(0.001, "fails"), (0.5, "holds")])
def test_a_bonus_that_is_nearly_the_same_everywhere_directs_nothing(spread, verdict):
    data = runs([[0.0] * 30] * 4)
    paid = xr.full_like(data.record_reward, 0.04)
    data = data.assign(record_bonus=paid, record_bonus_spread=spread * paid)
    claim = freeway.directs(freeway.E_VALUES)
    estimate = claim.cases[""](results_of({freeway.E_VALUES: data}))
    assert estimate.interval.value == pytest.approx(spread)
    assert claim.verdict(estimate.interval) == verdict


def test_the_constant_bonus_follows_what_e_values_paid_in_the_recorded_runs():
    paid = []
    for seed in range(freeway.LONG_SEEDS):
        with xr.open_dataset(repository.results() / "freeway" / f"e-values-{seed}.nc") as data:
            paid.append(np.interp(freeway.SCHEDULE.steps, data.record_step.values, data.record_bonus.values))
    np.testing.assert_allclose(freeway.SCHEDULE.values, np.mean(paid, axis=0), rtol=2e-3)


def test_the_table_has_the_cost_of_a_step_relative_to_dqn():
    slow, fast = ([factor * np.arange(1.0, 31)] for factor in (3.0, 2.0))
    found = {freeway.DENSITY: runs([[0.0] * 30], seconds=slow), freeway.DQN: runs([[0.0] * 30], seconds=fast)}
    (table,) = freeway.tables(results_of(found))
    assert [row[-1] for row in table.rows] == ["1.50", "1.00"]
    (alone,) = freeway.tables(results_of({freeway.DENSITY: found[freeway.DENSITY]}))
    assert alone.rows[0][-1] == ""


def test_a_cost_is_judged_by_two_seeds():
    claim = freeway.cost(freeway.DENSITY, "a density model is slow", above=10.0)
    for seeds, verdict in ((1, "unclear"), (2, "fails")):
        slow, fast = ([factor * np.arange(1.0, 31)] * seeds for factor in (3.0, 2.0))
        idle = [[0.0] * 30] * seeds
        results = results_of({freeway.DENSITY: runs(idle, seconds=slow), freeway.DQN: runs(idle, seconds=fast)})
        estimate = claim.cases[""](results)
        assert estimate.interval.value == pytest.approx(1.5)
        assert claim.verdict(estimate.interval) == verdict


def test_the_most_important_runs_come_first_and_their_seeds_take_turns(tmp_path, monkeypatch):
    monkeypatch.setattr(repository, "ROOT", tmp_path / "nothing recorded")
    order = []

    def noted(name, settings, seeds, job):
        order.append((name, *seeds))
        return xr.Dataset().expand_dims(setting=[""], seed=list(seeds))

    def anywhere(condition: Condition) -> Condition:
        assert condition.recorded is not None
        recorded = replace(condition.recorded, needs_gpu=False)
        return replace(condition, run=partial(noted, condition.name), recorded=recorded)

    def conditions(size: Size) -> list[Condition]:
        return [anywhere(condition) for condition in freeway.conditions(size)]

    experiment = replace(freeway.EXPERIMENT, conditions=conditions)
    run("freeway", experiment, Size(5), Store(tmp_path), watch=lambda label: lambda share, steps: None)
    assert order[:4] == [(freeway.E_VALUES, 0), (freeway.DQN, 0), (freeway.E_VALUES, 1), (freeway.DQN, 1)]
    assert order[10:20] == [(name, seed) for name in (freeway.CONSTANT, freeway.E_VALUES_0) for seed in range(5)]
    assert order[20:] == [
        *((name, seed) for name in (freeway.DENSITY, freeway.COUNTS, freeway.E_VALUES_THEIRS) for seed in (0, 1)),
        *((freeway.DQN_THEIRS, 0), (freeway.LONGER, 0)),
    ]


def test_every_condition_has_a_recorded_fingerprint():
    recorded = json.loads((repository.results() / "freeway" / "fingerprints.json").read_text())
    assert recorded.keys() == freeway.AGENTS.keys()


@pytest.mark.slow
def test_todays_code_plays_as_recorded():
    recorded = json.loads((repository.results() / "freeway" / "fingerprints.json").read_text())
    assert fingerprints.same(freeway.fingerprint(freeway.DQN, {}), recorded[freeway.DQN])
