"""`dorax train`: worlds and explorers by words, and the files that are written."""

import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import tyro
import xarray as xr

import dorax
from dorax import cli
from dorax.agents.explorers import PRESETS
from dorax.cli import explore, train
from dorax.cli.train import Train
from dorax.envs import words
from dorax.explorer.presets import AGENTS
from dorax.study.training_curves import drawn, first_at, returns_of, summary

DOCS = Path(__file__).parents[1] / "docs"


def fails(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["train", *arguments])
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert stopped.value.code == 2
    return lines[0]


def command(*arguments):
    return tyro.cli(Train, args=arguments)


def test_a_word_is_a_world():
    assert words.world("deep_sea:4").name == "deep_sea(4, 0)"
    assert words.world("chain:9").name == dorax.mdps.chain(9).name
    assert isinstance(words.world("mountain_car"), dorax.envs.SparseMountainCar)
    assert isinstance(words.world("acrobot"), dorax.envs.SparseAcrobot)
    assert words.world("FrozenLake-v1").states == 16


def test_environments_of_gymnax_are_worlds():
    pytest.importorskip("gymnax")
    assert words.world("Breakout-MinAtar") is dorax.envs.from_gymnax("Breakout-MinAtar")
    assert not isinstance(words.world("CartPole-v1"), dorax.mdps.MDP), "gymnax has one, which Gymnasium's table lacks"


def test_solved_is_95_percent_of_the_best_return_where_that_is_known():
    assert words.target(words.world("bridge")) == pytest.approx(9.5)
    assert words.target(words.world("cliff")) == pytest.approx(-13.65)
    assert words.target(words.world("acrobot")) == 0.95
    assert words.target(dorax.envs.DenseView(dorax.mdps.deep_sea(4))) is None


def test_the_help_names_every_explorer_and_every_agent():
    assert f"{{{','.join(PRESETS)}}}" == train._EXPLORERS
    assert f"{{{','.join(AGENTS)}}}" == explore._AGENTS


@pytest.mark.parametrize("explorer", PRESETS)
def test_a_word_is_an_explorer(explorer):
    assert isinstance(command("bridge", "--explorer", explorer).agent(), dorax.ParallelAgent)


def test_options_are_numbers_of_the_explorer_and_of_the_learner():
    agent = command("bridge", "--temperature", "0.3", "--games", "8", "--features", "hashed-codes").agent()
    assert agent.rule == dorax.LLL(dorax.Softmax(0.3))
    assert agent.games == 8
    assert agent.counter == dorax.EValues(0.99, features=dorax.HashedCodes())
    ladder = command("bridge", "--explorer", "epsilon-greedy", "--epsilon", "0.1", "0.2").agent()
    assert ladder.rule == dorax.Sample(dorax.EpsilonGreedy(dorax.Spread(0.1, 0.2)))


def test_the_options_of_the_learner_have_the_agent_s_defaults():
    assert command("bridge").agent() == dorax.ParallelAgent(**PRESETS["e-values"].arguments())


def test_the_commands_of_the_page_are_understood():
    lines = re.findall(r"^dorax train ([^#\n]+)", (DOCS / "parallel.md").read_text(), re.MULTILINE)
    assert len(lines) >= 3
    for line in lines:
        assert command(*line.split()).agent().games > 1


def test_runs_that_differ_have_different_names():
    lines = ["bridge", "bridge:9", "bridge --explorer visits", "bridge --steps 900", "bridge --temperature 0.5",
             "bridge --games 8", "bridge --explorer rnd --epsilon 0.1 0.2", "./mazes/bridge.txt"]  # fmt: skip
    names = [command(*line.split()).name for line in lines]
    assert names[:3] == ["bridge-e-values", "bridge-9-e-values", "bridge-visits"]
    assert len(set(names)) == len(lines)
    assert not any("/" in name for name in names)


