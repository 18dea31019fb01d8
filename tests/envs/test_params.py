"""Functional environments with other default parameters."""

import jax
import numpy as np
import pytest

from dorax.envs import SparseMountainCar, from_gymnax, with_params
from dorax.envs.playable import SimulatedEnv, playable
from dorax.envs.simulation import environments

CAR = SparseMountainCar()
SHORT = with_params(CAR, max_steps_in_episode=3)


def steps_of_an_episode(env):
    played = playable(env)
    played.reset(seed=0)
    for steps in range(1, 10):
        _, _, terminated, truncated, _ = played.step(1)
        assert not terminated
        if truncated:
            return steps
    return None


def test_an_episode_lasts_as_long_as_the_limit_says():
    assert steps_of_an_episode(SHORT) == 3
    assert steps_of_an_episode(with_params(SHORT, max_steps_in_episode=5)) == 5
    assert steps_of_an_episode(CAR) is None


def test_all_else_is_the_environment_s_own():
    assert SHORT.name == CAR.name == "SparseMountainCar"
    assert SHORT.num_actions == 3
    for ours, expected in zip(SHORT.reset(jax.random.key(3)), CAR.reset(jax.random.key(3)), strict=True):
        np.testing.assert_array_equal(ours, expected)
    _, state = CAR.reset(jax.random.key(3))
    for env, truncated in ((SHORT, True), (CAR, False)):
        assert bool(env.step(jax.random.key(0), state._replace(time=2), 1)[4]) is truncated


def test_other_parameters_are_the_same_program():
    one, other, own = (environments(env, None, 1).shared for env in (SHORT, with_params(CAR, gravity=0.0), CAR))
    assert jax.tree.structure(one) == jax.tree.structure(other) == jax.tree.structure(own)
    assert environments([SHORT, CAR], None, 2).own.params.max_steps_in_episode.tolist() == [3, 1000]


def test_environments_of_gymnax_have_parameters_too():
    pytest.importorskip("gymnax")
    assert steps_of_an_episode(with_params(from_gymnax("Freeway-MinAtar"), max_steps_in_episode=4)) == 4


def test_the_car_is_still_drawn_as_a_car():
    drawn = [SimulatedEnv(env, render_mode="rgb_array") for env in (SHORT, CAR)]
    for env in drawn:
        env.reset(seed=0)
    np.testing.assert_array_equal(drawn[0].render(), drawn[1].render())


def test_an_unknown_parameter_is_named(refused):
    with refused("'max_step'", "SparseMountainCar", "gravity, max_steps_in_episode"):
        with_params(CAR, max_step=3)
