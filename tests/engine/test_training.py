"""Training: one clear line for what does not fit together."""

from typing import Any

import gymnasium
import pytest

import dorax

RULE = dorax.LLL(dorax.Softmax(1.0))
TABULAR, LINEAR, DEEP = (
    dorax.TabularAgent(RULE),
    dorax.LinearAgent(RULE, dorax.EValues()),
    dorax.DeepAgent(RULE, dorax.EValues()),
)
BRIDGE, CAR = dorax.mdps.bridge(3), dorax.envs.SparseMountainCar()


@pytest.mark.parametrize(
    ("agent", "world", "words"),
    [
        (TABULAR, CAR, ["the environment of a TabularAgent is SparseMountainCar()", "a finite MDP"]),
        (TABULAR, None, ["the environment of a TabularAgent is None"]),
        (TABULAR, "CliffWalking-v1", ["'CliffWalking-v1'", "mdps.from_gymnasium"]),
        (LINEAR, None, ["the environment of a LinearAgent is None", "a functional environment"]),
        (LINEAR, "MountainCar-v0", ["'MountainCar-v0'"]),
        (LINEAR, (CAR, CAR.default_params), ["the environment of a LinearAgent is (SparseMountainCar"]),
        (DEEP, gymnasium.make("CartPole-v1"), ["the environment of a DeepAgent is <", "CartPole-v1"]),
        (None, CAR, ["agent is None", "DeepAgent, ParallelAgent or AtariAgent, or a learner"]),
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


@pytest.mark.parametrize("agent", [dorax.TabularAgent, dorax.LinearAgent, dorax.DeepAgent, dorax.AtariAgent])
def test_a_rule_whose_numbers_differ_between_games_is_for_agents_with_many_games(agent, refused):
    with refused("with a Spread; allowed: a Spread in the rule of a ParallelAgent"):
        agent(dorax.EpsilonGreedy(dorax.Spread(0.01, 0.4)))


def test_agent_and_world_in_the_wrong_order_are_refused(refused):
    with refused("agent is"):
        dorax.train(BRIDGE, TABULAR, 5)


@pytest.mark.parametrize(("agent", "world"), [(dorax.LinearAgent, CAR), (LINEAR, type(CAR))], ids=["agent", "world"])
def test_a_class_is_neither_an_agent_nor_a_world(agent, world, refused):
    with refused(""):
        dorax.train(agent, world, 5)


@pytest.mark.parametrize(
    ("agent", "env", "options", "words"),
    [
        (LINEAR, CAR, {"until": 0.1}, "until supports tables"),
        (LINEAR, CAR, {"states": 100}, "states pads finite MDPs"),
        (TABULAR, BRIDGE, {"params": CAR.default_params}, "params are those of functional environments"),
        (TABULAR, BRIDGE, {"maps": dorax.Maps((5, 5), 2)}, "maps supports environments with vector observations"),
        (LINEAR, CAR, {"maps": (5, 5)}, "Maps"),
        (TABULAR, BRIDGE, {"episodes": None}, "neither episodes nor steps"),
        (TABULAR, BRIDGE, {"learners": [7]}, "some of the seeds"),
        (TABULAR, [BRIDGE, BRIDGE], {"seeds": 3}, "one for each of 3 seeds"),
        (TABULAR, [BRIDGE, dorax.mdps.cliff()], {"seeds": 2}, "differ in kind or size"),
    ],
    ids=str,
)
def test_an_option_that_an_agent_does_not_support_is_refused_in_one_line(agent, env, options, words):
    with pytest.raises(dorax.InvalidInput, match=words) as caught:
        dorax.train(**{"agent": agent, "env": env, "episodes": 5} | options)
    assert "\n" not in str(caught.value)


def test_an_option_that_nobody_knows_is_an_error():
    with pytest.raises(TypeError, match="tables"):
        dorax.train(TABULAR, BRIDGE, 5, tables=True)  # pyright: ignore[reportCallIssue]  # what is refused


def test_progress_that_cannot_be_called_is_refused(refused):
    agent: Any = dorax.TabularAgent(dorax.Sample(dorax.Softmax(1.0)))
    progress: Any = True
    with refused("progress is True; allowed: a function of the fraction done"):
        dorax.train(agent, dorax.mdps.bridge(3), 1, progress=progress)
