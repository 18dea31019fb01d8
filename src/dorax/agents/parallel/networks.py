"""The network of a `ParallelAgent`: layers with layer norm, for vectors and for numbers of states."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

_TINY = 1e-5  # added to variances


class Layer(NamedTuple):
    """Weights of a layer.

    Attributes:
        weight: the weights.
        bias: the biases.
        gain: factors after the normalisation; None for the last layer, which is not normalised.
    """

    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, " outputs"]
    gain: Float[Array, " outputs"] | None


class ValueNetwork(eqx.Module):
    """A network with rectified hidden layers, normalised by layer norm, which lets Q-learning do without a target
    network (Gallici et al., 2024). All initial outputs are 0. The weights are kept elsewhere.

    Attributes:
        inputs: number of states, or length of an observation.
        is_finite: whether inputs are numbers of states; they stand for vectors with a single 1.
        outputs: number of outputs.
        width: units per hidden layer.
        depth: number of hidden layers.
    """

    inputs: int = eqx.field(static=True)
    is_finite: bool = eqx.field(static=True)
    outputs: int = eqx.field(static=True)
    width: int = eqx.field(static=True)
    depth: int = eqx.field(static=True)

    def init(self, key: PRNGKeyArray) -> list[Layer]:
        """Draw weights.

        Args:
            key: random key.

        Returns:
            The layers.
        """
        sizes = [self.inputs, *[self.width] * self.depth]
        layers: list[Layer] = []
        for i in range(self.depth):
            drawn = jax.random.normal(jax.random.fold_in(key, i), (sizes[i], self.width))
            # The vector of a state has length 1, others about the root of their dimensions.
            deviation = 1.0 if self.is_finite and i == 0 else sizes[i] ** -0.5
            layers.append(Layer(drawn * deviation, jnp.zeros(self.width), jnp.ones(self.width)))
        return [*layers, Layer(jnp.zeros((self.width, self.outputs)), jnp.zeros(self.outputs), None)]

    def apply(self, layers: list[Layer], x: Any) -> Float[Array, "batch outputs"]:
        """Compute the outputs.

        Args:
            layers: the weights.
            x: numbers of states [batch], or vectors [batch, inputs].

        Returns:
            The outputs.
        """
        first, *others = layers
        x = _activated(first, first.weight[x] if self.is_finite else x @ first.weight)
        for layer in others:
            x = _activated(layer, x @ layer.weight)
        return x


def _activated(layer: Layer, sums: Float[Array, "batch outputs"]) -> Float[Array, "batch outputs"]:
    if layer.gain is None:
        return sums + layer.bias
    mean = jnp.mean(sums, axis=-1, keepdims=True)
    variance = jnp.mean((sums - mean) ** 2, axis=-1, keepdims=True)
    return jax.nn.relu((sums - mean) * jax.lax.rsqrt(variance + _TINY) * layer.gain + layer.bias)
