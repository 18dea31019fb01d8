"""Losses of Q and of counters on a batch of transitions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from dorax.core.counters import ApproximatedCounter


def q_loss(
    values: Float[Array, "batch actions"], action: Int[Array, " batch"], target: Float[Array, " batch"]
) -> Float[Array, ""]:
    """Compute half the mean squared error of Q.

    Args:
        values: values of all actions.
        action: actions taken.
        target: targets, held fixed.

    Returns:
        The loss.
    """
    return 0.5 * jnp.mean((taken(values, action) - jax.lax.stop_gradient(target)) ** 2)


def counter_loss(
    counter: ApproximatedCounter,
    outputs: Float[Array, "batch actions"],
    action: Int[Array, " batch"],
    successor_output: Float[Array, " batch"],
    terminated: Bool[Array, " batch"],
) -> Float[Array, ""]:
    """Compute a loss whose gradient with respect to the taken actions' outputs is minus the counter's error.

    Args:
        counter: the counter.
        outputs: outputs of all actions.
        action: actions taken.
        successor_output: outputs of the successor pairs.
        terminated: whether the transitions ended an episode.

    Returns:
        The loss.
    """
    output = taken(outputs, action)
    return surrogate(output, counter.error(output, successor_output, terminated))


def surrogate(output: Float[Array, " batch"], error: Float[Array, " batch"]) -> Float[Array, ""]:
    """Compute a loss whose gradient with respect to the output is minus a given error.

    Args:
        output: outputs.
        error: their errors, held fixed.

    Returns:
        The loss.
    """
    return -jnp.mean(jax.lax.stop_gradient(error) * output)


def taken(by_action: Float[Array, "*batch actions"], action: Int[Array, "*batch"]) -> Float[Array, "*batch"]:
    """Select the taken action's entry.

    Args:
        by_action: entries of all actions, along the last axis.
        action: actions taken.

    Returns:
        The selected entries.
    """
    return jnp.take_along_axis(by_action, action[..., None], axis=-1)[..., 0]
