"""The network with two streams: convolutions that Q and E share, then a head for each.

The layers are those of Mnih et al. (2015). A convolution with stride s equals one
without stride on blocks of s x s pixels, which many more channels, and much less time,
stand for; frames are kept in blocks of 4 x 4 from the start.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dorax.envs.atari import SIDE

STACK = 4  # frames that an agent sees at once
BLOCKS = SIDE // 4
PIXELS = SIDE * SIDE


class Head(NamedTuple):
    hidden: jax.Array
    hidden_bias: jax.Array
    out: jax.Array
    out_bias: jax.Array


class Network(NamedTuple):
    """Weights; `e` is None where nothing needs E-values."""

    kernels: tuple[jax.Array, jax.Array, jax.Array]
    biases: tuple[jax.Array, jax.Array, jax.Array]
    q: Head
    e: Head | None


class Outputs(NamedTuple):
    """Of every action: its value, and what stands for its E-value (0 without a second stream)."""

    values: jax.Array
    e: jax.Array


def in_blocks(frames: jax.Array) -> jax.Array:
    """Frames, ... x 84 x 84, as rows of blocks: ... x 7056."""
    lead = frames.shape[:-2]
    blocks = frames.reshape(*lead, BLOCKS, 4, BLOCKS, 4).swapaxes(-3, -2)
    return blocks.reshape(*lead, PIXELS)


def new_network(key: jax.Array, actions: int, hidden: int, has_e: bool) -> Network:
    """Weights even within Glorot's bounds, biases 0; the last layer of E is 0, so before any visit E says so."""
    keys = iter(jax.random.split(key, 7))
    shapes = (2, 2, 16 * STACK, 32), (2, 2, 128, 64), (3, 3, 64, 64)
    kernels = tuple(_glorot(next(keys), shape) for shape in shapes)
    biases = tuple(jnp.zeros(shape[-1]) for shape in shapes)
    q, e = (
        Head(
            _glorot(next(keys), (7 * 7 * 64, hidden)),
            jnp.zeros(hidden),
            _glorot(next(keys), (hidden, actions)),
            jnp.zeros(actions),
        )
        for _ in range(2)
    )
    return Network(kernels, biases, q, e._replace(out=jnp.zeros_like(e.out)) if has_e else None)  # type: ignore[arg-type]


def outputs(network: Network, stacks: jax.Array) -> Outputs:
    """Of a batch of stacks of frames in blocks, batch x 4 x 7056 bytes."""
    batch = stacks.shape[0]
    x = stacks.reshape(batch, STACK, BLOCKS, BLOCKS, 16).transpose(0, 2, 3, 1, 4)
    x = x.reshape(batch, BLOCKS, BLOCKS, STACK * 16).astype(jnp.float32) / 255
    x = _convolved(x, network.kernels[0], network.biases[0])
    x = x.reshape(batch, 10, 2, 10, 2, 32).swapaxes(2, 3).reshape(batch, 10, 10, 128)
    x = _convolved(x, network.kernels[1], network.biases[1])
    x = _convolved(x, network.kernels[2], network.biases[2])
    x = x.reshape(batch, -1)
    if network.e is None:
        values = _through(network.q, x)
        return Outputs(values, jnp.zeros_like(values))
    # One product for the hidden layers of both heads.
    both = jnp.concatenate([network.q.hidden, network.e.hidden], axis=1)
    bias = jnp.concatenate([network.q.hidden_bias, network.e.hidden_bias])
    of_q, of_e = jnp.split(jax.nn.relu(x @ both + bias), 2, axis=1)
    return Outputs(of_q @ network.q.out + network.q.out_bias, of_e @ network.e.out + network.e.out_bias)


def _through(head: Head, x: jax.Array) -> jax.Array:
    return jax.nn.relu(x @ head.hidden + head.hidden_bias) @ head.out + head.out_bias


def _convolved(x: jax.Array, kernel: jax.Array, bias: jax.Array) -> jax.Array:
    y = jax.lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.nn.relu(y + bias)


def _glorot(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    field = int(np.prod(shape[:-2]))
    bound = np.sqrt(6 / (field * (shape[-2] + shape[-1])))
    return jax.random.uniform(key, shape, minval=-bound, maxval=bound)
