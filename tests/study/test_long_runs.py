"""Experiments of long runs: found here, or as they were recorded elsewhere."""

import contextlib
import fcntl
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from dorax import InvalidInput
from dorax.files import claiming
from dorax.study import long_runs
from dorax.study.claims import Claim, Estimate, judged
from dorax.study.experiment import Experiment, LongRun, Size
from dorax.study.long_runs import Manner
from dorax.study.report import write_report
from dorax.study.results import NotRun
from dorax.study.statistics import Interval
from dorax.study.store import Store

QUICK = Size(seeds=2, fraction=0.5)


@pytest.fixture
def trained():
    return []


@pytest.fixture
def experiment(trained):
    def train(agent, seed):
        def run(folder, keeps_replay, progress):
            trained.append((agent, seed, folder.name, keeps_replay))
            progress(1.0, 10)
            return xr.Dataset({"score": ("record", np.arange(3 + seed) * 1.0)})

        return LongRun(agent, seed, f"{agent} {seed}", run)

    def runs(size):
        return [train(agent, seed) for seed in range(size.seeds) for agent in ("bold", "shy")]

    def check_machine(size):
        if size.is_full:
            raise InvalidInput("game needs a GPU; allowed: --quick")

    return Experiment(
        "fig",
        "a title",
        "",
        lambda size: (),
        [],
        lambda *_: None,
        1,
        size=Size(2),
        long_runs=runs,
        check_machine=check_machine,
    )


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(long_runs, "RECORDED", tmp_path / "results")
    return Store(tmp_path / "out")


def ignore(name):
    return lambda share, steps: None


def test_runs_stand_side_by_side_and_are_not_run_again(experiment, store, trained):
    results = long_runs.run("game", experiment, QUICK, store, ignore, Manner())
    assert [run[:2] for run in trained] == [("bold", 0), ("shy", 0), ("bold", 1), ("shy", 1)]
    score = results["bold"].data().score
    np.testing.assert_array_equal(score.values, [[0, 1, 2, np.nan], [0, 1, 2, 3]])
    long_runs.run("game", experiment, QUICK, store, ignore, Manner())
    assert len(trained) == 4
    assert experiment.extent(QUICK) == "4 runs"


def test_on_what_it_was_run_is_kept_with_a_run(experiment, store):
    results = long_runs.run("game", experiment, QUICK, store, ignore, Manner(keeps_replay=True))
    where = results["shy"].data().attrs["where"]
    assert "cores" in where
    assert "jax " in where
    assert "commit " in where
    assert "memory" not in where, "that of a CPU is not measured"


def test_the_memory_that_a_run_held_is_named_where_it_is_known(experiment, store, monkeypatch):
    facts = long_runs._provenance() | {"peak_memory": "7.7 GB"}
    monkeypatch.setattr(long_runs, "_provenance", lambda: facts)
    results = long_runs.run("game", experiment, QUICK, store, ignore, Manner())
    assert "at most 7.7 GB of its memory" in results["shy"].data().attrs["where"]


def test_a_full_run_needs_its_machine_unless_all_of_it_is_recorded(experiment, store, trained, refused, tmp_path):
    with refused("game", "GPU", "--quick"):
        long_runs.run("game", experiment, experiment.size, store, ignore, Manner())
    long_runs.run("game", experiment, QUICK, store, ignore, Manner())
    for agent in ("bold", "shy"):
        for seed in range(2):
            path = store.folder / "data" / "game" / f"{agent}-quick-{seed}.nc"
            recorded = tmp_path / "results" / "game" / f"{agent}-{seed}.nc"
            recorded.parent.mkdir(parents=True, exist_ok=True)
            recorded.write_bytes(path.read_bytes())
    trained.clear()
    results = long_runs.run("game", experiment, experiment.size, store, ignore, Manner())
    assert not trained
    assert results["bold"].data().sizes["seed"] == 2
    with refused("GPU"):
        long_runs.run("game", experiment, experiment.size, store, ignore, Manner(fresh=True))
    assert long_runs.load("game", experiment, store).missing == [], "what was refused has forgotten nothing"


