"""Recorded conditions: one file per setting and seed, made here or found in results/."""

import contextlib
import fcntl
import json
import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest
import xarray as xr

from dorax import InvalidInput
from dorax.files import claiming
from dorax.study import archive, fingerprints, provenance, repository
from dorax.study.claims import Claim, Estimate, judged
from dorax.study.experiment import (
    FIRST_TUNING_SEED,
    Condition,
    Experiment,
    Fitted,
    Measure,
    Recorded,
    RecordedTogether,
    Size,
)
from dorax.study.report import write_report
from dorax.study.results import NotRun, RunOptions, load, run
from dorax.study.statistics import Interval
from dorax.study.store import Store

QUICK = Size(seeds=2, fraction=0.5)
FULL = Size(seeds=2, tuning_seeds=2)
FRESH = RunOptions(fresh=True)


@pytest.fixture
def trained():
    return []


def game(trained, claims=(), anywhere=False, priorities=(0, 0), draw=lambda *_: None, **options):
    """An experiment of two recorded conditions, which needs a GPU at full size unless it runs anywhere."""

    def train(name, settings, seeds, job):
        trained.append((name, seeds[0], job.folder.name, job.keep_replay))
        job(1.0, 10)
        score = xr.Dataset({"score": ("record", np.arange(3 + seeds[0]) * 1.0)})
        return score.expand_dims(setting=[""], seed=list(seeds))

    def identity(name, setting, seed):
        return {"name": name, "seed": seed}

    def check_machine():
        raise InvalidInput("game needs a GPU; allowed: --quick")

    def conditions(size):
        check = (lambda: None) if anywhere or not size.is_full else check_machine
        return [
            Condition(
                name,
                partial(train, name),
                recorded=Recorded(partial(identity, name), priority=priority, check_machine=check, **options),
            )
            for name, priority in zip(("bold", "shy"), priorities, strict=True)
        ]

    return Experiment("fig", "a title", "", conditions, list(claims), draw, 1, size=FULL)


@pytest.fixture
def experiment(trained):
    return game(trained)


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(repository, "ROOT", tmp_path)
    return Store(tmp_path / "out")


def record(store, tmp_path, name="game"):
    """Move what was run to results/, as if it had been committed."""
    (tmp_path / "results").mkdir(exist_ok=True)
    (store.folder / "data" / name).rename(tmp_path / "results" / name)


def ignore(name):
    return lambda share, steps: None


def test_runs_stand_side_by_side_and_are_not_run_again(experiment, store, trained):
    results = run("game", experiment, QUICK, store, ignore)
    assert [each[:2] for each in trained] == [("bold", 0), ("shy", 0), ("bold", 1), ("shy", 1)]
    score = results["bold"].data().score
    np.testing.assert_array_equal(score.values, [[0, 1, 2, np.nan], [0, 1, 2, 3]])
    run("game", experiment, QUICK, store, ignore)
    assert len(trained) == 4
    assert experiment.extent(QUICK) == "2 x 2 runs"


def test_on_what_it_was_run_is_kept_with_a_run(experiment, store):
    results = run("game", experiment, QUICK, store, ignore, RunOptions(keep_replay=True))
    where = results["shy"].where
    assert "cores" in where
    assert "jax " in where
    assert "commit " in where
    assert "memory" not in where, "that of a CPU is not measured"


def test_the_memory_that_a_run_held_is_named_where_it_is_known(experiment, store, monkeypatch):
    facts = provenance.provenance() | {"peak_memory": "7.7 GB"}
    monkeypatch.setattr(archive, "provenance", lambda: facts)
    results = run("game", experiment, QUICK, store, ignore)
    assert "peak memory 7.7 GB" in results["shy"].where


