"""Losses of Q and of counters on a batch of transitions."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def q_loss(values: jax.Array, action: jax.Array, target: jax.Array) -> jax.Array:
    """Half the squared error of the values of the actions taken, batch x actions."""
    return 0.5 * jnp.mean((taken(values, action) - jax.lax.stop_gradient(target)) ** 2)


def counter_loss(
    counter: Any, outputs: jax.Array, action: jax.Array, successor_output: jax.Array, terminated: jax.Array
) -> jax.Array:
    """A loss of the taken actions' outputs whose gradient is minus the counter's error."""
    output = taken(outputs, action)
    return surrogate(output, counter.error(output, successor_output, terminated))


def surrogate(output: jax.Array, error: jax.Array) -> jax.Array:
    """A loss whose gradient by the output is minus its error, with the error held fixed."""
    return -jnp.mean(jax.lax.stop_gradient(error) * output)


def taken(by_action: jax.Array, action: jax.Array) -> jax.Array:
    """Select the taken action's entry."""
    return jnp.take_along_axis(by_action, action[..., None], axis=-1)[..., 0]
