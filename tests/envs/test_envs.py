"""Every registered environment keeps Gymnasium's contract, draws its visitor and is the MDP it was made of."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from dorax import mdps
from dorax.envs.finite import FiniteEnv

NAMES = sorted(name for name in gymnasium.registry if name.startswith("dorax/"))
CLASSICS = {"dorax/SparseMountainCar-v0": 1000, "dorax/SparseAcrobot-v0": 500}  # steps of an episode
WORLDS = [name for name in NAMES if name not in CLASSICS]
VISITOR = (216, 67, 21)


def trajectory(env, seed, steps=40):
    """States, rewards and ends of a random walk; the environment and its actions both drawn by `seed`."""
    env.action_space.seed(seed)
    seen = [env.reset(seed=seed)[0]]
    for _ in range(steps):
        state, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        seen += [state, reward, terminated, truncated]
        if terminated or truncated:
            seen.append(env.reset()[0])
    return seen


def test_the_worlds_of_the_paper_are_registered():
    assert {
        "dorax/Bridge-v0",
        "dorax/Tree-v0",
        "dorax/Cliff-v0",
        "dorax/DeepSea-v0",
        "dorax/RiverSwim-v0",
        *CLASSICS,
    } <= set(NAMES)


@pytest.mark.parametrize(
    ("name", "mode"),
    [(name, mode) for name in NAMES for mode in (None, "ansi", "rgb_array") if mode != "ansi" or name in WORLDS],
)
def test_every_environment_keeps_gymnasium_s_contract(name, mode, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")  # the contract has every render mode drawn, a window among them
    check_env(gymnasium.make(name, render_mode=mode).unwrapped)


@pytest.mark.parametrize("name", WORLDS)
def test_text_shows_the_visitor_once_and_where_it_stands(name):
    env = gymnasium.make(name, render_mode="ansi")
    state, _ = env.reset(seed=0)
    assert isinstance(env.unwrapped, FiniteEnv)
    layout = env.unwrapped.mdp.layout
    assert layout is not None
    for action in (0, 0):
        text = env.render()
        assert isinstance(text, str)
        rows = text.splitlines()
        row, column = layout.cells[state]
        assert "".join(rows).count("@") == 1
        assert rows[row][column] == "@"
        state = env.step(action)[0]


@pytest.mark.parametrize("name", WORLDS)
def test_an_image_shows_the_visitor_in_the_middle_of_its_cell_alone(name):
    env = gymnasium.make(name, render_mode="rgb_array")
    state, _ = env.reset(seed=0)
    assert isinstance(env.unwrapped, FiniteEnv)
    layout = env.unwrapped.mdp.layout
    assert layout is not None
    for action in (0, 0):
        image = env.render()
        assert isinstance(image, np.ndarray)
        height, width = len(layout.rows), len(layout.rows[0])
        cell = image.shape[0] // height
        assert image.shape == (cell * height, cell * width, 3)
        row, column = layout.cells[state]
        is_visitor = (image == VISITOR).all(axis=2)
        assert is_visitor[row * cell + cell // 2, column * cell + cell // 2]
        is_visitor[row * cell : (row + 1) * cell, column * cell : (column + 1) * cell] = False
        assert not is_visitor.any()
        state = env.step(action)[0]


def test_text_tells_the_action_that_led_here():
    env = gymnasium.make("dorax/Bridge-v0", length=3, render_mode="ansi")
    env.reset()
    env.step(1)
    assert env.render() == "#####\nxS@.G\n#####\n  (east)\n"


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_a_world_without_a_drawing_is_drawn_in_rows(mode):
    env = FiniteEnv(mdps.from_gymnasium("Taxi-v4"), render_mode=mode)
    env.reset(seed=0)
    picture = env.render()
    assert picture.count("@") == 1 if mode == "ansi" else (picture == VISITOR).all(axis=2).any()


@pytest.mark.parametrize("mdp", [mdps.bridge(4), mdps.cliff(), mdps.deep_sea(4), mdps.from_gymnasium("FrozenLake-v1")])
def test_an_mdp_survives_the_way_through_its_environment(mdp):
    back = mdps.from_gymnasium(FiniteEnv(mdp))
    for part in ("probability", "start", "available"):
        np.testing.assert_array_equal(getattr(back, part), getattr(mdp, part))
    for part in ("successor", "reward", "terminal"):
        np.testing.assert_array_equal(getattr(back, part)[mdp.probability > 0], getattr(mdp, part)[mdp.probability > 0])


@pytest.mark.parametrize("env", ["dorax/Bridge-v0", FiniteEnv(mdps.bridge())])
def test_its_time_limit_survives_too(env):
    assert mdps.from_gymnasium(env).max_steps == mdps.bridge().max_steps


def test_a_missing_action_leaves_the_state_unchanged_and_is_marked():
    env = gymnasium.make("dorax/Tree-v0", leaves=3)
    state, info = env.reset()
    assert info["action_mask"].tolist() == [1, 0, 0]
    assert env.step(2)[:4] == (state, 0.0, False, False)
    reached, *_, info = env.step(0)
    assert reached != state
    assert info["action_mask"].tolist() == [1, 1, 1]


def test_an_episode_is_truncated_at_the_time_limit_and_not_terminated():
    env = FiniteEnv(replace(mdps.cliff(), max_steps=5))
    for _ in range(2):
        env.reset()
        ends = [env.step(0)[2:4] for _ in range(5)]
        assert ends == [(False, False)] * 4 + [(False, True)]


def test_an_end_at_the_time_limit_is_terminal_and_not_truncated():
    env = FiniteEnv(replace(mdps.bridge(3), max_steps=3))
    env.reset()
    assert [env.step(1)[1:4] for _ in range(3)][-1] == (10.0, True, False)


@pytest.mark.parametrize("make", [lambda: gymnasium.make(NAMES[0]), lambda: FiniteEnv(mdps.from_gymnasium("Taxi-v4"))])
def test_the_same_seed_gives_the_same_trajectory(make):
    assert trajectory(make(), seed=5) == trajectory(make(), seed=5)


def test_another_seed_gives_another_trajectory():
    env = FiniteEnv(mdps.from_gymnasium("FrozenLake-v1"))
    assert trajectory(env, seed=5) != trajectory(env, seed=6)


def test_outcomes_come_with_their_probabilities():
    env = FiniteEnv(mdps.from_gymnasium("FrozenLake-v1"))
    env.reset(seed=0)
    first = [(env.reset(), env.step(2)[0])[1] for _ in range(3000)]
    # Going right from the corner slips up (stays), down to 4 or on to 1: a third each, three deviations 77.
    assert np.abs(np.bincount(first, minlength=5)[[0, 1, 4]] - 1000).max() < 77


def swinging(observation):
    """The action along the last velocity observed: it pumps energy in, and every classic reaches its goal."""
    return 2 if observation[-1] > 0 else 0


@pytest.mark.parametrize("name", CLASSICS)
def test_a_classic_is_gymnasium_s_own_but_pays_one_at_the_goal_and_nothing_before(name):
    env, plain = (
        gymnasium.make(name),
        gymnasium.make(name.replace("dorax/Sparse", "").replace("Acrobot-v0", "Acrobot-v1")),
    )
    observation, _ = env.reset(seed=3)
    np.testing.assert_array_equal(plain.reset(seed=3)[0], observation)
    rewards, terminated = [], False
    while not terminated:
        action = swinging(observation)
        observation, reward, terminated, truncated, _ = env.step(action)
        expected, _, expected_end, *_ = plain.step(action)
        np.testing.assert_array_equal(observation, expected)
        assert (terminated, truncated) == (expected_end, False)
        rewards.append(reward)
    assert rewards == [0.0] * (len(rewards) - 1) + [1.0]


@pytest.mark.parametrize(("name", "steps"), CLASSICS.items())
def test_a_classic_that_is_left_alone_is_truncated_unpaid(name, steps):
    env = gymnasium.make(name)
    env.reset(seed=0)
    outcomes = [env.step(1)[1:4] for _ in range(steps)]
    assert outcomes == [(0.0, False, False)] * (steps - 1) + [(0.0, False, True)]