def test_a_full_run_needs_its_machine_unless_all_of_it_is_recorded(experiment, store, trained, refused, tmp_path):
    with refused("game", "GPU", "--quick"):
        run("game", experiment, experiment.size, store, ignore)
    run("game", experiment, QUICK, store, ignore)
    for agent in ("bold", "shy"):
        for seed in range(2):
            path = store.folder / "data" / "game" / f"{agent}-quick-{seed}.nc"
            recorded = tmp_path / "results" / "game" / f"{agent}-{seed}.nc"
            recorded.parent.mkdir(parents=True, exist_ok=True)
            recorded.write_bytes(path.read_bytes())
    trained.clear()
    results = run("game", experiment, experiment.size, store, ignore)
    assert not trained
    assert results["bold"].data().sizes["seed"] == 2
    with refused("GPU"):
        run("game", experiment, experiment.size, store, ignore, FRESH)
    assert load("game", experiment, store).missing == [], "what was refused has forgotten nothing"


def test_a_fresh_start_that_was_cut_off_goes_on(store, trained, tmp_path):
    anywhere = game(trained, anywhere=True)
    run("game", anywhere, anywhere.size, store, ignore)
    record(store, tmp_path)
    run("game", anywhere, anywhere.size, store, ignore)
    assert len(trained) == 4, "all of it is recorded"

    class Killed(Exception):
        pass

    def killed(name):
        if name.startswith("shy"):
            raise Killed
        return ignore(name)

    with pytest.raises(Killed):
        run("game", anywhere, anywhere.size, store, killed, FRESH)
    run("game", anywhere, anywhere.size, store, ignore)
    assert [each[:2] for each in trained[4:]] == [("bold", 0), ("shy", 0), ("bold", 1), ("shy", 1)]
    run("game", anywhere, anywhere.size, store, ignore)
    assert len(trained) == 8


def test_a_fresh_start_leaves_alone_what_another_process_is_at_and_other_sizes(store, trained):
    anywhere = game(trained, anywhere=True)
    run("game", anywhere, anywhere.size, store, ignore)
    run("game", anywhere, QUICK, store, ignore)
    trained.clear()
    theirs = store.path("game", "bold quick", "0")
    checkpoint = theirs.with_suffix("") / "checkpoint"
    checkpoint.parent.mkdir()
    checkpoint.touch()
    with claiming(theirs):
        run("game", anywhere, QUICK, store, ignore, FRESH)
        with claiming(theirs) as is_ours:
            assert not is_ours
    assert checkpoint.exists()
    assert [each[:2] for each in trained] == [("shy", 0), ("bold", 1), ("shy", 1)]
    assert store.path("game", "bold ", "0").exists()


def test_where_other_processes_are_at_every_run_it_is_said_so(experiment, store):
    with contextlib.ExitStack() as claims:
        for agent in ("bold", "shy"):
            for seed in "01":
                claims.enter_context(claiming(store.path("game", f"{agent} quick", seed)))
        with pytest.raises(InvalidInput, match="all runs of game are being made by other processes; try again"):
            run("game", experiment, QUICK, store, ignore)


def test_what_has_neither_been_run_nor_recorded_is_said_so(experiment, store):
    with pytest.raises(NotRun):
        load("game", experiment, store)


def claim_about(name):
    return Claim(name, lambda results: Estimate(results[name].name, Interval(1, 1, 1), 2), above=0)


def test_a_claim_about_a_condition_without_a_run_is_not_judged(store, trained):
    experiment = game(trained, [claim_about("bold"), claim_about("absent")])
    rows = judged("game", experiment, run("game", experiment, QUICK, store, ignore))
    assert [row["claim"] for row in rows] == ["bold"]


def test_a_report_tells_the_seeds_that_there_are_and_not_those_that_are_wanted(store, trained):
    experiment = game(trained, [claim_about("shy")])
    with claiming(store.path("game", "bold quick", "0")):
        run("game", experiment, QUICK, store, ignore)
    write_report({"game": experiment}, store)
    report = (store.folder / "report.html").read_text()
    assert "1 to 2 seeds" in report
    assert "Not run yet: bold (seed 0)." in report


