"""The network in blocks is the network of the paper, only faster."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dorax.agents.atari.network import new_network, outputs
from dorax.envs.atari import in_blocks


def plain(x: Any, kernel: Any, bias: Any, stride: int) -> Any:
    y = jax.lax.conv_general_dilated(
        x, kernel, (stride, stride), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"), precision="highest"
    )
    return jax.nn.relu(y + bias)


@pytest.mark.slow
def test_convolutions_on_blocks_are_the_strided_ones_of_mnih_et_al() -> None:
    network = new_network(jax.random.key(3), actions=5, hidden=16, has_counter=True)
    network = jax.tree.map(lambda leaf: leaf + 0.01, network)  # so that biases and the zero layer count
    frames = np.random.default_rng(0).integers(0, 256, (2, 4, 84, 84)).astype(np.uint8)
    first = network.kernels[0].reshape(2, 2, 4, 4, 4, 32)  # block row, block column, frame, row, column
    first = first.transpose(0, 3, 1, 4, 2, 5).reshape(8, 8, 4, 32)
    second = network.kernels[1].reshape(2, 2, 2, 2, 32, 64).transpose(0, 2, 1, 3, 4, 5).reshape(4, 4, 32, 64)
    x = jnp.asarray(frames.transpose(0, 2, 3, 1), jnp.float32) / 255
    x = plain(x, first, network.biases[0], 4)
    assert x.shape == (2, 20, 20, 32)
    x = plain(x, second, network.biases[1], 2)
    x = plain(x, network.kernels[2], network.biases[2], 1)
    x = x.reshape(2, -1)
    assert network.counter is not None
    for head, found in zip((network.q, network.counter), outputs(network, in_blocks(jnp.asarray(frames))), strict=True):
        expected = jax.nn.relu(x @ head.hidden + head.hidden_bias) @ head.out + head.out_bias
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4)


def test_blocks_hold_every_pixel_once_four_by_four() -> None:
    frame = np.arange(84 * 84).reshape(84, 84)
    blocks = in_blocks(frame).reshape(21, 21, 16)
    np.testing.assert_array_equal(blocks[2, 5].reshape(4, 4), frame[8:12, 20:24])


def test_before_any_visit_e_is_one_half_and_without_a_second_head_there_is_none() -> None:
    stacks = jnp.asarray(np.random.default_rng(1).integers(0, 256, (3, 4, 7056)), jnp.uint8)
    with_counter = outputs(new_network(jax.random.key(0), 3, 16, has_counter=True), stacks)
    np.testing.assert_array_equal(jax.nn.sigmoid(with_counter.counter), 0.5)
    network = new_network(jax.random.key(0), 3, 16, has_counter=False)
    assert network.counter is None
    without = outputs(network, stacks)
    np.testing.assert_array_equal(without.counter, 0)
    np.testing.assert_allclose(without.values, with_counter.values, rtol=1e-4, atol=1e-5)
