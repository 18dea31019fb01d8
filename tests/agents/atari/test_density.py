"""The density model on the device against context tree switching in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
import pytest

from dorax.agents.atari.density import DensityModel, DensityState, prediction_gains, pseudo_count
from dorax.envs.atari import in_blocks

NEW = DensityModel().init()


class Node:
    """A node of a context tree, as Veness et al. (2012) describe it."""

    def __init__(self) -> None:
        self.counts = [1 / 8] * 8
        self.stay, self.split = 0.5, 0.5
        self.children: dict[int, Node] = {}

    def probability(self, context: Sequence[int], level: int) -> float:
        own = self.counts[level] / sum(self.counts)
        if not context:
            return own
        return self.stay * own + self.split * self.child(context[0]).probability(context[1:], level)

    def update(self, context: Sequence[int], level: int, switch: float) -> None:
        own = self.counts[level] / sum(self.counts)
        if context:
            child = self.child(context[0])
            says = child.probability(context[1:], level)
            child.update(context[1:], level, switch)
            stay, split = self.stay * own, self.split * says
            total = stay + split
            self.stay = ((1 - switch) * stay + switch * split) / total
            self.split = ((1 - switch) * split + switch * stay) / total
        self.counts[level] += 1

    def child(self, level: int) -> Node:
        return self.children.setdefault(level, Node())


class Reference:
    def __init__(self) -> None:
        self.trees: dict[tuple[int, int], Node] = {}
        self.time = 0

    def gain(self, levels: np.ndarray) -> float:
        self.time += 1
        before = after = 0.0
        for i in range(42):
            for j in range(42):
                neighbours = (i, j - 1), (i - 1, j), (i - 1, j - 1), (i - 1, j + 1)
                context = [int(levels[a, b]) if 0 <= a < 42 and 0 <= b < 42 else 0 for a, b in neighbours]
                tree, level = self.trees.setdefault((i, j), Node()), int(levels[i, j])
                before += math.log(tree.probability(context, level))
                tree.update(context, level, 1 / (self.time + 1))
                after += math.log(tree.probability(context, level))
        return after - before


def frame_of(levels: np.ndarray) -> np.ndarray:
    """A frame in blocks that shrinks to these levels."""
    return in_blocks(np.kron(levels * 32 + 7, np.ones((2, 2))).astype(np.uint8))


@pytest.mark.slow
def test_prediction_gains_are_those_of_plain_python() -> None:
    random = np.random.default_rng(0)
    some = random.integers(0, 8, (2, 42, 42))
    mixed = np.where(random.random((42, 42)) < 0.1, some[1], some[0])  # mostly like the first
    shown = [some[0], some[0], some[1], mixed, some[0], mixed, some[1]]
    reference = Reference()
    expected = [reference.gain(levels) for levels in shown]
    _, found = prediction_gains(NEW, jnp.asarray([frame_of(levels) for levels in shown]))
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def levels_of(frame: np.ndarray) -> np.ndarray:
    """The level of each pixel as the model counted it: of a new model's roots, the count that has grown."""
    model, _ = prediction_gains(NEW, jnp.asarray(in_blocks(frame)[None]))
    return np.asarray(model.counts[:, 0]).argmax(axis=1).reshape(42, 42)


def test_frames_shrink_by_the_mean_of_four_pixels_to_eight_levels() -> None:
    frame = np.zeros((84, 84), np.uint8)
    frame[2:4, 6:8] = [[255, 255], [0, 2]]  # a mean of 128: the first of level 4
    levels = levels_of(frame)
    assert levels[1, 3] == 4
    assert levels.sum() == 4
    assert (levels_of(np.full((84, 84), 255, np.uint8)) == 7).all()


@pytest.mark.slow
def test_a_frame_seen_again_and_again_counts_for_more_each_time_and_a_new_one_for_little() -> None:
    random = np.random.default_rng(1)
    often, new = (frame_of(random.integers(0, 8, (42, 42))) for _ in range(2))
    model, counts = DensityModel().seen(NEW, jnp.asarray([often] * 200))
    assert np.all(np.diff(counts[20:100:10]) > 0)  # before, they round to 0
    assert counts[-1] > 10
    _, of_new = DensityModel().seen(model, jnp.asarray([new]))
    assert of_new[0] < 1e-3


def test_a_background_seen_a_million_times_adds_no_noise() -> None:
    """Of a level that was always there the probability is (n + 1/8) / (n + 1): a gain of about 7/8 / n^2 a pixel."""
    model = NEW
    counts = model.counts.at[..., 0].add(1e6)
    model = DensityState(counts, model.log_weights, jnp.asarray(1e6))
    _, gains = prediction_gains(model, jnp.zeros((3, 7056), jnp.uint8))
    assert np.all(np.abs(gains) < 1e-5)


@pytest.mark.parametrize("gain", [1e-3, 0.5, 20.0])
def test_a_pseudo_count_solves_its_definition(gain: float) -> None:
    """n = p (1 - p') / (p' - p), p small, where p' = p exp(gain) is the probability after one more visit."""
    p = 1e-12
    later = p * math.exp(gain)
    assert pseudo_count(jnp.asarray(gain)) == pytest.approx(p * (1 - later) / (later - p), rel=1e-3)