def test_runs_that_another_process_is_at_are_left_to_it(experiment, store, trained):
    with claiming(store.path("game", "bold quick", "0")) as is_ours:
        assert is_ours
        results = run("game", experiment, QUICK, store, ignore)
    assert [each[:2] for each in trained] == [("shy", 0), ("bold", 1), ("shy", 1)]
    assert results["bold"].data().seed.values.tolist() == [1]
    run("game", experiment, QUICK, store, ignore)
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


def test_conditions_run_by_priority_and_equal_ones_take_turns(store, trained):
    run("game", game(trained, priorities=(1, 0)), QUICK, store, ignore)
    assert [each[:2] for each in trained] == [("shy", 0), ("shy", 1), ("bold", 0), ("bold", 1)]


def test_a_condition_may_have_seeds_of_its_own(store, trained):
    results = run("game", game(trained, seeds=(100, 101, 102)), QUICK, store, ignore)
    assert results["bold"].data().seed.values.tolist() == [100, 101, 102]


def test_a_result_of_another_identity_is_not_used(experiment, store, trained):
    run("game", experiment, QUICK, store, ignore)
    path = store.path("game", "bold quick", "0")
    store.save(path, store.load(path).assign_attrs(what=json.dumps({"name": "bold", "seed": 7})))
    trained.clear()
    run("game", experiment, QUICK, store, ignore)
    assert [each[:2] for each in trained] == [("bold", 0)]


def lost(data):
    return 1 - data.record_return


def scaled(trained, priorities=(0,)):
    """One condition per priority, whose return is the higher, the closer its scale is to 1."""

    def train(settings, seeds, job):
        trained.append((settings[0]["scale"], seeds[0]))
        best = 1 - abs(settings[0]["scale"] - 1.0)
        data = xr.Dataset({"record_step": ("record", [10.0, 20.0]), "record_return": ("record", [0.0, best])})
        return data.expand_dims(setting=[""], seed=list(seeds))

    measure = Measure("a return of one half", lost, 0.5, fitted_by="area")
    conditions = [
        Condition(
            f"bonus {priority}" if priority else "bonus",
            train,
            {"scale": (0.5, 1.0, 1.2)},
            measure=measure,
            recorded=Recorded(lambda setting, seed: {"scale": setting["scale"]}, priority=priority),
        )
        for priority in priorities
    ]
    return Experiment("fig", "a title", "", lambda size: conditions, [], lambda *_: None, 1, size=FULL)


def test_recorded_conditions_are_fitted_on_tuning_seeds_like_any_other(store, trained, tmp_path):
    results = run("game", scaled(trained), FULL, store, ignore)
    tuning = [(scale, FIRST_TUNING_SEED + seed) for scale in (0.5, 1.0, 1.2) for seed in range(2)]
    assert trained == [*tuning, (1.0, 0), (1.0, 1)]
    assert results["bonus"].choices["step"].setting == {"scale": 1.0}
    assert (store.folder / "data" / "game" / "bonus-scale-1-0.nc").exists()
    record(store, tmp_path)
    trained.clear()
    again = run("game", scaled(trained), FULL, store, ignore)
    assert not trained
    assert again["bonus"].data().record_return.values.tolist() == [[0, 1], [0, 1]]
    (tmp_path / "results" / "game" / f"bonus-scale-0.5-{FIRST_TUNING_SEED}.nc").unlink()
    with pytest.raises(NotRun):
        load("game", scaled(trained), store)


def test_a_condition_is_complete_before_one_of_lower_priority_is_tuned(store, trained):
    run("game", scaled(trained, priorities=(0, 1)), FULL, store, ignore)
    is_tuning = [seed >= FIRST_TUNING_SEED for _, seed in trained]
    assert is_tuning == 2 * [*6 * [True], *2 * [False]]


MADE: list[tuple[str, int]] = []