@pytest.mark.parametrize(("arguments", "expected"), [
    (["depe_sea:10"], "the world is 'depe_sea:10'; did you mean deep_sea? allowed: bridge,"),
    (["deep_sea:x"], "the size of deep_sea is 'x'"),
    (["nowhere.txt"], "nowhere.txt does not exist"),
    (["bridge", "--explorer", "evalues"], "explorer is 'evalues'; did you mean e-values?"),
    (["bridge", "--explorer", "rnd", "--e-discount", "0.9"], "e-discount is given with the explorer rnd; allowed:"),
    (["bridge", "--games", "2"], "greedy_share is 0.25 of 2 games"),
    (["bridge", "--seeds", "0"], "seeds is 0"),
    (["bridge", "--steps", "0"], "steps is 0"),
    (["mountain_car", "--features", "table"], "features is Table()"),
])  # fmt: skip
def test_what_cannot_be_trained_is_one_line(capsys, tmp_path, arguments, expected):
    assert expected in fails(capsys, *arguments, "--out", str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_continuous_actions_are_refused(capsys, tmp_path):
    pytest.importorskip("gymnax")
    assert "allowed: a Discrete space" in fails(capsys, "Pendulum-v1", "--out", str(tmp_path))


@pytest.mark.parametrize(
    "world", ["BipedalWalker-v3", "CarRacing-v3", "Ant-v5", "LunarLanderContinuous-v3", "GymV21Environment-v0"]
)
def test_environments_of_gymnasium_without_a_table_are_refused_whether_or_not_they_are_installed(
    capsys, tmp_path, world
):
    assert "allowed: environments with" in fails(capsys, world, "--out", str(tmp_path))


@pytest.mark.parametrize("error", [ImportError, gymnasium.error.DependencyNotInstalled])
def test_a_world_that_needs_another_package_says_which(capsys, tmp_path, monkeypatch, error):
    def make(name):
        raise error(f"{name} needs Box2D,\n  run `pip install gymnasium[box2d]`")

    monkeypatch.setattr("gymnasium.make", make)
    line = fails(capsys, "FrozenLake-v1", "--out", str(tmp_path))
    assert "cannot be made (FrozenLake-v1 needs Box2D, run `pip install gymnasium[box2d]`); allowed:" in line


def test_an_interrupted_run_says_that_the_same_command_resumes(capsys, tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("dorax.train", interrupt)
    with pytest.raises(SystemExit) as stopped:
        cli.main(["train", "bridge", "--out", str(tmp_path)])
    assert stopped.value.code == 130
    assert capsys.readouterr().err == "dorax: interrupted; the same command resumes\n"


NAN = np.nan


@pytest.fixture
def run():
    """Two seeds and four records of 10 steps each: the first seed reaches a return of 1 and loses it again."""
    greedy = [[NAN, 0.0, 1.0, 0.0], [0.0, NAN, NAN, 1.0]]
    exploring = [[0.5] * 4, [0.25] * 4]
    dims = ("seed", "record")
    return xr.Dataset(
        {
            "record_step": (dims, np.tile([10.0, 20, 30, 40], (2, 1))),
            "greedy_return": (dims, greedy),
            "exploring_return": (dims, exploring),
        }
    )


def test_a_record_without_an_episode_has_the_return_of_the_one_before(run):
    np.testing.assert_array_equal(returns_of(run), [[NAN, 0, 1, 0], [0, 0, 0, 1]])


def test_the_first_record_at_the_target_counts(run):
    np.testing.assert_array_equal(first_at(run, 0.95), [30, 40])
    np.testing.assert_array_equal(first_at(run, 2.0), [np.inf, np.inf])


def test_the_summary_tells_when_it_was_solved_and_whether_it_stayed_solved(run):
    *_, solved, end = summary(run, 0.95)
    assert solved == "solved (a return of 0.95) by 2 of 2 seeds, first after 35 steps (median)"
    assert end == "solved at the end: 1 of 2 seeds"
    assert summary(run, 9.0)[-2:] == ["solved (a return of 9) by 0 of 2 seeds", "solved at the end: 0 of 2 seeds"]
    assert "solved" not in " ".join(summary(run, None))
    drawn(run, 0.95, "title").draw_without_rendering()


def test_without_greedy_games_returns_are_those_of_the_others(run):
    run["greedy_return"] = run.greedy_return * NAN
    assert summary(run, 0.4)[0] == "return of exploring games, 2 seeds:"
    assert summary(run, 0.4)[-1] == "solved at the end: 1 of 2 seeds"
    drawn(run, None, "title").draw_without_rendering()


@pytest.mark.slow
def test_a_run_writes_its_dataset_its_learner_and_its_curves(capsys, tmp_path):
    small = ["--games", "8", "--width", "32", "--steps", "3000", "--seeds", "2"]
    cli.main(["train", "bridge:3", *small, "--out", str(tmp_path)])
    (folder,) = tmp_path.iterdir()
    curves = {f"curve.{kind}" for kind in ("png", "svg", "pdf")}
    assert {path.name for path in folder.iterdir()} == {"data.nc", "learner.npz", *curves}
    printed = capsys.readouterr().out
    assert "return of greedy games, 2 seeds:" in printed
    assert "steps/s" in printed
    with xr.open_dataset(folder / "data.nc", engine="h5netcdf") as data:
        assert data.greedy_return.sizes["seed"] == 2
    assert dorax.evaluate(dorax.load(folder / "learner.npz"), dorax.mdps.bridge(3), 1).shape == (1,)
