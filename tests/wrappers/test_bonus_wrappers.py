"""What holds for every bonus around every kind of environment, and the numbers of RND and NovelD."""

import inspect
import pickle
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import dorax
from dorax.agents.explorers import RND
from dorax.wrappers.novelty import PredictedNovelty
from dorax.wrappers.source import Visit

NETWORKS: dict[str, Any] = {"warm_up": 4, "batch_size": 8, "width": 8, "outputs": 4}
WORDS: dict[str, dict[str, Any]] = {"EValue": {}, "Count": {}, "RND": NETWORKS, "NovelD": NETWORKS}


class Line(gymnasium.Env[Any, Any]):
    """Action 0 and 1 step to the left and to the right; ends after so many steps. The reward is 1."""

    action_space: spaces.Space[Any] = spaces.Discrete(2)

    def __init__(self, length=5, ending="terminated", is_box=False):
        self.length, self.ending, self.is_box, self.at, self.steps = length, ending, is_box, 0, 0
        self.observation_space: spaces.Space[Any] = spaces.Box(-1, 1, (2,)) if is_box else spaces.Discrete(8)

    def reset(self, *, seed=None, options=None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.at = self.steps = 0
        return self._seen(), {}

    def step(self, action) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at, self.steps = min(max(self.at + 2 * int(action) - 1, 0), 7), self.steps + 1
        is_over = self.steps == self.length
        ends = is_over and self.ending == "terminated", is_over and self.ending == "truncated"
        return self._seen(), 1.0, *ends, {}

    def _seen(self):
        return np.array([self.at / 7, 0.5], np.float32) if self.is_box else self.at


def single(word, *, line=Line, **options):
    return getattr(dorax, f"{word}Bonus")(line(), **WORDS[word] | options)


def vector(word, *, lengths=(3, 5), ending="terminated", mode=AutoresetMode.NEXT_STEP, is_box=False, **options):
    envs = SyncVectorEnv([lambda n=n: Line(n, ending, is_box) for n in lengths], autoreset_mode=mode)
    return getattr(dorax, f"Vector{word}Bonus")(envs, **WORDS[word] | options)


def walk(env, steps=40, seed=0):
    """Take random actions; return the infos."""
    random, infos, is_over = np.random.default_rng(seed), [], False
    env.reset(seed=0)
    for _ in range(steps):
        # Not by the metadata: vectors write into what all environments share.
        if np.any(is_over) and isinstance(env, gymnasium.Env):
            env.reset()
        action = random.integers(2, size=getattr(env, "num_envs", None))
        _, reward, terminated, truncated, info = env.step(action)
        is_over = terminated | truncated
        infos.append(info | {"reward": reward})
    env.reset()
    return infos


def numbers(infos, name):
    return np.array([info[name] for info in infos])


@pytest.mark.parametrize("make", [single, vector])
@pytest.mark.parametrize("word", WORDS)
def test_every_bonus_is_added_and_saved_and_switched_off_and_diagnosed(word, make, tmp_path):
    env, again = make(word, scale=0.5), make(word, scale=0.5)
    infos = walk(env)
    paid, basis = numbers(infos, "bonus"), numbers(infos, env.exploration.basis)
    assert (paid >= 0).all()
    assert paid.any()
    assert np.isfinite(basis).all()
    np.testing.assert_allclose(numbers(infos, "reward"), numbers(infos, "true_reward") + paid)

    diagnosis = dorax.diagnose(env)
    assert diagnosis.step[-1] == env.exploration.steps > 0
    assert diagnosis.bonus @ np.diff(diagnosis.step, prepend=0) == pytest.approx(paid.sum())
    assert "a scale to start from" in str(diagnosis)

    env.exploration.save(tmp_path / "bonus.npz")
    with env.exploration.off():
        infos = walk(env, seed=1)
        assert not numbers(infos, "bonus").any()
        np.testing.assert_array_equal(numbers(infos, "reward"), numbers(infos, "true_reward"))
        env.exploration.save(tmp_path / "after.npz")
    with np.load(tmp_path / "bonus.npz") as before, np.load(tmp_path / "after.npz") as after:
        assert set(before.files) == set(after.files)
        for name in before.files:
            np.testing.assert_array_equal(before[name], after[name])

    again.exploration.load(tmp_path / "bonus.npz")
    ours, theirs = walk(env, seed=2), walk(again, seed=2)
    np.testing.assert_array_equal(numbers(ours, "bonus"), numbers(theirs, "bonus"))
    assert env.exploration.history.rows() == again.exploration.history.rows()


@pytest.mark.parametrize("make", [single, vector])
@pytest.mark.parametrize("word", WORDS)
def test_an_agent_may_get_the_bonus_alone(word, make):
    env, both = make(word, reward="intrinsic"), make(word)
    infos = walk(env)
    np.testing.assert_array_equal(numbers(infos, "reward"), numbers(infos, "bonus"))
    np.testing.assert_array_equal(numbers(infos, "bonus"), numbers(walk(both), "bonus"))
    assert numbers(infos, "true_reward").any()
    with env.exploration.off():
        infos = walk(env)
        np.testing.assert_array_equal(numbers(infos, "reward"), numbers(infos, "true_reward"))


def test_what_an_agent_may_get_is_checked(refused):
    with refused("reward is 'none'; allowed: 'both', 'intrinsic'"):
        dorax.RNDBonus(Line(), reward="none")  # pyright: ignore[reportArgumentType]  # what is refused


@pytest.mark.parametrize("ending", ["terminated", "truncated"])
@pytest.mark.parametrize("word", WORDS)
def test_every_autoreset_mode_pays_the_same_for_the_same_visits(word, ending):
    """Environments of one length begin together, so all modes visit the same."""
    bonuses = []
    for mode in AutoresetMode:
        env = vector(word, lengths=(3, 3), ending=ending, mode=mode)
        env.reset(seed=0)
        found, is_over = [], np.zeros(2, bool)
        for step in range(6):
            if is_over.all() and mode is AutoresetMode.DISABLED:
                env.reset()
            elif is_over.all() and mode is AutoresetMode.NEXT_STEP:
                infos = env.step(np.array([1, 0]))[4]
                assert not infos["bonus"].any()
                assert not infos["_bonus"].any()
            _, _, terminated, truncated, infos = env.step(np.array([1, step % 2]))
            is_over = terminated | truncated
            assert infos["_bonus"].all()
            found.append(infos["bonus"])
        bonuses.append(found)
    np.testing.assert_array_equal(bonuses[0], bonuses[1])
    np.testing.assert_array_equal(bonuses[0], bonuses[2])


@pytest.mark.parametrize("word", WORDS)
def test_the_kinds_of_environments_have_the_same_options(word):
    one, several = (inspect.signature(getattr(dorax, f"{kind}{word}Bonus")).parameters for kind in ("", "Vector"))
    assert one == several
    assert not [each for each in one.values() if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]


@pytest.mark.parametrize("word", WORDS)
def test_a_wrapped_environment_can_be_pickled_and_made_again_from_its_spec(word):
    env = getattr(dorax, f"{word}Bonus")(gymnasium.make("FrozenLake-v1"), scale=0.5)
    again: Any = gymnasium.make(env.spec)
    assert type(again) is type(env)
    assert again.exploration.scale == 0.5
    env.reset(seed=0)
    env.step(1)
    sent = pickle.loads(pickle.dumps(env))
    assert sent.step(1)[4]["bonus"] == env.step(1)[4]["bonus"]


def test_a_file_of_another_bonus_is_refused(tmp_path, refused):
    path = tmp_path / "bonus.npz"
    env = single("RND")
    env.exploration.save(path)
    with refused("holds a predictor; allowed: a saved exploration"):
        single("EValue").exploration.load(path)
    with refused("was saved for bonus: RND("):
        single("NovelD").exploration.load(path)
    with refused("was saved for environments: 1"):
        vector("RND").exploration.load(path)


def test_a_step_before_an_episode_or_without_a_finite_reward_is_refused(refused):
    exploration = single("RND").exploration
    with refused("environment 0 has no episode"):
        exploration.visit(0, 0.0, 1, False, False)
    exploration.begin(0)
    with refused("the reward is nan"):
        exploration.visit(0, np.nan, 1, False, False)


def test_predictors_need_no_discrete_actions():
    env = dorax.RNDBonus(gymnasium.make("Pendulum-v1"), **NETWORKS)
    env.reset(seed=0)
    bonuses = [env.step(np.zeros(1, np.float32))[4]["bonus"] for _ in range(8)]
    assert not any(bonuses[:4])
    assert all(bonuses[4:])


def test_rnd_is_normalised_as_its_authors_do():
    """Against running statistics of all numbers so far, and the networks written in NumPy."""
    options = {"learning_rate": 0.0, "warm_up": 4, "width": 8, "outputs": 4}
    exploration = PredictedNovelty(spaces.Box(-np.inf, np.inf, (3,)), 2, RND(**options), scale=2.0, batch_size=4)
    random, scale = np.random.default_rng(0), np.array([1.0, 10.0, 0.1])
    target, predictor = jax.tree.map(np.array, (exploration._state.target, exploration._state.predictor))
    seen, sums, returns = np.zeros((0, 3)), np.zeros(2), np.zeros((0, 2))
    for i in (0, 1):
        exploration.begin(np.zeros(3), i)
    for step in range(20):
        x = random.standard_normal((2, 3)) * scale
        found = exploration.visit_all([Visit(0, 0.0, x[i], False, False, i) for i in (0, 1)])
        if step:
            z = np.clip((x - seen.mean(axis=0)) / np.sqrt(seen.var(axis=0) + 1e-8), -5, 5)
            error = ((outputs(target, z) - outputs(predictor, z)) ** 2).mean(axis=1)
            np.testing.assert_allclose([novelty for _, novelty in found], error, rtol=1e-3)
        sums = 0.99 * sums + [novelty for _, novelty in found]
        seen, returns = np.vstack([seen, x]), np.vstack([returns, sums])
        expected = 2.0 * np.array([novelty for _, novelty in found]) / np.sqrt(returns.var() + 1e-8) * (step >= 2)
        np.testing.assert_allclose([bonus for bonus, _ in found], expected, rtol=1e-3)


def outputs(layers, x):
    """A rectified network with layer norm before each activation."""
    x = np.c_[x, np.ones(len(x))]
    for weight, bias, gain in layers[:-1]:
        x = x @ weight
        x = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
        x = np.maximum(x * gain + bias, 0)
    return x @ layers[-1].weight + layers[-1].bias


def test_the_predictor_learns_what_it_has_seen():
    env = dorax.RNDBonus(Line(), **NETWORKS, learning_rate=1e-2)
    walk(env, 400)
    with env.exploration.off():
        env.reset()
        known = env.step(1)[4]["novelty"]
        env.exploration.begin(0)
        unknown = env.exploration.visit(0, 0.0, 7, False, False)[1]
    assert known < 0.1 * unknown


@pytest.mark.parametrize("is_box", [False, True])
def test_noveld_pays_for_the_first_visit_of_an_episode_alone(is_box):
    """Back and forth between two states: only the first step leads to one that is new."""
    options = {**NETWORKS, "warm_up": 2, "learning_rate": 0.0, "discount": 0.0}
    env = dorax.NovelDBonus(Line(100, is_box=is_box), **options)
    walked = []
    for _ in range(3):
        env.reset()
        walked.append([env.step(action)[4]["bonus"] > 0 for action in (1, 0, 1, 1, 0, 1)])
    # The start is not new, and the state to its right is new once, as is the next.
    assert walked[0][2:] == [False, True, False, False]  # after the warm-up
    assert walked[1:] == [[True, False, False, True, False, False]] * 2


def test_noveld_subtracts_a_share_of_the_novelty_of_the_state_before():
    options = {**NETWORKS, "warm_up": 2, "learning_rate": 0.0}
    env = dorax.NovelDBonus(Line(100), **options, discount=0.5)
    env.reset()
    infos = [env.step(action)[4] for action in (0, 0, 0, 1, 1, 1)]  # 0, 0, 0, 1, 2, 3
    novelty = numbers(infos, "novelty")
    expected, total, totals = [], 0.0, []
    for step in range(6):
        gain = max(novelty[step] - 0.5 * novelty[max(step - 1, 0)], 0.0) if step >= 3 else 0.0
        total = 0.99 * total + gain
        totals.append(total)
        expected.append(gain / np.sqrt(np.var(totals) + 1e-8) if step >= 2 else 0.0)
    np.testing.assert_allclose(numbers(infos, "bonus"), expected, rtol=1e-4)


def test_an_episode_that_is_cut_off_by_a_reset_ends():
    options = {**NETWORKS, "warm_up": 2, "learning_rate": 0.0, "discount": 0.0}
    env = dorax.NovelDBonus(Line(100), **options)
    bonuses = []
    for _ in range(3):
        env.reset()
        bonuses.append(env.step(1)[4]["bonus"])
    assert bonuses[-1] > 0


def test_a_scale_is_suggested_by_the_deviation_of_returns():
    """Rewards of 1 or 0 and bonuses of 1 or 0 at random: their returns vary alike."""
    exploration = dorax.Exploration(spaces.Discrete(1), spaces.Discrete(1), bonus=lambda count, rate: next(bonuses))
    random = np.random.default_rng(0)
    bonuses = iter(random.integers(2, size=20_000).astype(float))
    for reward in random.integers(2, size=20_000):
        exploration.begin(0)
        exploration.visit(0, float(reward), 0, True, False)
    assert dorax.diagnose(exploration).suggested_scale == pytest.approx(0.1, rel=0.2)


@pytest.mark.parametrize("reward", [0.0, -1.0])
def test_where_rewards_are_all_the_same_they_are_taken_to_vary_by_one(reward):
    exploration = dorax.Exploration(spaces.Discrete(1), spaces.Discrete(1), bonus=lambda count, rate: next(bonuses))
    bonuses = iter(np.random.default_rng(0).integers(2, size=20_000).astype(float))
    for _ in range(20_000):
        exploration.begin(0)
        exploration.visit(0, reward, 0, True, False)
    expected = 0.1 / np.sqrt(0.25 / (1 - 0.99**2))
    assert dorax.diagnose(exploration).suggested_scale == pytest.approx(expected, rel=0.2)
