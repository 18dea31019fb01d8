"""Numbers that experiments derive: bounds of Delayed Q-learning, the first bonus, gains near the goal; equal grids."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dorax
from dorax.experiments import _maps, delayed_q, generalized_visit_maps, reward_bonus
from dorax.study.experiment import FULL
from dorax.study.fitting import settings_of


def settled_error(patience, slack):
    """The error of Q on the way to the goal, relative to that of Q = 0, after greedy Delayed Q-learning has settled."""
    mdp = dorax.mdps.bridge(15, normalised=True)
    rule = dorax.Sample(dorax.EpsilonGreedy(0.0))
    agent = dorax.TabularAgent(rule, update=dorax.DelayedQLearning(patience, slack), discount=0.9)
    learner = dorax.TabularLearner(agent, mdp.states, mdp.actions)
    for episode in range(80 * patience):
        cell, arrives, ends = 0, 0, False
        while not ends:
            action = learner.act(cell)  # north, east, south, west
            arrives = cell + (action == 1) - (action == 3)
            ends = action in (0, 2) or arrives in (-1, 15)
            reward = {15: 1.0, -1: 0.1}.get(arrives, 0.0)
            learner.observe(cell, action, reward, arrives if not ends else 0, ends)
            cell = arrives
        assert arrives == 15 or episode < 75 * patience, "it has settled"
    optimal = 0.9 ** np.arange(14, -1, -1)
    return np.mean((learner.q_table[:15, 1] - optimal) ** 2) / np.mean(optimal**2)


@pytest.mark.parametrize("slack", [0.003, 0.01])
@pytest.mark.parametrize("patience", [1, 2, 3])
def test_settled_values_of_delayed_q_learning_are_within_their_bounds(patience, slack):
    least, most = delayed_q.settled_errors(slack)
    assert least * (1 - 1e-9) <= settled_error(patience, slack) <= most


def test_the_required_patience_makes_all_means_right_but_for_a_third_of_delta():
    """By Hoeffding's inequality for targets within 1/(1 - discount), and a union bound over all attempted updates."""
    slack, delta, pairs = 0.05, 0.2, 60
    m = delayed_q.required_patience(slack, delta)
    attempts = pairs * (1 + pairs / (slack * 0.1))
    assert attempts * math.exp(-2 * m * (slack * 0.1) ** 2) == pytest.approx(delta / 3)


@pytest.mark.parametrize("discount", reward_bonus.DISCOUNTS)
def test_the_first_count_is_that_of_the_first_e_value(discount):
    e_value = 0.65 * 1 + 0.35 * discount * 1
    assert reward_bonus.first_count(discount) == pytest.approx(math.log(e_value) / math.log(0.65))


@pytest.mark.parametrize("experiment", [reward_bonus, delayed_q])
def test_agents_that_are_compared_have_grids_of_equal_size(experiment):
    """A grid of one is an agent with the numbers of the paper; scales are also fitted alone, at the paper's ε."""
    sizes = {each.name: len(settings_of(each.grid)) for each in experiment.conditions(FULL)}
    alone = {name for name in sizes if name.endswith(reward_bonus.SCALED) and experiment is reward_bonus}
    assert len({sizes[name] for name in alone}) <= 1
    assert len({size for name, size in sizes.items() if size > 1 and name not in alone}) == 1


def test_gains_are_per_visit_beyond_the_goal_and_before_it():
    visits, counts = np.zeros((2, 2, *_maps.BINS))
    visits[0, 51:, 30], counts[0, 51:, 30] = 1, 5.0  # from 0.5 to 0.6
    visits[0, :51, 20], counts[0, :51, 20] = 4, 2.0
    counts[:, :, 40] = 1000.0  # never visited
    visits[1, 50, 30] = 1  # up to 0.5: the second run does not get there
    data = xr.Dataset({"visits_late": (("seed", "x", "v"), visits), "count_late": (("seed", "x", "v"), counts)})
    results: Any = {"logistic": SimpleNamespace(data=lambda: data)}
    np.testing.assert_allclose(generalized_visit_maps.gains(results, "logistic", "late"), [[5.0, 0.5]])