def tried_in(world, best, settings, seeds, job):
    MADE.append((world, len(settings)))
    returns = np.array([best * (setting["scale"] == 1.0) for setting in settings])
    curve = np.stack([np.zeros_like(returns), returns], axis=-1)[:, None].repeat(len(seeds), axis=1)
    dims = ("setting", "seed", "record")
    return xr.Dataset(
        {"record_return": (dims, curve), "record_step": (dims, np.broadcast_to([10.0, 20.0], curve.shape))}
    )


@pytest.mark.parametrize("best", [0.0, 1.0])
def test_an_easier_world_is_only_tuned_in_where_the_hard_one_does_not_decide(store, best):
    MADE.clear()
    measure = Measure("a return of one half", lost, 0.5, fitted_by="area")
    grid, recorded = {"scale": (0.5, 1.0)}, RecordedTogether(acts_as_recorded)
    easy = Condition("easy", partial(tried_in, "easy", 1.0), grid, measure=measure, recorded=recorded)
    run_hard = partial(tried_in, "hard", best)
    hard = Condition("hard", run_hard, grid, measure=measure, recorded=recorded, ties=[Fitted("game", easy)])
    experiment = Experiment("fig", "a title", "", lambda size: [hard], [], lambda *_: None, 1, size=FULL)
    results = run("game", experiment, FULL, store, ignore)
    assert results["hard"].choices["step"].setting == {"scale": 1.0}
    decided = [("hard", 2), ("hard", 1)]
    assert (decided if best else [decided[0], ("easy", 2), decided[1]]) == MADE


ACTS = {"actions": "0110", "losses": [0.5, 1e-7]}


def acts_as_recorded(setting):
    return {"actions": "0110", "losses": [0.5001, 1.0001e-7]}


def acts_otherwise(setting):
    return {"actions": "0111", "losses": [0.5, 1e-7]}


def learns_otherwise(setting):
    return {"actions": "0110", "losses": [0.51, 1e-7]}


def cannot_act(setting):
    raise InvalidInput("the game is not installed; allowed: after installing it")


def draw_something(results, figure):
    figure.subplots().plot([0, 1])


TUNED: list[Any] = []


def tuned_run(settings, seeds, job):
    """The return is the higher, the closer the scale is to 1."""
    TUNED.append((len(settings), list(seeds)))
    best = xr.DataArray([1 - abs(setting["scale"] - 1.0) for setting in settings], dims="setting")
    returns = xr.DataArray([0.0, 1.0], dims="record") * best
    steps = xr.DataArray([10.0, 20.0], dims="record") + 0 * best
    data = xr.Dataset({"record_step": steps, "record_return": returns}).expand_dims(seed=list(seeds))
    return data.assign_coords(setting=range(len(settings))).transpose("setting", "seed", ...)


def tuned(scales=(0.5, 1.0, 1.2), fingerprint=acts_as_recorded, claims=()):
    """An experiment of which tuning alone is recorded."""
    measure = Measure("a return of one half", lost, 0.5, fitted_by="area")
    condition = Condition(
        "shy", tuned_run, {"scale": scales}, measure=measure, recorded=RecordedTogether(fingerprint, tuning_only=True)
    )
    return Experiment("fig", "a title", "", lambda size: [condition], list(claims), draw_something, 1, size=FULL)


@pytest.fixture
def recorded_tuning(store, tmp_path):
    """Tuning that was made and then committed; the reported runs were not."""
    TUNED.clear()
    run("game", tuned(), FULL, store, ignore)
    tuning = list(range(FIRST_TUNING_SEED, FIRST_TUNING_SEED + 2))
    assert [(3, tuning), (1, [0, 1])] == TUNED
    (tmp_path / "results" / "game").mkdir(parents=True)
    (store.folder / "data" / "game" / "shy-tuning.nc").rename(tmp_path / "results" / "game" / "shy-tuning.nc")
    for path in (store.folder / "data" / "game").glob("*.nc"):
        path.unlink()
    TUNED.clear()


