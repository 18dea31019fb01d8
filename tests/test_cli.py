import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import tyro

import dorax
from dorax import cli
from dorax.cli.atari import Atari
from dorax.experiments import tree
from dorax.files import claiming
from dorax.study import repository
from dorax.study.publishing import BEGIN, END


def fails(capsys, *arguments):
    """The one line that a command ends with, and its exit code."""
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    return lines[0], stopped.value.code


def test_the_version_is_that_of_the_package(capsys):
    cli.main(["--version"])
    assert capsys.readouterr().out == f"dorax {dorax.__version__}\n"


def test_list_names_every_experiment_with_its_figure(capsys):
    cli.main(["list"])
    printed = capsys.readouterr().out
    for word in ("tree", "Figure 1", "bridge_agents", "cliff_agents", "x 50 runs", "scaling"):
        assert word in printed


def test_an_unknown_experiment_is_named_beside_those_that_exist(capsys, tmp_path):
    line, code = fails(capsys, "run", "brigde_agents", "--out", str(tmp_path / "out"))
    assert code == 2
    assert "'brigde_agents' is unknown; did you mean bridge_agents? allowed: " in line
    assert not (tmp_path / "out").exists()


def test_no_experiment_and_too_few_seeds_are_refused(capsys, tmp_path):
    assert "no experiment was given" in fails(capsys, "run", "--out", str(tmp_path))[0]
    assert "seeds is 1; allowed: 2 or more" in fails(capsys, "run", "tree", "--seeds", "1", "--out", str(tmp_path))[0]


