"""Exact answers against linear algebra, and what an MDP refuses to be."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dorax import mdps
from dorax.mdps.mdp import deterministic
from dorax.mdps.solve import optimal_return, start_values


def random_mdp(seed, states=5, actions=3, successors=2):
    """Random transitions; some pairs end the episode, some are missing, and the start is spread."""
    random = np.random.default_rng(seed)
    shape = (states, actions, successors)
    available = random.random((states, actions)) < 0.7
    available[:, 0] = True
    return mdps.MDP(
        name="random",
        successor=random.integers(0, states, shape),
        probability=random.dirichlet(np.ones(successors), (states, actions)),
        reward=random.normal(size=shape),
        terminal=random.random(shape) < 0.2,
        start=random.dirichlet(np.ones(states)),
        max_steps=40,
        available=available,
    )


def going_on(mdp, policy):
    """The matrix of probabilities to go on from one state to another under a policy."""
    matrix = np.zeros((mdp.states, mdp.states))
    for s, a, k in np.ndindex(mdp.successor.shape):
        matrix[s, mdp.successor[s, a, k]] += policy[s, a] * mdp.probability[s, a, k] * (not mdp.terminal[s, a, k])
    return matrix


def bellman(mdp, values, discount):
    """r + discount * expected value of the successor, pair by pair."""
    q = np.full((mdp.states, mdp.actions), -np.inf)
    for s, a in np.argwhere(mdp.available):
        q[s, a] = sum(
            p * (r + (0 if ends else discount * values[target]))
            for p, r, ends, target in zip(
                mdp.probability[s, a], mdp.reward[s, a], mdp.terminal[s, a], mdp.successor[s, a], strict=True
            )
        )
    return q


@given(seed=st.integers(0, 10**6), discount=st.sampled_from([0.0, 0.5, 0.9, 0.99]))
def test_optimal_values_satisfy_bellman_s_equation(seed, discount):
    mdp = random_mdp(seed)
    q = mdp.optimal_q(discount)
    np.testing.assert_allclose(q, bellman(mdp, q.max(axis=1), discount), rtol=1e-10, atol=1e-10)


@given(seed=st.integers(0, 10**6), discount=st.sampled_from([0.0, 0.5, 0.9, 0.99]))
def test_optimal_values_are_those_of_the_optimal_policy(seed, discount):
    mdp = random_mdp(seed)
    policy = mdp.optimal_policy(discount)
    reward = (policy * (mdp.probability * mdp.reward).sum(axis=2)).sum(axis=1)
    values = np.linalg.solve(np.eye(mdp.states) - discount * going_on(mdp, policy), reward)
    np.testing.assert_allclose(values, mdp.optimal_q(discount).max(axis=1), rtol=1e-9, atol=1e-9)


def best_return(mdp, state, steps):
    """The largest mean return from a state with so many steps left."""
    if steps == 0:
        return 0.0
    return max(
        sum(
            p * (r + (0 if ends else best_return(mdp, target, steps - 1)))
            for p, r, ends, target in zip(
                mdp.probability[state, a], mdp.reward[state, a], mdp.terminal[state, a], mdp.successor[state, a],
                strict=True,
            )
        )
        for a in np.flatnonzero(mdp.available[state])
    )  # fmt: skip


@given(seed=st.integers(0, 10**6), steps=st.integers(1, 3))
def test_the_best_return_is_that_of_the_best_plan_for_the_steps_that_are_left(seed, steps):
    mdp = replace(random_mdp(seed, states=3, actions=2), max_steps=steps)
    expected = mdp.start @ [best_return(mdp, state, steps) for state in range(mdp.states)]
    np.testing.assert_allclose(optimal_return(mdp), expected, rtol=1e-12, atol=1e-12)


@given(seed=st.integers(0, 10**6), discount=st.sampled_from([0.0, 0.5, 0.9, 0.99]))
def test_many_policies_are_worth_what_each_is_by_itself(seed, discount):
    mdp, random = random_mdp(seed), np.random.default_rng(seed)
    policies = random.dirichlet(np.ones(mdp.actions), (4, mdp.states)) * mdp.available
    policies /= policies.sum(axis=2, keepdims=True)
    policies[0] = mdp.optimal_policy(discount)
    expected = []
    for policy in policies:
        reward = (policy * (mdp.probability * mdp.reward).sum(axis=2)).sum(axis=1)
        expected.append(mdp.start @ np.linalg.solve(np.eye(mdp.states) - discount * going_on(mdp, policy), reward))
    np.testing.assert_allclose(start_values(mdp, policies, discount), expected, rtol=1e-9, atol=1e-12)
    assert expected[0] == pytest.approx(mdp.start @ mdp.optimal_q(discount).max(axis=1))


@pytest.mark.parametrize("name", ["FrozenLake-v1", "Taxi-v4"])
def test_gymnasium_s_worlds_are_solved_too(name):
    mdp = mdps.from_gymnasium(name)
    q = mdp.optimal_q(0.95)
    np.testing.assert_allclose(q, bellman(mdp, q.max(axis=1), 0.95), rtol=1e-10, atol=1e-10)


def test_a_missing_action_is_worth_minus_infinity_and_never_taken():
    mdp = mdps.tree(3)
    assert mdp.optimal_q(0.9)[0].tolist() == [0, -np.inf, -np.inf]
    assert mdp.optimal_policy(0.9)[0].tolist() == [1, 0, 0]
    assert mdp.optimal_policy(0.9)[1].tolist() == pytest.approx([1 / 3] * 3)


def test_actions_equal_to_nine_digits_share_the_policy_and_others_do_not():
    ends = np.ones((1, 3), bool)
    nearly = deterministic("nearly", np.zeros((1, 3)), np.array([[1e6, 1e6 - 1e-4, 1e6 - 1.0]]), ends, 0, 1)
    assert nearly.optimal_policy(0.9).tolist() == [[0.5, 0.5, 0]]


@pytest.mark.parametrize("length", [1, 5, 15])
def test_the_optimal_visitor_of_a_bridge_spends_equal_time_on_every_eastward_step(length):
    expected = np.zeros((length, 4))
    expected[:, 1] = 1 / length
    np.testing.assert_allclose(mdps.bridge(length).optimal_occupancy(0.9), expected)


@pytest.mark.parametrize("max_steps", [1, 7, 100, 20_000])
def test_occupancy_is_the_sum_of_a_geometric_series_of_matrices(max_steps):
    mdp = replace(mdps.from_gymnasium("FrozenLake-v1"), max_steps=max_steps)
    policy = mdp.optimal_policy(0.9)
    moves = going_on(mdp, policy).T
    # sum over t < T of M^t = (1 - M)^-1 (1 - M^T), applied to the start
    remaining = np.eye(mdp.states) - np.linalg.matrix_power(moves, max_steps)
    visits = np.linalg.lstsq(np.eye(mdp.states) - moves, remaining @ mdp.start)[0]
    np.testing.assert_allclose(mdp.optimal_occupancy(0.9), visits[:, None] * policy / visits.sum(), atol=1e-9)


def test_a_policy_that_walks_for_ever_is_followed_for_one_episode():
    loop = deterministic("loop", np.array([[1], [0]]), np.ones((2, 1)), np.zeros((2, 1), bool), 0, max_steps=5)
    np.testing.assert_allclose(loop.optimal_occupancy(0.9), [[3 / 5], [2 / 5]])
    np.testing.assert_allclose(loop.optimal_q(0.9), 10)


def test_occupancy_starts_where_episodes_start():
    mdp = mdps.from_gymnasium("Taxi-v4")
    assert np.count_nonzero(mdp.start) == 300
    first_steps = replace(mdp, max_steps=1).optimal_occupancy(0.9)
    np.testing.assert_allclose(first_steps.sum(axis=1), mdp.start)


def changed(array, index, value):
    copy = np.array(array)
    copy[index] = value
    return copy


BRIDGE = mdps.bridge(3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"reward": changed(BRIDGE.reward, (1, 2, 0), np.nan)}, ["reward", "state 1, action 2", "nan"]),
        ({"reward": changed(BRIDGE.reward, (0, 0, 0), np.inf)}, ["reward", "state 0, action 0", "inf"]),
        ({"probability": changed(BRIDGE.probability, (2, 1, 0), 0.9)}, ["sum", "state 2, action 1", "0.9"]),
        ({"probability": changed(BRIDGE.probability, (2, 1, 0), -1.0)}, ["state 2, action 1", "-1.0"]),
        ({"probability": changed(BRIDGE.probability, (2, 1, 0), np.nan)}, ["state 2, action 1", "nan"]),
        ({"successor": changed(BRIDGE.successor, (0, 1, 0), 7)}, ["successor", "7", "0 to 2"]),
        ({"successor": changed(BRIDGE.successor, (0, 1, 0), -5)}, ["successor", "-5", "0 to 2"]),
        ({"available": changed(BRIDGE.available, 1, False)}, ["state 1", "no action"]),
        ({"start": np.array([0.5, 0.0, 0.0])}, ["start", "0.5"]),
        ({"start": np.array([1.5, -0.5, 0.0])}, ["start", "-0.5"]),
        ({"start": np.array([np.nan, 0.0, 0.0])}, ["start", "nan"]),
        ({"max_steps": 0}, ["max_steps", "0"]),
        ({"reward": BRIDGE.reward[:2]}, ["reward", "(2, 4, 1)", "(3, 4, 1)"]),
        ({"probability": BRIDGE.probability[..., 0]}, ["probability", "(3, 4)"]),
        ({"terminal": BRIDGE.terminal[:, :2]}, ["terminal", "(3, 2, 1)"]),
        ({"available": np.ones((4, 3), bool)}, ["available", "(4, 3)"]),
        ({"start": np.ones(2) / 2}, ["start", "(2,)"]),
        ({"successor": BRIDGE.successor[..., 0]}, ["successor", "(3, 4)"]),
        ({"successor": BRIDGE.successor[:0]}, ["successor", "(0, 4, 1)"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_no_mdp_is_refused_in_one_line(changes, words, refused):
    with refused("bridge(3)", *words):
        replace(BRIDGE, **changes)


def test_ends_given_as_numbers_mean_the_same_as_booleans():
    as_numbers = replace(BRIDGE, terminal=BRIDGE.terminal.astype(int), available=BRIDGE.available.astype(int))
    np.testing.assert_array_equal(as_numbers.optimal_q(0.5), BRIDGE.optimal_q(0.5))


def test_a_return_ends_with_the_time_limit_where_a_policy_goes_in_circles():
    """On a chain of 4 states the walk to the right pays 1 at the end, again and again, until 13 steps are over."""
    mdp = mdps.chain(4, seed=1)
    right = np.zeros((4, 2))
    right[range(4), [int(np.argmax(mdp.successor[s, :, 0])) for s in range(4)]] = 1.0
    left = 1 - right
    pays, waits = start_values(mdp, np.stack([right, left]), 1.0)
    assert pays == mdp.max_steps - 2  # from the second state, two steps lead to the last
    assert waits == pytest.approx(0.001 * (mdp.max_steps - 1))
