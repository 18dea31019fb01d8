"""The mathematics behind the paper's statements on trees, determinized rules and missing knowledge."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dorax.core import LLL, Deficit
from dorax.experiments import determinization, missing_knowledge, tree


def e_of_root(leaves, cycles, rate, e_discount):
    """E at the root after each cycle, by the paper's update, in exact arithmetic."""
    root, hub, history = Fraction(1), [Fraction(1)] * leaves, []
    for _ in range(cycles):
        for leaf in range(leaves):
            root = (1 - rate) * root + rate * e_discount * hub[leaf]
            hub[leaf] *= 1 - rate
        history.append(root)
    return history


@pytest.mark.parametrize("leaves", [1, 2, 7])
@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(1, 100)])
def test_the_closed_form_of_the_tree_is_the_papers_update(leaves, rate):
    exact = e_of_root(leaves, 12, rate, Fraction(9, 10))
    expected = [math.log(e) / math.log(1 - rate) for e in exact]
    assert tree.closed_form(np.arange(1, 13), leaves, float(rate), 0.9) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("rate", [0.5, 0.01])
def test_scripted_paths_follow_the_closed_form(rate):
    paths = np.tile([[0, 1], [0, 2], [0, 3]], (1, 20, 1))
    found = tree.counts_at_root(paths, np.asarray([rate]), 0.9)[0, 2::3]
    assert found == pytest.approx(tree.closed_form(np.arange(1, 21), 3, rate, 0.9), rel=1e-12)


def test_a_path_may_be_shorter_than_the_longest():
    paths = np.asarray([[[0, 1], [0, tree.END], [0, tree.END]]])
    counts = tree.counts_at_root(paths, np.asarray([0.5]), 0.9)[0]
    # After the first visit E = (1 + 0.9) / 2; the other two are terminal and count as one each.
    assert counts == pytest.approx(-math.log2(0.95) + np.arange(3))


def test_with_many_leaves_and_a_small_rate_the_first_cycle_adds_k_times_one_minus_the_discount():
    assert tree.closed_form(1, 50, 1e-6, 0.9) == pytest.approx(5, rel=1e-3)
    assert tree.closed_form(1, 2, 1e-6, 0.9) == pytest.approx(0.2, rel=1e-3)


def test_with_k_of_one_over_one_minus_the_discount_every_cycle_adds_one_from_the_start_as_the_rate_vanishes():
    assert np.diff(tree.closed_form(np.arange(50), 10, 1e-6, 0.9)) == pytest.approx(np.ones(49), rel=1e-3)


@pytest.mark.parametrize("cycle", [10_000, 100_000])
def test_with_a_single_leaf_a_cycle_falls_short_of_one_by_one_over_rate_times_cycles(cycle):
    rate = 0.01
    before, after = tree.closed_form(np.asarray([cycle - 1, cycle]), 1, rate, 0.9)
    assert (1 - (after - before)) * cycle * -math.log(1 - rate) == pytest.approx(1, rel=0.02)


def test_the_least_balanced_rule_with_a_linear_slack_always_takes_the_same_action():
    data = determinization.Choices(determinization.Slack(1.0), 200)([{}], [3], None)
    f = np.random.default_rng(3).dirichlet(np.ones(determinization.ACTIONS))
    times = np.arange(1, 201)
    assert data.lead.values[0, 0] == pytest.approx(times * (1 - f[0]))
    assert np.all(data.lead.values / times <= 1), "it fulfils the condition as printed, with b = 1"


@pytest.mark.parametrize("rule", [LLL, Deficit])
def test_determinized_rules_choose_only_actions_that_are_not_ahead(rule):
    rng = np.random.default_rng(0)
    f, counts = rng.dirichlet(np.ones(6)), np.zeros(6)
    for time in range(1, 2000):
        action = int(rule(determinization.log_probabilities)(np.log(f), counts, time, rng.random()))
        assert counts[action] - (time - 1) * f[action] <= 1e-9, "b = 0 in the count form of the theorem"
        counts[action] += 1


def test_on_visits_the_exit_beside_a_hub_is_chosen_as_often_as_the_hub():
    data = determinization.Outings(determinization.RULES["LLL"], 10, 0.0, 400)([{}], [0], None)
    assert data.visits.values[0, 0].tolist() == [200, 200]


def test_on_e_values_the_exit_beside_a_hub_of_ten_is_chosen_once_in_eleven():
    data = determinization.Outings(determinization.RULES["LLL"], 10, 0.9, 4400)([{}], [0], None)
    assert data.visits.values[0, 0] / 4400 == pytest.approx([1 / 11, 10 / 11], abs=1e-3)
    assert data["count"].values[0, 0, 0] == pytest.approx(data["count"].values[0, 0, 1], rel=0.01)


def test_on_a_repeated_path_the_relative_error_of_q_is_e_itself_as_its_discount_nears_one():
    log_errors, log_es = missing_knowledge.repeated_path(1 - 1e-12)
    assert log_errors == pytest.approx(log_es, abs=1e-6)


@pytest.mark.parametrize("e_discount", [0.5, 0.9])
def test_on_a_repeated_path_the_relative_error_lies_between_e_and_e_over_the_discount_to_the_distance(e_discount):
    log_errors, log_es = missing_knowledge.repeated_path(e_discount)
    farthest = np.arange(log_es.shape[1])[::-1] * -math.log(e_discount)
    assert np.all(log_errors >= log_es - 1e-6)
    assert np.all(log_errors <= log_es + farthest + 1e-6)


@pytest.mark.slow
def test_snapshots_of_a_greedy_agent_follow_the_repeated_path():
    data = missing_knowledge.snapshots([{"temperature": 0.03}], [0], None, episodes=20)
    visits, q = data.visits.values[0, 0], data.q.values[0, 0]
    assert np.all(np.diff(visits.sum(axis=(1, 2))) >= 1), "every episode visits something"
    known = visits[-1] > 0
    assert np.all(q[-1][~known] == 0)
    last = missing_knowledge.BRIDGE.states - 1, missing_knowledge.EAST
    n = visits[:, last[0], last[1]]
    # East from the last cell ends the episode: its count is its number of visits, its value 10 (1 - 2^-n).
    assert data["count"].values[0, 0][:, last[0], last[1]] == pytest.approx(n)
    assert q[:, last[0], last[1]] == pytest.approx(10 * (1 - 0.5**n), rel=1e-14)


def test_a_falling_step_function_of_whole_numbers_is_explained_by_them_in_full():
    count = np.asarray([1.0, 1.0, 2.0, 3.0, 3.0])
    assert missing_knowledge.residual(count, -count) == 0
    assert missing_knowledge.residual(count, np.asarray([0.0, 2.0, -3.0, -4.0, -4.0])) == 2.0
