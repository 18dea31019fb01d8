"""Networks for batches of observations: numbers of states, vectors or pictures; layers with layer norm."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

_TINY = 1e-5  # added to variances
_SIDE, _CHANNELS = 3, 16  # of the filters of a picture's first layer, as for MinAtar (Young and Tian, 2019)


@dataclass(frozen=True)
class Inputs:
    """What a network sees.

    Attributes:
        size: number of states, or length of an observation.
        is_finite: whether observations are numbers of states; they stand for vectors with a single 1.
        shape: height, width and channels of a picture, which is given as a vector of that size; None for vectors.
    """

    size: int
    is_finite: bool = False
    shape: tuple[int, int, int] | None = None


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
    network (Gallici et al., 2024). The weights are kept elsewhere.

    Attributes:
        inputs: what it sees.
        outputs: number of outputs.
        width: units per hidden layer.
        depth: number of hidden layers. Pictures have a layer of filters before them.
    """

    inputs: Inputs = eqx.field(static=True)
    outputs: int = eqx.field(static=True)
    width: int = eqx.field(static=True)
    depth: int = eqx.field(static=True)

    def init(self, key: PRNGKeyArray, last: float = 0.0) -> list[Layer]:
        """Draw weights.

        Args:
            key: random key.
            last: standard deviation of the outputs; 0 for outputs that are all 0.

        Returns:
            The layers.
        """
        sizes, widths = self._sizes()
        layers: list[Layer] = []
        for i, (size, width) in enumerate(zip(sizes[:-1], widths[:-1], strict=True)):
            drawn = jax.random.normal(jax.random.fold_in(key, i), (size, width))
            # The vector of a state has length 1, others about the root of their dimensions.
            deviation = 1.0 if self.inputs.is_finite and i == 0 else size**-0.5
            layers.append(Layer(drawn * deviation, jnp.zeros(width), jnp.ones(width)))
        end = jnp.zeros((sizes[-1], self.outputs))
        if last:  # half of the units are active, with a mean square of 1/2
            end = jax.random.normal(jax.random.fold_in(key, len(layers)), end.shape) * (last * (2 / sizes[-1]) ** 0.5)
        return [*layers, Layer(end, jnp.zeros(self.outputs), None)]

    def apply(self, layers: list[Layer], x: Any) -> Float[Array, "batch outputs"]:
        """Compute the outputs.

        Args:
            layers: the weights.
            x: numbers of states [batch], or vectors [batch, inputs].

        Returns:
            The outputs.
        """
        return _activated(layers[-1], self.hidden(layers, x) @ layers[-1].weight)

    def hidden(self, layers: list[Layer], x: Any) -> Float[Array, "batch width"]:
        """Compute the last hidden layer.

        Args:
            layers: the weights.
            x: numbers of states [batch], or vectors [batch, inputs].

        Returns:
            Its activations.
        """
        first, *others = layers[:-1]
        if self.inputs.shape is not None:
            pixels = _patches(x.reshape(-1, *self.inputs.shape))
            x = _activated(first, pixels @ first.weight).reshape(len(x), -1)
        else:
            # Vectors get a constant beside them: layer norm would hide how long they are.
            is_finite, weight = self.inputs.is_finite, first.weight
            x = _activated(first, weight[x] if is_finite else x @ weight[:-1] + weight[-1])
        for layer in others:
            x = _activated(layer, x @ layer.weight)
        return x

    def _sizes(self) -> tuple[list[int], list[int]]:
        """Return the numbers of inputs and of outputs of every layer."""
        widths = [self.width] * self.depth
        first = [self.inputs.size + (not self.inputs.is_finite)]
        if self.inputs.shape is not None:
            height, width, channels = self.inputs.shape
            seen = (height - _SIDE + 1) * (width - _SIDE + 1) * _CHANNELS
            return [_SIDE**2 * channels, seen, *widths], [_CHANNELS, *widths, self.outputs]
        return [*first, *widths], [*widths, self.outputs]


def parameters(network: ValueNetwork) -> int:
    """Compute the number of weights of a network.

    Args:
        network: the network.
    """
    shapes = jax.eval_shape(network.init, jax.random.key(0))
    return sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(shapes))


def _patches(pictures: Float[Array, "batch height width channels"]) -> Float[Array, "batch rows columns inputs"]:
    """Cut out what the filters see at every place. A product of matrices runs well for many networks side by side,
    where a convolution would become one with many groups."""
    height, width = pictures.shape[1:3]
    rows, columns = height - _SIDE + 1, width - _SIDE + 1
    cut = [pictures[:, i : i + rows, j : j + columns] for i in range(_SIDE) for j in range(_SIDE)]
    return jnp.concatenate(cut, axis=-1)


def _activated(layer: Layer, sums: Float[Array, "*batch outputs"]) -> Float[Array, "*batch outputs"]:
    if layer.gain is None:
        return sums + layer.bias
    mean = jnp.mean(sums, axis=-1, keepdims=True)
    variance = jnp.mean((sums - mean) ** 2, axis=-1, keepdims=True)
    return jax.nn.relu((sums - mean) * jax.lax.rsqrt(variance + _TINY) * layer.gain + layer.bias)
