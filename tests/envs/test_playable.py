"""Whatever can be learned in can be played: as a Gymnasium environment that steps as the original does."""

from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from dorax import mdps
from dorax.envs import SparseAcrobot, SparseMountainCar
from dorax.envs.acrobot import AcrobotState
from dorax.envs.finite import FiniteEnv
from dorax.envs.mountain_car import MountainCarState
from dorax.envs.playable import SimulatedEnv, playable

CAR, ANGLES, VECTOR = SparseMountainCar(), SparseAcrobot("angles"), SparseAcrobot()


def cart_pole():
    """Gymnax's environment and its parameters, and how its state is made of an observation."""
    gymnax = pytest.importorskip("gymnax")
    env, params = gymnax.make("CartPole-v1")
    _, state = env.reset_env(jax.random.key(0), params)

    def state_of(observation, time):
        x, speed, angle, turning = map(jnp.float32, observation)
        return state.replace(x=x, x_dot=speed, theta=angle, theta_dot=turning, time=jnp.int32(time))

    return env, params, state_of


def of_variables(kind):
    return lambda observation, time: kind(*map(jnp.float32, observation), time=jnp.int32(time))


def of_vector(observation, time):
    first_cos, first_sin, second_cos, second_sin, *velocities = observation
    angles = np.arctan2(first_sin, first_cos), np.arctan2(second_sin, second_cos)
    return AcrobotState(*map(jnp.float32, (*angles, *velocities)), time=jnp.int32(time))


FUNCTIONAL = {
    "car": lambda: (CAR, CAR.default_params, of_variables(MountainCarState)),
    "acrobot, angles": lambda: (ANGLES, ANGLES.default_params, of_variables(AcrobotState)),
    "acrobot, vector": lambda: (VECTOR, VECTOR.default_params, of_vector),
    "gymnax": cart_pole,
}
functional = pytest.mark.parametrize("make", FUNCTIONAL.values(), ids=FUNCTIONAL.keys())


@functional
def test_a_functional_environment_steps_as_it_does_by_itself(make):
    env, params, state_of = make()
    played, draw, step = playable(env), np.random.default_rng(0), jax.jit(env.step_env)
    assert isinstance(played.action_space, gymnasium.spaces.Discrete)
    observation, _ = played.reset(seed=1)
    time = 0
    for _ in range(80):
        action = int(draw.integers(played.action_space.n))
        state = state_of(observation, time)
        expected, _, reward, terminated, _ = step(jax.random.key(0), state, action, params)
        observation, *outcome, _ = played.step(action)
        np.testing.assert_allclose(observation, expected, rtol=1e-5, atol=2e-6)
        assert outcome == [float(reward), bool(terminated), False]
        assert [type(part) for part in outcome] == [float, bool, bool]
        time += 1
        if terminated:
            observation, _ = played.reset()
            time = 0


@functional
def test_a_functional_environment_keeps_gymnasium_s_contract(make):
    env, *_ = make()
    check_env(playable(env), skip_render_check=True)


@functional
def test_the_same_seed_gives_the_same_episode_and_another_one_another(make):
    env, *_ = make()

    def seen(seed):
        played = playable(env)
        return np.stack([played.reset(seed=seed)[0], *(played.step(1)[0] for _ in range(3)), played.reset()[0]])

    np.testing.assert_array_equal(seen(5), seen(5))
    assert (seen(5)[0] != seen(6)[0]).any()
    assert (seen(5)[0] != seen(5)[-1]).any()


def test_the_goal_of_the_car_is_reached_and_paid_and_ends_the_episode():
    played = playable(CAR)
    observation, _ = played.reset(seed=0)
    rewards, terminated = [], False
    while not terminated:
        observation, reward, terminated, truncated, _ = played.step(2 if observation[1] > 0 else 0)
        assert not truncated
        rewards.append(reward)
    assert observation[0] >= 0.5
    assert rewards == [0.0] * (len(rewards) - 1) + [1.0]


@functional
def test_an_episode_is_truncated_at_its_limit_and_the_next_has_all_its_time(make):
    env, params, _ = make()
    replaced = params._replace if hasattr(params, "_replace") else params.replace
    played = SimulatedEnv(env, replaced(max_steps_in_episode=5))
    for _ in range(2):
        played.reset(seed=0)
        ends = [played.step(i % 2)[2:4] for i in range(5)]
        assert ends == [(False, False)] * 4 + [(False, True)]


def test_an_end_at_the_limit_is_terminal_and_not_truncated():
    played = playable(CAR)
    observation, _ = played.reset(seed=0)
    length, terminated = 0, False
    while not terminated:
        observation, _, terminated, *_ = played.step(2 if observation[1] > 0 else 0)
        length += 1
    played = SimulatedEnv(CAR, CAR.default_params._replace(max_steps_in_episode=length))
    observation, _ = played.reset(seed=0)
    outcome = None
    for _ in range(length):
        observation, *outcome, _ = played.step(2 if observation[1] > 0 else 0)
    assert outcome == [1.0, True, False]


