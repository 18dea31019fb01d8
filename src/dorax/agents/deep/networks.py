"""Small networks as plain trees of weights."""

# JAX and Equinox: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array as JaxArray
from jaxtyping import Float, PRNGKeyArray


class Network(eqx.Module):
    """A network with rectified hidden layers; its weights are kept elsewhere.

    Attributes:
        inputs: number of inputs.
        outputs: number of outputs.
        width: units per hidden layer.
        depth: number of hidden layers.
    """

    inputs: int = eqx.field(static=True)
    outputs: int = eqx.field(static=True)
    width: int = eqx.field(static=True)
    depth: int = eqx.field(static=True)

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(self._shape(), _is_shape)))

    def draw(self, key: PRNGKeyArray, networks: int) -> list[Any]:
        """Draw weights of several networks, uniform within 1/sqrt(inputs). One draw for all compiles quickly.

        Args:
            key: random key.
            networks: number of networks.

        Returns:
            The weights of each network.
        """
        shapes, structure = jax.tree.flatten(eqx.filter(self._shape(), _is_shape))
        inputs = [layer.in_features for layer in self._shape().layers for _ in ("weight", "bias")]
        ends = np.cumsum([shape.size for shape in shapes])
        draws = jnp.split(jax.random.uniform(key, (networks, ends[-1]), minval=-1.0), ends[:-1], axis=1)
        leaves = [
            draw.reshape(networks, *shape.shape) / np.sqrt(n)
            for draw, shape, n in zip(draws, shapes, inputs, strict=True)
        ]
        return [jax.tree.unflatten(structure, [leaf[i] for leaf in leaves]) for i in range(networks)]

    def apply(self, weights: Any, x: Float[JaxArray, " inputs"]) -> Float[JaxArray, " outputs"]:
        """Compute the outputs.

        Args:
            weights: the weights.
            x: the inputs.

        Returns:
            The outputs.
        """
        return eqx.combine(weights, eqx.filter(self._shape(), _is_shape, inverse=True))(x)

    def _shape(self) -> eqx.nn.MLP:
        """Return the network with shapes in place of weights."""

        def network(key: PRNGKeyArray) -> eqx.nn.MLP:
            return eqx.nn.MLP(self.inputs, self.outputs, self.width, self.depth, key=key)

        return eqx.filter_eval_shape(network, jax.random.key(0))


def _is_shape(leaf: Any) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct)
