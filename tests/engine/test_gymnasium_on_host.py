"""Tables, tiles and networks in Gymnasium environments, by the driver on the host."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest

import dorax
from dorax.core.checks import InvalidInput
from dorax.engine.host import game_seeds

BRIDGE, CARTPOLE = dorax.envs.GymnasiumEnv("dorax/Bridge-v0"), dorax.envs.GymnasiumEnv("CartPole-v1")
LLL = dorax.LLL(dorax.Softmax(0.5))
UNTESTED = dorax.HostOptions(record_every=50, checkpoint_every=50, test_every=None)
DEEP = dorax.DeepAgent(LLL, dorax.EValues(0.9), width=8, batch=4, capacity=200)


class NumbersOfTurns:
    """The random numbers of a run on the host: one a turn, whether an action is needed or not."""

    def __init__(self, seed: int) -> None:
        self.key, self.turn = jax.random.fold_in(jax.random.key(seed), 1), 0

    def random(self) -> float:
        return float(jax.random.uniform(jax.random.fold_in(self.key, self.turn), (1,))[0])


def plain_loop(agent: dorax.TabularAgent, seed: int, turns: int) -> tuple[Any, list[tuple[int, float, int]], int]:
    """A learner after some turns in a plain loop; step, return and length of its episodes; the steps learned from.

    A turn in which an episode begins is no step.
    """
    env = gymnasium.make("dorax/Bridge-v0")
    assert BRIDGE.spec.available is not None
    learner = dorax.TabularLearner(agent, *BRIDGE.spec.available.shape, dtype=np.float32)
    learner.random = numbers = NumbersOfTurns(seed)
    state, _ = env.reset(seed=int(game_seeds(np.random.SeedSequence((seed, 0)), 1)[0]))
    action, is_over = learner.act(state), False
    total, length, learned_from = 0.0, 0, 0
    episodes: list[tuple[int, float, int]] = []
    for numbers.turn in range(1, turns):
        if is_over:
            state, _ = env.reset()
            action, is_over = learner.act(state), False
            continue
        following, reward, terminated, truncated, _ = env.step(action)
        learner.observe(state, action, float(reward), following, terminated, truncated)
        total, length, learned_from = total + float(reward), length + 1, learned_from + 1
        is_over = terminated or truncated
        if is_over:
            episodes.append((numbers.turn, total, length))
            total, length = 0.0, 0
        else:
            state, action = following, learner.act(following)
    return learner, episodes, learned_from


@pytest.mark.parametrize(
    "agent",
    [
        dorax.TabularAgent(LLL, dorax.EValues(0.9), dorax.InverseCount(1.0)),
        dorax.TabularAgent(dorax.EpsilonGreedy(0.5), dorax.Visits()),
    ],
    ids=["LLL, E-values and bonus", "ε-greedy"],
)
def test_a_table_learns_what_a_plain_loop_learns(agent: dorax.TabularAgent) -> None:
    result = dorax.train(agent, BRIDGE, steps=300, seeds=[3], host=UNTESTED)
    learner, episodes, _ = plain_loop(agent, 3, 300)
    assert len(episodes) > 10
    for name, column in zip(("steps", "return", "length"), zip(*episodes, strict=True), strict=True):
        np.testing.assert_array_equal(result.data[name].values[0], column)
    np.testing.assert_allclose(result.learner().q_table, learner.q_table, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(result.learner().count_table, learner.count_table, rtol=1e-4, atol=1e-5)
    assert int(result.data.total_steps[0]) == result.learner().steps == 300


def test_visits_sum_to_the_steps_that_were_learned_from() -> None:
    agent = dorax.TabularAgent(dorax.EpsilonGreedy(0.5), dorax.Visits())
    result = dorax.train(agent, BRIDGE, steps=200, host=UNTESTED)
    _, episodes, learned_from = plain_loop(agent, 0, 200)
    assert learned_from == 199 - len(episodes) + (episodes[-1][0] == 199)
    assert result.learner().count_table.sum() == learned_from


def test_an_end_by_episodes_is_told_and_progress_follows_it() -> None:
    shares: list[tuple[float, int]] = []
    agent = dorax.TabularAgent(dorax.EpsilonGreedy(0.5))
    options = dorax.HostOptions(record_every=5, checkpoint_every=5, test_every=None)
    result = dorax.train(
        agent, BRIDGE, 12, seeds=2, host=options, progress=lambda share, steps: shares.append((share, steps))
    )
    assert result.data["return"].shape == (2, 12)
    assert np.isfinite(result.data["return"]).all()
    assert shares[-1] == (1.0, int(result.data.total_steps.sum()))
    assert shares == sorted(shares)
    assert any(0.1 < share < 0.4 for share, _ in shares)


def test_seeds_and_settings_side_by_side_are_the_runs_alone_in_the_order_given() -> None:
    agent = dorax.TabularAgent(dorax.EpsilonGreedy(0.5), dorax.EValues(0.9))
    settings, seeds = dorax.grid(epsilon=(0.9, 0.1, 0.5)), [4, 1]
    together = dorax.train(agent, BRIDGE, steps=120, seeds=seeds, settings=settings, learners=seeds, host=UNTESTED)
    assert together.data["return"].dims == ("setting", "seed", "episode")
    assert together.data.seed.values.tolist() == seeds
    assert together.data.setting.values.tolist() == ["epsilon=0.9", "epsilon=0.1", "epsilon=0.5"]
    for i, setting in enumerate(settings):
        for j, seed in enumerate(seeds):
            own = dorax.TabularAgent(dorax.EpsilonGreedy(setting["epsilon"]), dorax.EValues(0.9))
            alone = dorax.train(own, BRIDGE, steps=120, seeds=[seed], host=UNTESTED)
            for name in ("return", "length", "record_reward"):
                found = together.data[name].values[i, j]
                np.testing.assert_array_equal(found[np.isfinite(found)], alone.data[name].values[0])
            np.testing.assert_array_equal(together.learner(seed, i).q_table, alone.learner().q_table)


def test_records_and_tests_are_labelled() -> None:
    agent = dorax.TabularAgent(dorax.EpsilonGreedy(0.2))
    options = dorax.HostOptions(record_every=40, checkpoint_every=40, test_every=80, test_games=3, test_epsilon=0.0)
    data = dorax.train(agent, BRIDGE, steps=160, host=options).data
    np.testing.assert_array_equal(data.record_step.values[0], [40, 80, 120, 160])
    np.testing.assert_array_equal(data.test_step.values[0], [80, 160])
    assert data.test_return.shape == (1, 2, 3)
    assert all("long_name" in data[name].attrs for name in data.data_vars)


def continued(learner: Any, steps: int) -> Any:
    """A learner after some steps in an own loop."""
    env = gymnasium.make("CartPole-v1")
    observation, _ = env.reset(seed=5)
    for _ in range(steps):
        action = learner.act(observation)
        following, reward, terminated, truncated, _ = env.step(action)
        learner.observe(observation, action, float(reward), following, terminated, truncated)
        observation = env.reset()[0] if terminated or truncated else following
    return learner


@pytest.fixture(scope="module")
def deep_result() -> dorax.Result:
    return dorax.train(DEEP, CARTPOLE, steps=120, seeds=2, learners=2, host=UNTESTED)


def test_a_network_learns_in_cartpole(deep_result: dorax.Result) -> None:
    first, second = deep_result.learner(0), deep_result.learner(1)
    untrained = DEEP.learner(CARTPOLE.spec)
    here = np.zeros(4, np.float32)
    assert np.isfinite(first.q(here)).all()
    assert np.any(first.q(here) != second.q(here))
    assert np.any(first.counts(here) > untrained.counts(here))
    finite = np.isfinite(deep_result.data["length"])
    np.testing.assert_array_equal(deep_result.data["length"].where(finite), deep_result.data["return"])


def test_a_trained_network_keeps_its_replay_and_goes_on_the_same_saved_or_not(
    deep_result: dorax.Result, tmp_path: Path
) -> None:
    learner = deep_result.learner()
    resets = int(np.isfinite(deep_result.data["length"].values[0]).sum())
    assert int(learner.memory.replay.added) >= 119 - resets
    learner.save(tmp_path / "learner.npz")
    loaded = continued(dorax.load(tmp_path / "learner.npz"), 20)
    jax.tree.map(np.testing.assert_array_equal, continued(learner, 20).memory, loaded.memory)


def test_training_further_starts_from_what_was_learned(deep_result: dorax.Result) -> None:
    learner = deep_result.learner()
    added = int(learner.memory.replay.added)
    further = dorax.train(learner, CARTPOLE, steps=40, host=UNTESTED).learner()
    assert further.steps == 160
    assert int(further.memory.replay.added) > added


def test_tiles_learn_in_mountain_car() -> None:
    agent = dorax.LinearAgent(LLL, dorax.EValues(0.9))
    learner = dorax.train(agent, dorax.envs.GymnasiumEnv("MountainCar-v0"), steps=60, host=UNTESTED).learner()
    assert np.all(learner.counts(np.array([-0.5, 0.0], np.float32)) >= 0)
    assert np.any(learner.counts(np.array([-0.5, 0.0], np.float32)) > 0)


def test_an_interrupted_run_goes_on_from_its_folder(tmp_path: Path) -> None:
    options = dorax.HostOptions(record_every=20, checkpoint_every=20, test_every=None, folder=tmp_path)
    agent = dorax.TabularAgent(dorax.EpsilonGreedy(0.5))
    shorter = dorax.train(agent, BRIDGE, steps=60, host=options)
    longer = dorax.train(agent, BRIDGE, steps=100, host=options)
    np.testing.assert_array_equal(longer.data.record_step.values[0], [20, 40, 60, 80, 100])
    before = shorter.data.sizes["episode"]
    np.testing.assert_array_equal(longer.data["return"].values[0, :before], shorter.data["return"].values[0])
    assert longer.learner().count_table.sum() > shorter.learner().count_table.sum()


@pytest.mark.parametrize(
    "options",
    [{"until": 0.5}, {"maps": dorax.Maps((5,), 5)}, {"test_every": 2}, {"lanes": 4}, {"states": 20}, {"probes": [1]}],
    ids=lambda options: next(iter(options)),
)
def test_options_that_the_host_does_not_support_are_refused_in_one_line(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(InvalidInput, match=rf"^{name} is given with an environment outside JAX; .*host=HostOptions"):
        dorax.train(dorax.TabularAgent(LLL), BRIDGE, 5, **options)


def test_host_options_with_a_finite_mdp_are_refused() -> None:
    with pytest.raises(InvalidInput, match="host supports environments outside JAX") as caught:
        dorax.train(dorax.TabularAgent(LLL), dorax.mdps.bridge(3), 5, host=dorax.HostOptions())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("seeds", "settings"), [([0, 1], None), ([0], dorax.grid(temperature=(1.0, 2.0)))])
def test_a_folder_holds_one_run(seeds: Sequence[int], settings: Any, tmp_path: Path) -> None:
    options = dorax.HostOptions(folder=tmp_path / "run")
    with pytest.raises(InvalidInput, match="a folder supports one run"):
        dorax.train(dorax.TabularAgent(LLL), BRIDGE, 5, seeds, settings=settings, host=options)
    assert not (tmp_path / "run").exists()


def test_a_learner_of_another_environment_is_refused(refused: Any) -> None:
    learner = dorax.train(dorax.TabularAgent(LLL), dorax.mdps.bridge(3), 2).learner()
    with refused("trained on bridge(3)"):
        dorax.train(learner, BRIDGE, 2)


@pytest.mark.parametrize(
    ("agent", "env"),
    [
        (dorax.TabularAgent(LLL), CARTPOLE),
        (DEEP, BRIDGE),
        (dorax.AtariAgent(), CARTPOLE),
        (DEEP, dorax.envs.Atari("pong")),
    ],
    ids=["table in CartPole", "network on states", "Atari agent in CartPole", "network on the screen"],
)
def test_agents_that_do_not_fit_the_environment_are_refused(agent: Any, env: Any, refused: Any) -> None:
    with refused("the environment of a"):
        dorax.train(agent, env, 5)


@pytest.mark.parametrize(
    ("name", "words"),
    [("NoSuchGame-v0", "NoSuchGame-v0"), ("Pendulum-v1", "action space"), ("Blackjack-v1", "observation space")],
)
def test_environments_that_no_agent_can_learn_in_are_refused(name: str, words: str, refused: Any) -> None:
    with refused(words):
        dorax.envs.GymnasiumEnv(name)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"record_every": 0}, "record_every is 0"),
        ({"test_every": 0}, "test_every is 0"),
        ({"checkpoint_every": 15, "record_every": 10}, "checkpoint_every is 15"),
        ({"test_epsilon": 1.5}, "test_epsilon is 1.5"),
    ],
)
def test_host_options_that_cannot_be_are_refused(change: dict[str, Any], words: str, refused: Any) -> None:
    with refused(words):
        dorax.HostOptions(**change)
