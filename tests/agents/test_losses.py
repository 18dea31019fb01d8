"""Losses of networks: their gradients are those of the squared errors that they stand for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dorax
from dorax.agents.losses import counter_loss, q_loss, surrogate
from dorax.core import next_count, q_target

DRAW = np.random.default_rng(0)
BATCH, ACTIONS = 64, 3
OUTPUTS, SUCCESSOR = DRAW.normal(1, 2, (BATCH, ACTIONS)), DRAW.normal(1, 2, BATCH)
ACTION, ENDS = DRAW.integers(0, ACTIONS, BATCH), DRAW.random(BATCH) < 0.3


def test_a_terminal_step_is_worth_its_reward_and_a_truncated_one_bootstraps():
    next_values = jnp.array([[1.0, 5.0, 2.0], [1.0, 5.0, 2.0], [-4.0, -3.0, -7.0]])
    best = jnp.max(next_values, axis=-1)
    target = q_target(jnp.array([1.0, 1.0, 0.5]), jnp.array([True, False, False]), best, 0.9)
    np.testing.assert_allclose(target, [1.0, 1 + 0.9 * 5, 0.5 - 0.9 * 3], rtol=1e-6)


def test_the_loss_of_q_is_half_the_mean_squared_error_of_the_actions_taken():
    with jax.enable_x64(True):
        both = jax.jit(jax.value_and_grad(q_loss, argnums=(0, 2)))
        loss, (slope, passed_on) = both(OUTPUTS, ACTION, SUCCESSOR)
        error = OUTPUTS[np.arange(BATCH), ACTION] - SUCCESSOR
        np.testing.assert_allclose(loss, np.mean(error**2) / 2, rtol=1e-12)
        expected = np.zeros_like(OUTPUTS)
        expected[np.arange(BATCH), ACTION] = error / BATCH
        np.testing.assert_allclose(slope, expected, rtol=1e-12)
        np.testing.assert_array_equal(passed_on, 0)


def test_the_gradient_of_the_surrogate_is_minus_the_error_whatever_it_depends_on():
    with jax.enable_x64(True):
        slope = jax.jit(jax.grad(lambda outputs: surrogate(outputs, 3.0 * outputs)))(OUTPUTS)
        np.testing.assert_allclose(slope, -3.0 * OUTPUTS / OUTPUTS.size, rtol=1e-12)


def squared_logistic(outputs, form):
    e, successor_e = jax.nn.sigmoid(outputs[jnp.arange(BATCH), ACTION]), jax.nn.sigmoid(SUCCESSOR)
    return 0.5 * jnp.mean((e - jnp.where(ENDS, 0.0, form.discount * successor_e)) ** 2)


def squared_count(outputs, form):
    output = outputs[jnp.arange(BATCH), ACTION]
    known = [np.maximum(counts, 0) for counts in (OUTPUTS[np.arange(BATCH), ACTION], SUCCESSOR)]
    target = next_count(known[0], np.where(ENDS, np.inf, known[1]), form.learning_rate, form.discount)
    return 0.5 * jnp.mean((output - target) ** 2)


def squared_visits(outputs, form):
    del form
    target = np.maximum(OUTPUTS[np.arange(BATCH), ACTION], 0) + 1
    return 0.5 * jnp.mean((outputs[jnp.arange(BATCH), ACTION] - target) ** 2)


@pytest.mark.parametrize(
    ("form", "squared"),
    [
        (dorax.EValues(0.9, form="logistic"), squared_logistic),
        (dorax.EValues(0.0, 0.1, form="logistic"), squared_logistic),
        (dorax.EValues(0.9, 0.3), squared_count),
        (dorax.EValues(0.0, 0.5), squared_count),
        (dorax.Visits().approximated(), squared_visits),
    ],
    ids=lambda value: str(value) if hasattr(value, "discount") else "",
)
def test_the_gradient_of_the_loss_of_a_counter_is_that_of_half_the_squared_error_the_target_held_fixed(form, squared):
    with jax.enable_x64(True):
        action, ends = jnp.asarray(ACTION), jnp.asarray(ENDS)
        loss = lambda outputs, successor: counter_loss(form, outputs, action, successor, ends)  # noqa: E731
        slope, passed_on = jax.jit(jax.grad(loss, argnums=(0, 1)))(OUTPUTS, SUCCESSOR)
        expected = jax.jit(jax.grad(lambda outputs: squared(outputs, form)))(OUTPUTS)
        np.testing.assert_allclose(slope, expected, rtol=1e-9, atol=1e-15)
        np.testing.assert_array_equal(passed_on, 0)
