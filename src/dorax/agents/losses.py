"""Losses of Q and of counters on a batch of transitions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from dorax.core.counters import ApproximatedCounter


def q_loss(
    values: Float[Array, "batch actions"], action: Int[Array, " batch"], target: Float[Array, " batch"]
) -> Float[Array, ""]:
    """Half the squared error of the values of the actions taken."""
    return 0.5 * jnp.mean((taken(values, action) - jax.lax.stop_gradient(target)) ** 2)


def counter_loss(
    counter: ApproximatedCounter,
    outputs: Float[Array, "batch actions"],
    action: Int[Array, " batch"],
    successor_output: Float[Array, " batch"],
    terminated: Bool[Array, " batch"],
) -> Float[Array, ""]:
    """A loss of the taken actions' outputs whose gradient is minus the counter's error."""
    output = taken(outputs, action)
    return surrogate(output, counter.error(output, successor_output, terminated))


def surrogate(output: Float[Array, " batch"], error: Float[Array, " batch"]) -> Float[Array, ""]:
    """A loss whose gradient by the output is minus its error, with the error held fixed."""
    return -jnp.mean(jax.lax.stop_gradient(error) * output)


def taken(by_action: Float[Array, "*batch actions"], action: Int[Array, "*batch"]) -> Float[Array, "*batch"]:
    """Select the taken action's entry."""
    return jnp.take_along_axis(by_action, action[..., None], axis=-1)[..., 0]
