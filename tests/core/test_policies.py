"""Stochastic rules f(a|s): probabilities worked out by hand."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dorax.core import EpsilonGreedy, Softmax

POLICIES = [EpsilonGreedy(0.0), EpsilonGreedy(0.3), EpsilonGreedy(1.0), Softmax(0.0), Softmax(1e-30), Softmax(2.0)]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(values=arrays(np.float64, 6, elements=st.floats(-1e9, 1e9) | st.just(-np.inf)), here=st.integers(0, 5))
def test_probabilities_sum_to_one_and_missing_actions_have_none(policy, dtype, values, here):
    values[here] = max(values[here], 0.0)
    log_f = policy(values.astype(dtype))
    assert log_f.dtype == dtype
    assert np.exp(log_f).sum() == pytest.approx(1, rel=1e-5)
    assert (log_f[values == -np.inf] == -np.inf).all()


def test_epsilon_greedy_shares_the_greedy_mass_among_tied_actions():
    f = np.exp(EpsilonGreedy(0.3)(np.array([1.0, 0.0, 1.0, -np.inf])))
    np.testing.assert_allclose(f, [0.7 / 2 + 0.1, 0.1, 0.7 / 2 + 0.1, 0.0])


@pytest.mark.parametrize(("epsilon", "expected"), [(0.0, [0.0, 1.0, 0.0]), (1.0, [1 / 3, 1 / 3, 1 / 3])])
def test_epsilon_runs_from_greedy_to_uniform(epsilon, expected):
    np.testing.assert_allclose(np.exp(EpsilonGreedy(epsilon)(np.array([0.0, 2.0, 1.0]))), expected)


@pytest.mark.parametrize("temperature", [0.1, 1.0, 30.0])
def test_softmax_ratios_are_exponentials_of_value_differences(temperature):
    values = np.array([0.3, -1.0, 2.0, -np.inf])
    weights = np.exp(values / temperature)
    np.testing.assert_allclose(np.exp(Softmax(temperature)(values)), weights / weights.sum())


@pytest.mark.parametrize("xp", [np, jnp])
@pytest.mark.parametrize("values", [[5.0, 5.0, 4.999], [-1e30, -1e30, -2e30], [0.0, 0.0, -np.inf]])
def test_temperature_zero_is_the_greedy_limit_with_ties_shared(values, xp):
    log_f = Softmax(0.0)(xp.asarray(values, dtype=xp.float32))
    np.testing.assert_allclose(np.exp(np.asarray(log_f)), [0.5, 0.5, 0.0])


@pytest.mark.parametrize("temperature", [0.0, 1e-38, 1e-20, 0.3])
def test_an_action_that_a_state_has_keeps_a_finite_log_probability(temperature):
    assert np.isfinite(Softmax(temperature)(np.array([0.0, -1e38, -1.0], np.float32))).all()


def test_softmax_ignores_what_all_values_have_in_common():
    values = np.array([0.0, 1.0, 3.0])
    np.testing.assert_allclose(Softmax(0.7)(values + 1e6), Softmax(0.7)(values), rtol=1e-8)


@pytest.mark.parametrize("policy", POLICIES)
def test_both_array_libraries_agree(policy):
    values = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    np.testing.assert_allclose(policy(jnp.asarray(values)), policy(values), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("policy", [EpsilonGreedy, Softmax])
def test_a_batch_is_its_elements_each_with_its_own_number(policy):
    values, numbers = np.random.default_rng(1).normal(size=(3, 2, 4)), np.array([[0.1, 0.2], [0.5, 0.6], [0.9, 1.0]])
    together = policy(numbers)(values)
    for at in np.ndindex(3, 2):
        np.testing.assert_array_equal(together[at], policy(numbers[at])(values[at]))
