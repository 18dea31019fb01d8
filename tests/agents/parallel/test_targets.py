"""λ-returns of rollouts."""

import jax.numpy as jnp
import numpy as np
import pytest

from dorax.agents.parallel.targets import Rollout, lambda_returns, without_ends

DISCOUNT = 0.9


def rollout(**changed):
    random = np.random.default_rng(0)
    steps, games = 7, 3
    rows = {
        "reward": random.normal(size=(steps, games)).astype(np.float32),
        "terminated": np.zeros((steps, games), bool),
        "is_over": np.zeros((steps, games), bool),
        "next_value": random.normal(size=(steps, games)).astype(np.float32),
        "goes_on": np.ones((steps, games), bool),
        "learns": np.ones((steps, games), bool),
    }
    return Rollout(**(rows | changed))


def test_without_a_trace_targets_are_those_of_one_step():
    rows = rollout()
    found = lambda_returns(rows, DISCOUNT, 0.0)
    np.testing.assert_allclose(found, rows.reward + DISCOUNT * rows.next_value, rtol=1e-6)


def test_a_full_trace_sums_all_rewards_of_the_rollout():
    rows = rollout()
    found = lambda_returns(rows, DISCOUNT, 1.0)
    powers = DISCOUNT ** np.arange(7)
    expected = powers @ rows.reward + DISCOUNT**7 * rows.next_value[-1]
    np.testing.assert_allclose(found[0], expected, rtol=1e-5)


@pytest.mark.parametrize("trace", [0.3, 0.8])
def test_targets_are_mixtures_of_all_numbers_of_steps(trace):
    rows = rollout()
    expected = np.zeros(3)
    weight = 1.0
    for n in range(1, 8):
        n_step = DISCOUNT ** np.arange(n) @ rows.reward[:n] + DISCOUNT**n * rows.next_value[n - 1]
        share = weight if n == 7 else weight * (1 - trace)
        expected, weight = expected + share * n_step, weight * trace
    np.testing.assert_allclose(lambda_returns(rows, DISCOUNT, trace)[0], expected, rtol=1e-5)


def test_returns_end_with_the_episode():
    ends = np.zeros((7, 3), bool)
    ends[3] = True
    terminal = lambda_returns(rollout(terminated=ends, is_over=ends), DISCOUNT, 0.7)
    truncated = lambda_returns(rollout(is_over=ends), DISCOUNT, 0.7)
    rows = rollout()
    np.testing.assert_allclose(terminal[3], rows.reward[3], rtol=1e-6)
    np.testing.assert_allclose(truncated[3], rows.reward[3] + DISCOUNT * rows.next_value[3], rtol=1e-6)
    np.testing.assert_allclose(terminal[4:], lambda_returns(rows, DISCOUNT, 0.7)[4:], rtol=1e-6)


def test_returns_end_where_an_action_is_not_greedy():
    goes_on = np.ones((7, 3), bool)
    goes_on[2, 1] = False
    rows = rollout(goes_on=goes_on)
    found, whole = lambda_returns(rows, DISCOUNT, 0.7), lambda_returns(rollout(), DISCOUNT, 0.7)
    np.testing.assert_allclose(found[2, 1], rows.reward[2, 1] + DISCOUNT * rows.next_value[2, 1], rtol=1e-6)
    np.testing.assert_allclose(found[:, [0, 2]], whole[:, [0, 2]], rtol=1e-6)


def test_the_start_of_an_episode_is_passed_over():
    """Values that episode ends do not cut off: the step that only starts an episode has no discount of its own."""
    learns = np.ones((7, 3), bool)
    learns[4] = False
    rows = rollout(learns=learns)
    found = lambda_returns(rows, DISCOUNT, 1.0)
    np.testing.assert_allclose(found[3], rows.reward[3] + DISCOUNT * found[5], rtol=1e-5)


# Two games. The first ends an episode in row 0 and starts the next one in row 1, where the value of the start is 2. The
# second starts one in row 0, where the value of the start is 10, and ends it in the last row.
ENDS = {
    "reward": np.ones((3, 2), np.float32),
    "terminated": np.asarray([[True, False], [False, False], [False, True]]),
    "is_over": np.asarray([[True, False], [False, False], [False, True]]),
    "next_value": np.asarray([[1, 10], [2, 20], [3, 30]], np.float32),
    "goes_on": np.ones((3, 2), bool),
    "learns": np.asarray([[True, False], [False, True], [True, True]]),
}


def test_returns_without_ends_go_on_from_the_start_of_the_next_episode():
    """Behind the last row it is not known, and has the mean value of all starts: (2 + 10) / 2."""
    rows = without_ends(Rollout(**ENDS))
    np.testing.assert_array_equal(rows.next_value, [[2, 10], [2, 20], [3, 6]])
    assert not rows.is_over.any()
    assert not rows.terminated.any()
    np.testing.assert_array_equal(lambda_returns(rows, 0.5, 1.0), [[2.25, 3], [2.5, 3], [2.5, 4]])


def test_without_any_start_among_the_rows_the_value_of_the_last_state_is_left():
    rows = without_ends(Rollout(**ENDS)._replace(learns=jnp.ones((3, 2), bool)))
    np.testing.assert_array_equal(rows.next_value, [[2, 10], [2, 20], [3, 30]])
