"""One name for training: each agent in its world, and one clear line for what does not fit together."""

from unittest import mock

import gymnasium
import pytest

import dorax
from dorax import training

RULE = dorax.LLL(dorax.Softmax(1.0))
TABULAR, LINEAR, DEEP = (
    dorax.TabularAgent(RULE),
    dorax.LinearAgent(RULE, dorax.CountE()),
    dorax.DeepAgent(RULE, dorax.CountE()),
)
BRIDGE, CAR = dorax.mdps.bridge(3), dorax.envs.SparseMountainCar()


@pytest.mark.parametrize("agent", [LINEAR, DEEP], ids=["tiles", "networks"])
def test_tiles_and_networks_are_trained_in_functional_environments(agent):
    with mock.patch.object(training, "train_in_environment", return_value="trained") as train:
        assert dorax.train(agent, CAR, 7, seeds=3, max_steps=5, test_every=2) == "trained"
    train.assert_called_once_with(agent, CAR, 7, 3, max_steps=5, test_every=2)


def test_tables_are_trained_on_finite_mdps():
    with mock.patch.object(training.tabular, "train", return_value="trained") as train:
        assert dorax.train(TABULAR, BRIDGE, 7, seeds=[2, 4], tables=True) == "trained"
    train.assert_called_once_with(TABULAR, BRIDGE, 7, [2, 4], tables=True)


@pytest.mark.parametrize(
    ("agent", "world", "words"),
    [
        (TABULAR, CAR, ["the world of a TabularAgent is SparseMountainCar()", "a finite MDP"]),
        (TABULAR, None, ["the world of a TabularAgent is None"]),
        (TABULAR, "CliffWalking-v1", ["'CliffWalking-v1'"]),
        (LINEAR, None, ["the world of a LinearAgent is None", "a functional environment"]),
        (LINEAR, "MountainCar-v0", ["'MountainCar-v0'"]),
        (LINEAR, (CAR, CAR.default_params), ["the world of a LinearAgent is (SparseMountainCar"]),
        (DEEP, gymnasium.make("CartPole-v1"), ["the world of a DeepAgent is <", "CartPole-v1"]),
        (None, CAR, ["agent is None", "a TabularAgent, a LinearAgent or a DeepAgent"]),
        ("LLL", BRIDGE, ["agent is 'LLL'"]),
        (RULE, BRIDGE, ["agent is LLL"]),
        (BRIDGE.name, LINEAR, ["agent is 'bridge(3)'"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_agent_and_a_world_that_do_not_fit_are_refused(agent, world, words, refused):
    with refused(*words):
        dorax.train(agent, world, 5)


@pytest.mark.parametrize("agent", [LINEAR, DEEP], ids=["tiles", "networks"])
def test_a_finite_mdp_is_no_world_for_tiles_or_networks(agent, refused):
    with refused("bridge(3)"):
        dorax.train(agent, BRIDGE, 5)


def test_agent_and_world_in_the_wrong_order_are_refused(refused):
    with refused("agent is"):
        dorax.train(BRIDGE, TABULAR, 5)


@pytest.mark.parametrize(("agent", "world"), [(dorax.LinearAgent, CAR), (LINEAR, type(CAR))], ids=["agent", "world"])
def test_a_class_is_neither_an_agent_nor_a_world(agent, world, refused):
    with refused(""):
        dorax.train(agent, world, 5)