def test_an_unwritable_output_folder_is_one_line(capsys, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    line, code = fails(capsys, "run", "tree", "--out", str(blocked))
    assert code == 2
    assert line.startswith(f"dorax: cannot write {blocked}")


def test_an_unknown_command_is_one_line_with_the_nearest_one(capsys):
    line, code = fails(capsys, "explroe", "bridge")
    assert code == 2
    assert "command 'explroe' is unknown; did you mean explore? allowed: list, run," in line


def test_runs_of_atari_that_differ_have_different_names():
    lines = ["", "--seed 1", "--agent.bonus e-values", "--agent.bonus e-values --agent.bonus-scale 0.1",
             "--agent.acts-by lll", "--games 64", "--agent.epsilon-last 0.2"]  # fmt: skip
    names = [tyro.cli(Atari, args=["pong", *line.split()]).name("pong") for line in lines]
    assert len(set(names)) == len(lines)
    assert names[0] == "pong-none-0"
    longer = tyro.cli(Atari, args=["pong", "--steps", "9", "--keep-replay"])
    assert longer.name("pong") == names[0], "more steps of the same run"


@pytest.fixture
def nothing_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr("dorax.study.repository.ROOT", tmp_path / "nowhere")


@pytest.mark.usefixtures("nothing_recorded")
def test_a_report_without_results_says_what_to_do(capsys, tmp_path):
    assert "dorax run" in fails(capsys, "report", "--out", str(tmp_path))[0]


def test_an_interruption_is_one_line_that_says_how_to_go_on(capsys, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("dorax.study.results.run", interrupt)
    line, code = fails(capsys, "run", "tree", "--out", str(tmp_path))
    assert code == 130
    assert "the same command resumes" in line


@pytest.mark.usefixtures("nothing_recorded")
def test_run_then_report_writes_one_page_and_the_claims(capsys, tmp_path):
    cli.main(["run", "tree", "--out", str(tmp_path)])
    cli.main(["report", "--out", str(tmp_path)])
    claims = json.loads((tmp_path / "claims.json").read_text())
    assert {row["experiment"] for row in claims} == {"tree"}
    assert {row["verdict"] for row in claims} <= {"holds", "fails"}, "nearly all of it is mathematics"
    page = (tmp_path / "report.html").read_text()
    assert "data:image/svg+xml;base64," in page
    assert "dorax run tree --fresh &amp;&amp; dorax report" in page
    assert "<script src" not in page
    assert page.count("http") == 0, "a self-contained page fetches nothing"
    assert "dorax run bridge_agents" in page, "what has not been run is named with its command"


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout without recorded runs, whose README has old findings."""
    monkeypatch.setattr(repository, "ROOT", tmp_path)
    (tmp_path / "README.md").write_text(f"before\n{BEGIN}\nold numbers\n{END}\nafter\n")
    return tmp_path


def test_publishing_writes_claims_durations_figures_and_the_readme(checkout):
    old = {"experiment": "bridge_agents", "claim": "kept", "verdict": "holds", "value": 2.0, "low": 1.5, "high": 3.0}
    (checkout / "results").mkdir()
    (checkout / "results" / "claims.json").write_text(json.dumps([old]))
    (checkout / "results" / "durations.json").write_text('{"bridge_agents": 30.0}')
    cli.main(["run", "tree", "--out", str(checkout / "out")])
    cli.main(["report", "--out", str(checkout / "out"), "--publish"])
    claims = json.loads((checkout / "results" / "claims.json").read_text())
    assert claims[-1] == old, "an experiment that was not run keeps what was published, and comes later in the paper"
    assert claims[:-1] == json.loads((checkout / "out" / "claims.json").read_text())
    assert set(json.loads((checkout / "results" / "durations.json").read_text())) == {"bridge_agents", "tree"}
    assert (checkout / "docs" / "figures" / "tree.png").stat().st_size > 5_000
    readme = (checkout / "README.md").read_text()
    assert readme.startswith("before\n")
    assert readme.endswith("after\n")
    assert "old numbers" not in readme
    assert "| Does a cycle through all k leaves add about one generalized visit" in readme


def test_quick_runs_and_installed_packages_cannot_publish(checkout, capsys, monkeypatch):
    out = str(checkout / "out")
    cli.main(["run", "tree", "--quick", "--out", out])
    assert "quick runs cannot be published: tree" in fails(capsys, "report", "--out", out, "--publish")[0]
    monkeypatch.setattr(repository, "ROOT", checkout / "site-packages")
    assert "checkout" in fails(capsys, "report", "--out", out, "--publish")[0]


def test_a_disk_without_room_is_one_line_and_leaves_no_half_written_file(tmp_path):
    command = f"ulimit -f 4; exec {sys.executable} -c 'from dorax.cli import main; main()' run tree --out {tmp_path}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "File too large" in done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_without_a_terminal_every_finished_condition_is_a_line(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", "from dorax.cli import main; main()", "run", "tree", "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0
    assert done.stderr == ""
    expected, *conditions, took = done.stdout.strip().splitlines()
    assert "about" in expected
    names = [each.name for each in tree.EXPERIMENT.conditions(tree.EXPERIMENT.size)]
    assert [line.partition(": done")[0].strip() for line in conditions] == names
    assert all("done" in line for line in conditions)
    assert took.startswith("tree")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["atari", "frewway"], "did you mean freeway?"),
        (["atari", "freeway", "--seed", "-1"], "seeds is [-1]"),
        (["atari", "freeway", "--gpu"], "GPU"),
        (["atari", "freeway", "--games", "7"], "games is 7"),
        (["atari", "freeway", "--agent.capacity", "10"], "capacity is 10"),
        (["atari", "freeway", "--agent.bonus", "density", "--agent.acts-by", "lll"], "supports 'epsilon-greedy'"),
        (["atari", "freeway", "--out", "/proc/nowhere"], "cannot write"),
        (["play", "nowhere.npz"], "nowhere.npz does not exist"),
        (["run", "freeway"], "--quick"),
    ],
)
def test_what_cannot_be_played_is_one_line(capsys, tmp_path, arguments, words):
    if "--out" not in arguments and arguments[0] != "play":
        arguments = [*arguments, "--out", str(tmp_path)]
    line, code = fails(capsys, *arguments)
    assert code == 2
    assert words in line


def test_a_folder_that_another_process_trains_in_is_left_to_it(capsys, tmp_path):
    folder = tmp_path / "freeway-none-0"
    folder.mkdir()
    (folder / "kept").touch()
    with claiming(folder):
        line, code = fails(capsys, "atari", "freeway", "--fresh", "--out", str(tmp_path))
    assert code == 2
    assert "another process" in line
    assert (folder / "kept").exists()


@pytest.mark.parametrize("kind", ["empty", "text", "array", "other"])
def test_a_file_that_is_no_learner_is_one_line(capsys, tmp_path, kind):
    path = tmp_path / "learner.npz"
    if kind == "array":
        with open(path, "wb") as file:
            np.save(file, np.zeros(3))
    elif kind == "other":
        np.savez(path, what=np.asarray("{}"))
    else:
        path.write_text("" if kind == "empty" else "hello")
    line, code = fails(capsys, "play", str(path))
    assert code == 2
    assert str(path) in line


@pytest.mark.slow
def test_a_game_is_trained_on_and_the_learner_is_filmed(capsys, tmp_path):
    short = ["--steps", "64", "--games", "8", "--agent.capacity", "200", "--agent.learning-starts", "32"]
    arguments = ["atari", "freeway", "--agent.bonus", "e-values", "--agent.acts-by", "lll", "--out", str(tmp_path)]
    cli.main([*arguments, *short])
    (learner,) = tmp_path.glob("freeway-e-values-lll-0-*/learner.npz")
    assert f"dorax play {learner}" in capsys.readouterr().out
    agent: Any = dorax.load(learner).agent
    assert isinstance(agent.rule, dorax.LLL)
    assert isinstance(agent.counter, dorax.EValues)
    assert (agent.games, agent.capacity, agent.bonus.floor) == (8, 200, 0.01)
    cli.main(["play", str(learner), "--out", str(tmp_path / "play.gif"), "--steps", "5"])
    assert "score 0" in capsys.readouterr().out
    assert (tmp_path / "play.gif").stat().st_size > 1_000
