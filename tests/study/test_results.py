"""Running conditions that know no agent: any function that returns a dataset will do."""

import functools
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from dorax.study.experiment import FIRST_TUNING_SEED, FULL, Condition, Experiment, Size
from dorax.study.results import NotRun, load, run
from dorax.study.store import Store

SIZE = Size(seeds=6, tuning_seeds=4)
calls = []


def decay(settings, seeds, job, *, speed=1.0, name="condition"):
    """Errors that fall to the threshold the sooner, the closer `rate` is to 2."""
    calls.append((name, len(settings), list(seeds)))
    rates = np.array([1 / (1 + abs(setting.get("rate", 2.0) - 2.0)) for setting in settings]) * speed
    episode = np.arange(1, 41)
    error = np.exp(-rates[:, None, None] * episode) * np.ones((1, len(seeds), 1))
    dims = ("setting", "seed", "episode")
    length = np.ones_like(error)
    return xr.Dataset(
        {
            "q_error": (dims, error),
            "length": (dims, length),
            "steps": (dims, np.cumsum(length, axis=-1)),
            "q_error_at_start": (dims[:2], np.ones(error.shape[:2])),
            "q_error_of_zero": 1.0,
            "total_steps": (dims[:2], length.sum(axis=-1)),
        },
        coords={"setting": [str(setting) for setting in settings], "seed": list(seeds)},
    )


def broken(settings, seeds, job):
    raise KeyboardInterrupt


def experiment(*conditions):
    return Experiment("fig", "title", "paper", lambda size: conditions, [], lambda results, figure: None, order=1)


def condition(name, **fixed):
    return Condition(name, functools.partial(decay, name=name, **fixed), {"rate": (1.0, 2.0, 4.0)})


def ignore(name):
    return lambda share, steps: None


@pytest.fixture
def store(tmp_path):
    calls.clear()
    return Store(tmp_path)


def test_a_setting_is_chosen_on_tuning_seeds_and_reported_on_others(store):
    results = run("x", experiment(condition("a")), SIZE, store, ignore)
    assert calls == [
        ("a", 3, list(range(FIRST_TUNING_SEED, FIRST_TUNING_SEED + 4))),
        ("a", 1, list(range(6))),
    ]
    assert results["a"].choices["episode"].setting == {"rate": 2.0}
    assert results["a"].data("step").seed.values.tolist() == list(range(6))


def test_a_second_run_runs_nothing(store):
    run("x", experiment(condition("a")), SIZE, store, ignore)
    calls.clear()
    again = run("x", experiment(condition("a")), SIZE, store, ignore)
    assert calls == []
    assert again["a"].data().q_error.shape == (6, 40)


def test_a_changed_condition_runs_again_and_the_others_do_not(store):
    run("x", experiment(condition("a"), condition("b")), SIZE, store, ignore)
    calls.clear()
    run("x", experiment(condition("a"), condition("b", speed=2.0)), SIZE, store, ignore)
    assert {name for name, *_ in calls} == {"b"}


def test_an_interrupted_run_goes_on_where_it_stopped(store):
    with pytest.raises(KeyboardInterrupt):
        run("x", experiment(condition("a"), Condition("b", broken)), SIZE, store, ignore)
    calls.clear()
    run("x", experiment(condition("a"), condition("b")), SIZE, store, ignore)
    assert {name for name, *_ in calls} == {"b"}


def test_a_damaged_file_is_named_and_its_condition_alone_runs_again(store):
    run("x", experiment(condition("a"), condition("b")), SIZE, store, ignore)
    calls.clear()
    victim = next(path for path in store.folder.rglob("b-*.nc") if "tuning" not in path.name)
    victim.write_bytes(victim.read_bytes()[:-200])
    run("x", experiment(condition("a"), condition("b")), SIZE, store, ignore)
    assert [name for name, *_ in calls] == ["b"]
    assert store.damaged == [victim]


def test_a_report_shows_the_size_that_was_run_last_and_nothing_that_was_not(store):
    with pytest.raises(NotRun):
        load("x", experiment(condition("a")), store)
    run("x", experiment(condition("a")), replace(SIZE, seeds=3), store, ignore)
    assert load("x", experiment(condition("a")), store).size.seeds == 3
    with pytest.raises(NotRun):
        load("x", experiment(condition("a", speed=3.0)), store)


def test_the_full_size_is_the_paper_s_fifty_runs():
    assert FULL.seeds == 50