@pytest.mark.parametrize("mdp", [mdps.bridge(3), mdps.tree(3), mdps.from_gymnasium("FrozenLake-v1")])
def test_an_mdp_steps_as_its_table_says(mdp):
    played, draw = playable(mdp), np.random.default_rng(0)
    state, _ = played.reset(seed=0)
    for _ in range(100):
        action = int(draw.choice(np.flatnonzero(mdp.available[state])))
        arrived, reward, terminated, truncated, _ = played.step(action)
        is_here = mdp.successor[state, action] == arrived
        is_possible = is_here & (mdp.probability[state, action] > 0)
        assert (reward, terminated) in list(
            zip(mdp.reward[state, action][is_possible], mdp.terminal[state, action][is_possible], strict=True)
        )
        state = played.reset()[0] if terminated or truncated else arrived


def test_a_gymnasium_environment_is_played_as_it_is():
    env = gymnasium.make("FrozenLake-v1")
    assert playable(env) is env
    assert playable(env, render_mode="rgb_array") is env
    finite = FiniteEnv(mdps.bridge(3))
    assert playable(finite) is finite


@pytest.mark.parametrize("name", ["CartPole-v1", "FrozenLake-v1", "dorax/Bridge-v0", "dorax/SparseAcrobot-v0"])
def test_an_id_is_the_environment_of_that_name(name):
    played, expected = playable(name), gymnasium.make(name)
    assert played.spec is not None
    assert played.spec.id == name
    for env in (played, expected):
        env.action_space.seed(0)
    np.testing.assert_array_equal(played.reset(seed=3)[0], expected.reset(seed=3)[0])
    action = expected.action_space.sample()
    for ours, theirs in zip(played.step(action)[:4], expected.step(action)[:4], strict=True):
        np.testing.assert_array_equal(ours, theirs)


PLAYED = {
    "mdp": lambda: mdps.cliff(),
    "mdp without a drawing": lambda: mdps.from_gymnasium("Taxi-v4"),
    "id": lambda: "CartPole-v1",
    "our id": lambda: "dorax/SparseMountainCar-v0",
    "environment": lambda: gymnasium.make("FrozenLake-v1", render_mode="rgb_array"),
    **{name: lambda make=make: make()[0] for name, make in FUNCTIONAL.items()},
}


@pytest.mark.parametrize("make", PLAYED.values(), ids=PLAYED.keys())
def test_there_is_a_picture_of_every_step(make):
    played = playable(make(), render_mode="rgb_array")
    assert played.render_mode == "rgb_array"
    played.reset(seed=0)
    pictures: list[Any] = [played.render()]
    for action in (0, 1, 1, 1, 1, 1, 1, 1):
        played.step(action)
        pictures.append(played.render())
    for picture in pictures:
        assert picture.dtype == np.uint8
        assert picture.ndim == 3
        assert picture.shape == (*pictures[0].shape[:2], 3)
        assert len(np.unique(picture)) > 1
    assert any((picture != pictures[0]).any() for picture in pictures)


@pytest.mark.parametrize(("env", "name"), [(CAR, "MountainCar-v0"), (ANGLES, "Acrobot-v1"), (VECTOR, "Acrobot-v1")])
def test_ours_are_drawn_as_gymnasium_draws_its_own(env, name):
    played, theirs = playable(env, render_mode="rgb_array"), gymnasium.make(name, render_mode="rgb_array")
    theirs.reset(seed=0)
    theirs_inside: Any = theirs.unwrapped
    observation, _ = played.reset(seed=0)
    for action in (0, 0, 2, 0):
        observation = played.step(action)[0]
    state = np.asarray(of_vector(observation, 0)[:-1]) if env is VECTOR else observation
    theirs_inside.state = np.asarray(state, float)
    assert np.mean(played.render() != theirs.render()) < 1e-3  # rounding may move an edge by a pixel


def test_drawing_does_not_change_what_is_played():
    drawn, plain = playable(CAR, render_mode="rgb_array"), playable(CAR)
    for env in (drawn, plain):
        env.reset(seed=2)
    for action in (0, 2, 2, 1):
        drawn.render()
        np.testing.assert_array_equal(drawn.step(action)[0], plain.step(action)[0])


@pytest.mark.parametrize(
    "thing",
    [None, 3, [mdps.bridge(3)], SparseMountainCar, FiniteEnv, object(), lambda: 0, np.zeros((40, 40))],
    ids=lambda thing: type(thing).__name__,
)
def test_what_cannot_be_played_is_refused(thing, refused):
    with refused("the environment is", "a finite MDP"):
        playable(thing)


def test_environments_side_by_side_cannot_be_played(refused):
    with refused("the environment is"):
        playable(gymnasium.make_vec("CartPole-v1", 2))


@pytest.mark.parametrize("name", ["NoSuchThing-v0", "CartPole-v99", "no id", "", "nowhere/CartPole-v1"])
@pytest.mark.parametrize("render_mode", [None, "rgb_array"])
def test_an_unknown_id_is_refused(name, render_mode, refused):
    with refused(name):
        playable(name, render_mode=render_mode)
