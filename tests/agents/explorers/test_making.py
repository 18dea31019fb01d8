"""Explorers of one's own."""

import equinox as eqx
import jax.numpy as jnp
import pytest

import dorax
from dorax.agents.explorers.making import check_explorers, explorers_of
from dorax.agents.explorers.protocol import Look
from dorax.agents.value_network import Inputs

SOFTMAX = dorax.LLL(dorax.Softmax(0.1))


class Nothing(eqx.Module):
    """An explorer that learns nothing."""

    label: str = eqx.field(static=True)

    def init(self, key):
        return None

    def look(self, state, x):
        return Look(x, jnp.zeros((len(x), 2)) if self.label == "counter" else None)

    def are_same(self, features):
        return jnp.eye(len(features), dtype=bool)

    def observe(self, state, visited):
        return state, jnp.zeros(len(visited.action)), None

    def update(self, state, rows, key, learns):
        return state


class Own(eqx.Module):
    """Its description."""

    label: str = eqx.field(static=True)

    def explorer(self, inputs, actions, games):
        assert (inputs.size, actions, games) == (4, 2, 8)
        return Nothing(self.label)


def test_the_explorer_of_a_counter_of_ones_own_comes_before_that_of_a_bonus():
    made = explorers_of(Own("counter"), Own("bonus"), Inputs(4, is_finite=True), 2, 8)
    assert made == (Nothing("counter"), Nothing("bonus"))
    dorax.ParallelAgent(SOFTMAX, counter=Own("counter"), bonus=Own("bonus"), novelty_discount=0.9)


def test_a_bonus_of_ones_own_needs_no_counter_and_a_rule_by_counts_does():
    dorax.ParallelAgent(dorax.EpsilonGreedy(0.1), bonus=Own("bonus"))
    with pytest.raises(dorax.InvalidInput, match="LLL without a counter"):
        dorax.ParallelAgent(SOFTMAX, bonus=Own("bonus"))


def test_a_bonus_of_counts_needs_a_counter_whose_counts_it_can_read():
    with pytest.raises(dorax.InvalidInput, match="with a counter of your own"):
        check_explorers(SOFTMAX, Own("counter"), dorax.InverseCount())
    with pytest.raises(dorax.InvalidInput, match="counter is <class"):
        check_explorers(SOFTMAX, Own, None)
    with pytest.raises(dorax.InvalidInput, match="bonus is <class"):
        check_explorers(SOFTMAX, dorax.Visits(), Own)
