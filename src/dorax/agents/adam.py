"""Adam, for the networks of all agents."""

# JAX and Optax: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array as JaxArray
from jaxtyping import Bool, Float, Int
from optax import ScaleByAdamState

from dorax.core.arrays import Array

_DECAY, _SQUARE_DECAY, _EPSILON = 0.9, 0.999, 1e-8  # Adam's usual numbers


def adam_state(weights: Any) -> Any:
    """Return the state of Adam before its first step.

    Args:
        weights: the weights to train.
    """
    adam: Any = optax.scale_by_adam()
    return adam.init(weights)


def adam_step(
    weights: Any, grads: Any, opt_state: Any, learning_rate: Array, learns: Bool[JaxArray, ""]
) -> tuple[Any, Any]:
    """Make one step of Adam.

    Unlike Optax's, it gives the same bits whatever XLA makes of the rest of the program, which is another one on
    two devices or with other probes. It uses no division by a number of the lane, which XLA may turn into a
    multiplication, and no approximated power; and a selection between every product and the sum that it goes
    into keeps XLA from fusing the two in one program and not in another.

    Args:
        weights: the weights.
        grads: gradients of the loss.
        opt_state: state of the optimizer.
        learning_rate: learning rate.
        learns: if False, the weights do not change; the caller then also keeps the old state.

    Returns:
        The new weights and the new state.
    """
    count = opt_state.count + 1

    def moved(decay: float, moment: JaxArray, new: JaxArray) -> JaxArray:
        return jnp.where(learns, (1 - decay) * new, 0.0) + jnp.where(learns, decay * moment, moment)

    mu = jax.tree.map(partial(moved, _DECAY), opt_state.mu, grads)
    nu = jax.tree.map(partial(moved, _SQUARE_DECAY), opt_state.nu, jax.tree.map(jnp.square, grads))
    unbiased, square_unbiased = (1 / (1 - _power(decay, count)) for decay in (_DECAY, _SQUARE_DECAY))

    def stepped(weight: JaxArray, mu: JaxArray, nu: JaxArray) -> JaxArray:
        step = mu * unbiased / (jnp.sqrt(nu * square_unbiased) + _EPSILON)
        return weight - jnp.where(learns, learning_rate * step, 0.0)

    return jax.tree.map(stepped, weights, mu, nu), ScaleByAdamState(count, mu, nu)


def _power(base: float, exponent: Int[JaxArray, ""]) -> Float[JaxArray, ""]:
    """Raise a number below 1 to a whole power, by products alone."""
    power = jnp.ones(())
    for i in range(31):
        power = jnp.where(exponent >> i & 1 == 1, power * np.float32(base ** (2**i)), power)
    return power
