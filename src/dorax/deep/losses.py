"""Losses of Q and of E on a batch of transitions."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from dorax.core.arrays import Array


def q_loss(values: jax.Array, action: jax.Array, target: jax.Array) -> jax.Array:
    """Half the squared error of the values of the actions taken, batch x actions."""
    return 0.5 * jnp.mean((taken(values, action) - jax.lax.stop_gradient(target)) ** 2)


def q_target(reward: jax.Array, is_terminal: jax.Array, next_values: jax.Array, discount: Array) -> jax.Array:
    """Q-learning's target; a truncated step is not terminal and bootstraps."""
    return reward + jnp.where(is_terminal, 0.0, discount * jnp.max(next_values, axis=-1))


def e_loss(form: Any, outputs: jax.Array, action: jax.Array, successor_output: jax.Array, is_terminal: jax.Array):
    """What the form of E wants of the outputs of the actions taken.

    The forms give the negative gradient of half their squared error with respect to the
    output; this is a function whose gradient is minus that.
    """
    output = taken(outputs, action)
    return pull(output, form.error(output, successor_output, is_terminal))


def pull(output: jax.Array, error: jax.Array) -> jax.Array:
    """A function of the output whose slope is minus its error; what the error is made from stands still."""
    return -jnp.mean(jax.lax.stop_gradient(error) * output)


def taken(by_action: jax.Array, action: jax.Array) -> jax.Array:
    """Of what there is for every action, that of the one taken."""
    return jnp.take_along_axis(by_action, action[..., None], axis=-1)[..., 0]