def test_a_fresh_start_that_was_cut_off_goes_on(experiment, store, trained, tmp_path):
    anywhere = replace(experiment, check_machine=lambda size: None)
    long_runs.run("game", anywhere, anywhere.size, store, ignore, Manner())
    (tmp_path / "results").mkdir()
    (store.folder / "data" / "game").rename(tmp_path / "results" / "game")
    long_runs.run("game", anywhere, anywhere.size, store, ignore, Manner())
    assert len(trained) == 4, "all of it is recorded"

    class Killed(Exception):
        pass

    def killed(name):
        if name.startswith("shy"):
            raise Killed
        return ignore(name)

    with pytest.raises(Killed):
        long_runs.run("game", anywhere, anywhere.size, store, killed, Manner(fresh=True))
    long_runs.run("game", anywhere, anywhere.size, store, ignore, Manner())
    assert [run[:2] for run in trained[4:]] == [("bold", 0), ("shy", 0), ("bold", 1), ("shy", 1)]
    long_runs.run("game", anywhere, anywhere.size, store, ignore, Manner())
    assert len(trained) == 8


def test_a_fresh_start_leaves_alone_what_another_process_is_at_and_other_sizes(experiment, store, trained):
    anywhere = replace(experiment, check_machine=lambda size: None)
    long_runs.run("game", anywhere, anywhere.size, store, ignore, Manner())
    long_runs.run("game", anywhere, QUICK, store, ignore, Manner())
    trained.clear()
    theirs = store.path("game", "bold quick", "0")
    checkpoint = theirs.with_suffix("") / "checkpoint"
    checkpoint.parent.mkdir()
    checkpoint.touch()
    with claiming(theirs):
        long_runs.run("game", anywhere, QUICK, store, ignore, Manner(fresh=True))
        with claiming(theirs) as is_ours:
            assert not is_ours
    assert checkpoint.exists()
    assert [run[:2] for run in trained] == [("shy", 0), ("bold", 1), ("shy", 1)]
    assert store.path("game", "bold ", "0").exists()


def test_where_other_processes_are_at_every_run_it_is_said_so(experiment, store, refused):
    with contextlib.ExitStack() as claims:
        for agent in ("bold", "shy"):
            for seed in "01":
                claims.enter_context(claiming(store.path("game", f"{agent} quick", seed)))
        with refused("game", "other processes"):
            long_runs.run("game", experiment, QUICK, store, ignore, Manner())


def test_what_has_neither_been_run_nor_recorded_is_said_so(experiment, store):
    with pytest.raises(NotRun):
        long_runs.load("game", experiment, store)


def claim_about(name):
    return Claim(name, lambda results: Estimate(results[name].name, Interval(1, 1, 1), 2), above=0)


def test_a_claim_about_an_agent_without_a_run_is_not_judged(experiment, store):
    results = long_runs.run("game", experiment, QUICK, store, ignore, Manner())
    rows = judged("game", replace(experiment, claims=[claim_about("bold"), claim_about("absent")]), results)
    assert [row["claim"] for row in rows] == ["bold"]


def test_a_report_tells_the_seeds_that_there_are_and_not_those_that_are_wanted(experiment, store):
    with claiming(store.path("game", "bold quick", "0")):
        long_runs.run("game", experiment, QUICK, store, ignore, Manner())
    write_report({"game": replace(experiment, claims=[claim_about("shy")])}, store)
    report = (store.folder / "report.html").read_text()
    assert "1 to 2 seeds" in report
    assert "Not run yet: bold (seed 0)." in report


def test_runs_that_another_process_is_at_are_left_to_it(experiment, store, trained):
    with claiming(store.path("game", "bold quick", "0")) as is_ours:
        assert is_ours
        results = long_runs.run("game", experiment, QUICK, store, ignore, Manner())
    assert [run[:2] for run in trained] == [("shy", 0), ("bold", 1), ("shy", 1)]
    assert results["bold"].data().seed.values.tolist() == [1]
    long_runs.run("game", experiment, QUICK, store, ignore, Manner())
    assert trained[-1][:2] == ("bold", 0)
    assert not list(store.folder.rglob("*.claim"))


def test_what_a_process_claimed_is_free_again_when_it_was_killed(store):
    path = store.path("game", "bold", "0")
    words = "import os, sys, pathlib; from dorax.files import claiming\n"
    words += "with claiming(pathlib.Path(sys.argv[1])): os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", words, str(path)], check=False).returncode == -9
    with claiming(path) as is_ours:
        assert is_ours


def test_a_claim_that_was_given_up_while_we_asked_for_it_is_asked_for_again(store, monkeypatch):
    """Between our opening the file and our locking it, its owner removes it and another makes it anew."""
    path = store.path("game", "bold", "0")
    claim = path.with_name(f".{path.name}.claim")
    lock, locked = fcntl.flock, []

    def late(file, how):
        if not locked:
            claim.unlink()
            claim.touch()
        locked.append(file)
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with claiming(path) as is_ours:
        assert is_ours
        monkeypatch.setattr(fcntl, "flock", lock)
        with claiming(path) as is_ours_too:
            assert not is_ours_too
    assert len(locked) == 2