@pytest.mark.usefixtures("recorded_tuning")
def test_where_tuning_alone_is_recorded_the_reported_runs_are_made_here(store):
    assert not tuned().is_recorded, "it is part of a full reproduction"
    results = run("game", tuned(), FULL, store, ignore)
    assert TUNED == [(1, [0, 1])]
    assert results["shy"].choices["step"].setting == {"scale": 1.0}
    assert results["shy"].where.startswith("tuning: ")
    assert len(results["shy"].commits) == 1
    assert load("game", tuned(), store)["shy"].data().record_return.values.tolist() == [[0, 1], [0, 1]]


@pytest.mark.usefixtures("recorded_tuning")
def test_recorded_tuning_is_made_anew_for_another_grid_another_size_and_a_fresh_start(store):
    run("game", tuned((0.5, 0.9)), FULL, store, ignore)
    assert TUNED.pop(0)[0] == 2
    TUNED.clear()
    run("game", tuned(), QUICK, store, ignore)
    assert TUNED.pop(0)[0] == 3
    TUNED.clear()
    for options in (FRESH, RunOptions()):
        results = run("game", tuned(), FULL, store, ignore, options)
    assert [each[0] for each in TUNED] == [3, 1], "once"
    assert results["shy"].commits == []


@pytest.mark.usefixtures("recorded_tuning")
def test_tuning_that_another_process_is_at_is_left_to_it(store):
    with claiming(store.path("game", "shy", "tuning")), pytest.raises(InvalidInput, match="by other processes"):
        run("game", tuned((0.5, 0.9)), FULL, store, ignore)
    assert not TUNED


@pytest.mark.parametrize(("fingerprint", "is_known"), [(acts_as_recorded, True), (acts_otherwise, False)])
@pytest.mark.usefixtures("recorded_tuning")
def test_recorded_tuning_counts_while_todays_code_reproduces_its_fingerprint(fingerprint, is_known, store, tmp_path):
    experiment = tuned(fingerprint=fingerprint, claims=[claim_about("shy")])
    (tmp_path / "results" / "game" / "fingerprints.json").write_text(json.dumps({"shy": ACTS}))
    run("game", experiment, FULL, store, ignore)
    (row,) = write_report({"game": experiment}, store)
    assert "remark" not in row if is_known else "tuning recorded by earlier code" in row["remark"]


def together():
    """An experiment whose settings and seeds run in one call, and another that takes its setting from the first."""
    measure = Measure("a return of one half", lost, 0.5, fitted_by="area")
    record = RecordedTogether(acts_as_recorded)
    scales = {"scale": (0.5, 1.0, 1.2)}
    here = Condition("shy", tuned_run, scales, measure=measure, recorded=record)
    there = Condition("shy elsewhere", tuned_run, measure=measure, recorded=record, fitted=[Fitted("game", here)])
    return {
        name: Experiment("fig", "a title", "", lambda size, each=each: [each], [], draw_something, 1, size=FULL)
        for name, each in (("game", here), ("other", there))
    }


def test_all_runs_of_a_condition_can_be_recorded_together(store, tmp_path):
    TUNED.clear()
    game = together()["game"]
    assert game.is_recorded
    results = run("game", game, FULL, store, ignore)
    assert [settings for settings, _ in TUNED] == [3, 1]
    assert results["shy"].data().record_return.dims == ("seed", "record")
    record(store, tmp_path)
    again = load("game", game, store)
    assert again["shy"].data().record_return.values.tolist() == [[0, 1], [0, 1]]
    assert len(again["shy"].commits) == 1
    assert len(TUNED) == 2
    (tmp_path / "results" / "game" / "shy-reported.nc").unlink()
    with pytest.raises(NotRun):
        load("game", game, Store(tmp_path / "nowhere"))


