"""Small networks as plain trees of weights, and the optimizer that trains them."""

# JAX, Equinox and Optax: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array as JaxArray
from jaxtyping import Bool, Float, Int, PRNGKeyArray
from optax import ScaleByAdamState

from dorax.core.arrays import Array

_DECAY, _SQUARE_DECAY, _EPSILON = 0.9, 0.999, 1e-8  # Adam's usual numbers


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


def _is_shape(leaf: Any) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct)
