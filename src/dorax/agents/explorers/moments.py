"""Running mean and variance."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


class Moments(NamedTuple):
    """Running mean and variance.

    Attributes:
        mean: the mean.
        variance: the variance.
    """

    mean: Float[Array, "*dims"]
    variance: Float[Array, "*dims"]


def with_values(
    moments: Moments, number: Int[Array, ""], values: Float[Array, "games ..."], is_new: Bool[Array, " games"]
) -> Moments:
    """Add several values at once (Chan et al., 1979).

    Args:
        moments: mean and variance before.
        number: number of values so far.
        values: the values.
        is_new: which of them to add.

    Returns:
        The new mean and variance.
    """
    added = jnp.sum(is_new)
    weights = is_new / jnp.maximum(added, 1)
    mean = jnp.tensordot(weights, values, 1, precision="highest")
    variance = jnp.tensordot(weights, (values - mean) ** 2, 1, precision="highest")
    share = added / jnp.maximum(number + added, 1)
    away = mean - moments.mean
    within = (1 - share) * moments.variance + share * variance
    return Moments(moments.mean + share * away, within + share * (1 - share) * away**2)
