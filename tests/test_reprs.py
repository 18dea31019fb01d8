"""What agents, MDPs, learners and results look like at a prompt."""

import numpy as np
import pytest

import dorax
from dorax.engine.describing import words_of

LLL = dorax.LLL(dorax.Softmax(3.0))


@pytest.mark.parametrize(
    ("thing", "expected"),
    [
        (dorax.mdps.deep_sea(10), "deep_sea(10, 0): 100 states, 2 actions"),
        (dorax.TabularAgent(LLL, dorax.EValues(0.9)), "TabularAgent(rule=LLL(Softmax(3.0)), counter=EValues(0.9))"),
        (
            dorax.TabularAgent(LLL, learning_rate=np.array([0.1, 0.2]), bonus=dorax.InverseRootLogE(0.1, floor=0.01)),
            "TabularAgent(rule=LLL(Softmax(3.0)), bonus=InverseRootLogE(0.1, floor=0.01), learning_rate=[0.1, 0.2])",
        ),
        (
            dorax.TabularAgent(LLL, dorax.Visits(), learning_rate=np.linspace(0.1, 0.9, 50)),
            "TabularAgent(rule=LLL(Softmax(3.0)), learning_rate=<50 numbers>)",
        ),
        (
            dorax.LinearAgent(LLL, dorax.EValues(0.8, features=dorax.HashedCodes())),
            "LinearAgent(rule=LLL(Softmax(3.0)), counter=EValues(0.8, features=HashedCodes()))",
        ),
        (
            dorax.ParallelAgent(dorax.Sample(dorax.EpsilonGreedy(dorax.Spread(0.1, 0.2))), games=8),
            "ParallelAgent(rule=Sample(EpsilonGreedy(Spread(0.1, 0.2))), games=8)",
        ),
        (dorax.Tiles(tilings=4), "Tiles(tilings=4)"),
        (dorax.envs.DenseView(dorax.mdps.bridge(3)), "DenseView(mdp=bridge(3): 3 states, 4 actions)"),
    ],
)
def test_a_repr_is_what_one_would_type_without_defaults(thing, expected):
    assert repr(thing) == expected


def test_what_is_saved_with_a_learner_does_not_follow_the_repr():
    agent = dorax.TabularAgent(LLL, dorax.EValues(0.9))
    expected = "TabularAgent( rule=LLL(policy=Softmax(temperature=3.0)), counter=EValues(discount=0.9) )"
    assert words_of(agent) == expected


def test_results_and_learners_say_what_they_are():
    agent, mdp = dorax.TabularAgent(LLL, dorax.EValues(0.9)), dorax.mdps.bridge(3)
    result = dorax.train(agent, mdp, 4, seeds=2)
    expected = f"2 seeds of {agent} in {mdp.name}; data: episode 4; learners of seeds: 0"
    assert repr(result) == f"Result: {expected}"
    learner = result.learner()
    assert repr(learner) == f"Learner of {agent}, {learner.steps} steps, in {mdp.name}"
    assert "available" not in repr(result.spec)
    settings = dorax.grid(learning_rate=[0.1, 0.5])
    sweep = dorax.train(agent, mdp, 4, seeds=1, settings=settings, learners=[])
    assert repr(sweep) == f"Result: 1 seed × 2 settings in {mdp.name}; data: episode 4; learners of seeds: none"