def test_a_condition_can_take_its_setting_from_the_tuning_of_another_experiment(store):
    TUNED.clear()
    other = together()["other"]
    results = run("other", other, FULL, store, ignore)
    assert [settings for settings, _ in TUNED] == [3, 1], "the tuning runs it depends on are made first"
    assert results["shy elsewhere"].choices["step"].setting == {"scale": 1.0}
    run("game", together()["game"], FULL, store, ignore)
    assert [settings for settings, _ in TUNED] == [3, 1, 1], "they are found by the experiment that they belong to"


def test_a_command_is_recorded_without_its_output_folder():
    command = provenance.command
    assert command(["run", "freeway", "--out", "/tmp/out", "--quick"]) == "dorax run freeway --quick"
    assert command(["run", "freeway", "--out=/tmp/out"]) == "dorax run freeway"


@pytest.mark.parametrize(
    ("fingerprint", "words"),
    [
        (acts_as_recorded, None),
        (acts_otherwise, "recorded by earlier code (commit 0123456789ab)"),
        (learns_otherwise, "recorded by earlier code (commit 0123456789ab)"),
        (cannot_act, "not checked against the current code: the game is not installed"),
        (None, "not checked"),
    ],
)
def test_a_recorded_run_counts_while_todays_code_reproduces_its_fingerprint(
    fingerprint, words, store, trained, tmp_path, monkeypatch
):
    monkeypatch.setenv("DORAX_COMMIT", "0123456789abcdef")
    about_shy = claim_about("shy")
    experiment = game(trained, [claim_about("bold"), about_shy], True, draw=draw_something, fingerprint=fingerprint)
    run("game", experiment, FULL, store, ignore)
    record(store, tmp_path)
    (tmp_path / "results" / "game" / "fingerprints.json").write_text(json.dumps({"bold": ACTS, "shy": ACTS}))
    said = []
    rows = write_report({"game": experiment}, store, say=said.append)
    page = (store.folder / "report.html").read_text().replace("&#39;", "'")
    if words is None:
        assert all("remark" not in row for row in rows)
        assert "earlier code" not in page
        assert "not checked" not in page
    else:
        assert [words in row["remark"] for row in rows] == [True, True]
        assert rows[1]["remark"].startswith("shy: ")
        assert page.count(words) >= 2 * 3, "beside the claim, the numbers and the machine"
    said.clear()
    write_report({"game": experiment}, store, say=said.append)
    assert bool(said) == (fingerprint is cannot_act), "computed once per version of the code"


@pytest.mark.usefixtures("recorded_tuning")
def test_what_was_checked_by_who_published_is_not_checked_again_by_the_same_code(store, tmp_path):
    experiment = tuned(claims=[claim_about("shy")])
    (tmp_path / "results" / "game" / "fingerprints.json").write_text(json.dumps({"shy": ACTS}))
    results, said = run("game", experiment, FULL, store, ignore), []
    write_report({"game": experiment}, store, {"game": results}, said.append)
    assert len(said) == 1
    known = fingerprints.known("game", experiment, results, store)
    (outcome,) = known.values()
    assert fingerprints.same(outcome, ACTS)
    (tmp_path / "results" / "game" / "checked.json").write_text(json.dumps(known))
    elsewhere = Store(tmp_path / "elsewhere")
    for code, times in ((acts_as_recorded, 0), (acts_otherwise, 1)):
        said.clear()
        other = tuned(fingerprint=code, claims=[claim_about("shy")])
        (row,) = write_report({"game": other}, elsewhere, {"game": results}, said.append)
        assert len(said) == times
        assert ("remark" in row) == (code is acts_otherwise)


def test_a_run_made_here_needs_no_fingerprint(store, trained):
    experiment = game(trained, [claim_about("bold")], True, fingerprint=acts_otherwise)
    results = run("game", experiment, FULL, store, ignore)
    (row,) = write_report({"game": experiment}, store, {"game": results})
    assert "remark" not in row
