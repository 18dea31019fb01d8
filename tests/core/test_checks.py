"""Bad input is answered by one line that names the value and what is allowed."""

import math

import numpy as np
import pytest

import dorax

RULE = dorax.LLL(dorax.Softmax(1.0))
BAD_RATES = [0.0, 1.0, -0.1, 1.5, math.nan, math.inf]
BAD_DISCOUNTS = [-0.1, 1.0, 1.5, math.nan]
BAD_PROBABILITIES = [-0.01, 1.01, math.nan]
BAD_SIZES = [-1.0, math.nan, math.inf]


@pytest.mark.parametrize(
    ("make", "bad", "name"),
    [
        (lambda x: dorax.TabularAgent(RULE, learning_rate=x), BAD_RATES, "learning_rate"),
        (lambda x: dorax.EValues(0.9, learning_rate=x), BAD_RATES, "exploration learning rate"),
        (lambda x: dorax.TabularAgent(RULE, discount=x), BAD_DISCOUNTS, "discount"),
        (lambda x: dorax.EValues(discount=x), BAD_DISCOUNTS, "exploration discount"),
        (lambda x: dorax.mdps.bridge(3).optimal_q(x), BAD_DISCOUNTS, "discount"),
        (dorax.EpsilonGreedy, BAD_PROBABILITIES, "epsilon"),
        (dorax.Softmax, BAD_SIZES, "temperature"),
        (dorax.UCB, BAD_SIZES, "scale of UCB"),
        (dorax.InverseCount, [math.nan, math.inf], "scale of the bonus"),
        (dorax.InverseRootCount, [math.nan, -math.inf], "scale of the bonus"),
        (dorax.InverseRootLogE, [math.nan, math.inf], "scale of the bonus"),
        (dorax.QLearning, [math.nan, math.inf], "initial value"),
        (lambda x: dorax.DelayedQLearning(patience=x), [0.0, 0.5, math.nan], "patience"),
        (lambda x: dorax.DelayedQLearning(slack=x), [-0.01, math.nan], "slack"),
    ],
)
def test_a_number_outside_its_range_is_named(make, bad, name, refused):
    for value in bad:
        with refused(name, f" is {value};"):
            make(value)


@pytest.mark.parametrize("value", [None, "hot", [None], True])
def test_what_is_no_number_is_named(value, refused):
    with refused("temperature", repr(value)):
        dorax.Softmax(value)


def test_the_bad_one_of_several_numbers_is_named(refused):
    with refused("epsilon", " is 1.5;"):
        dorax.EpsilonGreedy(np.array([0.1, 1.5, 0.2]))


def test_limits_of_the_ranges_are_allowed():
    assert [dorax.EpsilonGreedy(epsilon).epsilon for epsilon in (0.0, 1.0, 1)] == [0, 1, 1]
    assert dorax.Softmax(0.0).temperature == dorax.UCB(0.0).scale == dorax.EValues(discount=0.0).discount == 0
    assert dorax.TabularAgent(RULE, discount=0.0).discount == 0


@pytest.mark.parametrize("successor_rule", ["mean", None])
def test_an_unknown_successor_rule_is_named(successor_rule, refused):
    with refused(repr(successor_rule), "'sarsa'", "'max'"):
        dorax.EValues(0.9, successor_rule=successor_rule)


@pytest.mark.parametrize("rule", [None, "softmax", 0.1])
def test_a_rule_that_cannot_be_called_is_named(rule, refused):
    with refused("rule", repr(rule)):
        dorax.TabularAgent(rule)


@pytest.mark.parametrize("bonus", ["novelty", 0.1, dorax.InverseCount])
def test_a_bonus_that_cannot_be_called_is_named(bonus, refused):
    with refused("bonus is", "InverseCount()"):
        dorax.TabularAgent(rule=dorax.Softmax(1.0), bonus=bonus)
