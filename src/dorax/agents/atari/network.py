"""The network: convolutions shared by Q and the counter, and a head for each.

The layers are those of Mnih et al. (2015). A convolution with stride s is equivalent to one without stride on blocks
of s x s pixels, with more channels, and much slower: frames are stored in blocks of 4 x 4 pixels.
"""

# JAX and Equinox: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, UInt8

from dorax.envs.atari import BLOCKS, STACK


class Head(NamedTuple):
    """Weights of a head: a hidden layer and an output layer.

    Attributes:
        hidden: weights of the hidden layer.
        hidden_bias: biases of the hidden layer.
        out: weights of the output layer.
        out_bias: biases of the output layer.
    """

    hidden: Float[Array, "inputs hidden"]
    hidden_bias: Float[Array, " hidden"]
    out: Float[Array, "hidden actions"]
    out_bias: Float[Array, " actions"]


class Network(NamedTuple):
    """Weights of the network.

    Attributes:
        kernels: kernels of the convolutions.
        biases: biases of the convolutions.
        q: head of Q.
        counter: head of the counter, or None.
    """

    kernels: tuple[Float[Array, "height width in out"], ...]
    biases: tuple[Float[Array, " out"], ...]
    q: Head
    counter: Head | None


class Outputs(NamedTuple):
    """Outputs of the network.

    Attributes:
        values: values of all actions.
        counter: the counter's outputs of all actions; 0 without a counter.
    """

    values: Float[Array, "batch actions"]
    counter: Float[Array, "batch actions"]


def new_network(key: PRNGKeyArray, actions: int, hidden: int, has_counter: bool) -> Network:
    """Create a network. Weights are uniform within Glorot's bounds, biases are 0.

    The output layer of the counter's head is 0, so that every initial output is 0.

    Args:
        key: random key.
        actions: number of actions.
        hidden: units in the hidden layer of each head.
        has_counter: whether there is a head for a counter.

    Returns:
        The network.
    """
    keys = iter(jax.random.split(key, 7))
    shapes = (2, 2, 16 * STACK, 32), (2, 2, 128, 64), (3, 3, 64, 64)
    kernels = tuple(_glorot(next(keys), shape) for shape in shapes)
    biases = tuple(jnp.zeros(shape[-1]) for shape in shapes)
    q, counter = (
        Head(
            _glorot(next(keys), (7 * 7 * 64, hidden)),
            jnp.zeros(hidden),
            _glorot(next(keys), (hidden, actions)),
            jnp.zeros(actions),
        )
        for _ in range(2)
    )
    counter = counter._replace(out=jnp.zeros_like(counter.out))
    return Network(kernels, biases, q, counter if has_counter else None)


def outputs(network: Network, stacks: UInt8[Array, "batch 4 7056"]) -> Outputs:
    """Apply a network.

    Args:
        network: the network.
        stacks: stacks of four frames, in blocks.

    Returns:
        Its outputs.
    """
    batch = stacks.shape[0]
    x = stacks.reshape(batch, STACK, BLOCKS, BLOCKS, 16).transpose(0, 2, 3, 1, 4)
    x = x.reshape(batch, BLOCKS, BLOCKS, STACK * 16).astype(jnp.float32) / 255
    x = _convolved(x, network.kernels[0], network.biases[0])
    x = x.reshape(batch, 10, 2, 10, 2, 32).swapaxes(2, 3).reshape(batch, 10, 10, 128)
    x = _convolved(x, network.kernels[1], network.biases[1])
    x = _convolved(x, network.kernels[2], network.biases[2])
    x = x.reshape(batch, -1)
    if network.counter is None:
        values = _through(network.q, x)
        return Outputs(values, jnp.zeros_like(values))
    # One matrix product for the hidden layers of both heads.
    both = jnp.concatenate([network.q.hidden, network.counter.hidden], axis=1)
    bias = jnp.concatenate([network.q.hidden_bias, network.counter.hidden_bias])
    of_q, of_counter = jnp.split(jax.nn.relu(x @ both + bias), 2, axis=1)
    return Outputs(
        of_q @ network.q.out + network.q.out_bias, of_counter @ network.counter.out + network.counter.out_bias
    )


def _through(head: Head, x: Float[Array, "batch inputs"]) -> Float[Array, "batch actions"]:
    return jax.nn.relu(x @ head.hidden + head.hidden_bias) @ head.out + head.out_bias


def _convolved(
    x: Float[Array, "batch rows columns in"], kernel: Float[Array, "height width in out"], bias: Float[Array, " out"]
) -> Float[Array, "batch rows_out columns_out out"]:
    y = jax.lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.nn.relu(y + bias)


def _glorot(key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, ...]:
    field = int(np.prod(shape[:-2]))
    bound = np.sqrt(6 / (field * (shape[-2] + shape[-1])))
    return jax.random.uniform(key, shape, minval=-bound, maxval=bound)
