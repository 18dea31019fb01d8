"""Tiles: every index against plain loops in exact fractions, and what generalizes to what."""

import itertools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dorax
from dorax.envs.simulation import EnvSpec
from dorax.features.tiles import TileCoder

# Bounds and tiles as sums of powers of two and tilings that are powers of two: floats are exact.
EXACT = [
    TileCoder([0], [8], 8, 1),
    TileCoder([-2], [2], 4, 8),
    TileCoder([0, -4], [2, 4], 4, 8),
    TileCoder([0, 0], [1, 16], (2, 8), 4),
    TileCoder([-1, 0, 0], [1, 4, 8], (4, 2, 1), 4),
    TileCoder([0, 0, 0, -1], [1, 2, 4, 1], (2, 1, 4, 2), 8),
]
TWO_DIMENSIONS = TileCoder([0, 0], [1, 1], 8, 8)


def named(coder):
    return f"{coder.tilings} tilings of {coder.tiles}"


def tiles_of(coder, point):
    """One tile for each tiling, numbered as digits of mixed radix, by a loop in fractions."""
    active = []
    for tiling in range(coder.tilings):
        index = tiling
        for d, (low, high, tiles) in enumerate(zip(coder.low, coder.high, coder.tiles, strict=True)):
            x = min(max(Fraction(float(point[d])), Fraction(low)), Fraction(high))
            shift = Fraction(tiling * (2 * d + 1) % coder.tilings, coder.tilings)
            place = (x - Fraction(low)) * tiles / (Fraction(high) - Fraction(low)) + shift
            index = index * (tiles + 1) + min(math.floor(place), tiles)
        active.append(index)
    return active


def points_in(coder, number, seed=0, beyond=0.0):
    low, high = np.array(coder.low), np.array(coder.high)
    shares = np.random.default_rng(seed).uniform(-beyond, 1 + beyond, (number, len(low)))
    return (low + shares * (high - low)).astype(np.float32)


@pytest.mark.parametrize("coder", EXACT, ids=named)
def test_every_tile_is_the_one_that_a_plain_loop_finds(coder):
    """On a lattice that has every edge of every tile, both bounds and points beyond them."""
    steps = [2 * coder.tilings * tiles if len(coder.tiles) < 3 else 4 * tiles for tiles in coder.tiles]
    axes = [
        low + (high - low) * np.arange(-1, n + 2) / n for low, high, n in zip(coder.low, coder.high, steps, strict=True)
    ]
    lattice = np.array(list(itertools.product(*axes)), np.float32)
    lattice = np.random.default_rng(0).permutation(lattice)[:1000]
    corners = np.array(list(itertools.product(*zip(coder.low, coder.high, strict=True))), np.float32)
    lattice = np.concatenate([lattice, corners, corners * 3])
    np.testing.assert_array_equal(coder.active(lattice), [tiles_of(coder, point) for point in lattice])


@pytest.mark.parametrize("coder", EXACT, ids=named)
def test_a_tile_is_of_one_tiling_alone_and_has_a_number_below_the_size(coder):
    active = coder.active(points_in(coder, 3000, beyond=0.2))
    assert active.min() >= 0
    assert active.max() < coder.size
    per_tiling = math.prod(n + 1 for n in coder.tiles)
    assert coder.size == coder.tilings * per_tiling
    np.testing.assert_array_equal(active // per_tiling, np.broadcast_to(np.arange(coder.tilings), active.shape))


def test_without_displacement_every_cell_of_a_grid_has_a_number_of_its_own():
    coder = TileCoder([0, 0, 0], [3, 4, 5], (3, 4, 5), 1)
    cells = np.array(list(itertools.product(range(3), range(4), range(5)))) + np.float32(0.5)
    assert len(np.unique(coder.active(cells))) == 60


@pytest.mark.parametrize("coder", EXACT, ids=named)
def test_a_point_outside_the_box_counts_as_the_nearest_one_inside(coder):
    low, high = np.float32(coder.low), np.float32(coder.high)
    points = points_in(coder, 500, beyond=3.0)
    np.testing.assert_array_equal(coder.active(points), coder.active(np.clip(points, low, high)))
    np.testing.assert_array_equal(coder.active(np.full_like(low, -np.inf)), coder.active(low))
    np.testing.assert_array_equal(coder.active(np.full_like(high, np.inf)), coder.active(high))


def shared_with(coder, point, offsets):
    """How many tiles the point shares with others at these distances."""
    return (coder.active(np.float64(point)) == coder.active(np.float64(point) + offsets)).sum(axis=-1)


@pytest.mark.parametrize("direction", [(1, 0), (0, 1), (1, 1), (1, -1), (1, 3)])
def test_nearby_points_share_tiles_and_the_further_the_fewer(direction):
    steps = np.linspace(0, 1.2 / 8, 60)[:, None] * np.array(direction) / np.linalg.norm(direction, ord=np.inf)
    shares = [shared_with(TWO_DIMENSIONS, p, steps) for p in points_in(TWO_DIMENSIONS, 200) * 0.6 + 0.2]
    for shared in shares:
        assert shared[0] == 8
        assert (np.diff(shared) <= 0).all()  # a tile is convex: once left along a line, it is left for good
        assert shared[-1] == 0
    # Along one axis a tiling is left with probability distance / width: on average 8 (1 - distance / width) are shared.
    if 0 in direction:
        expected = 8 * np.clip(1 - np.linspace(0, 1.2, 60), 0, 1)
        np.testing.assert_allclose(np.mean(shares, axis=0), expected, atol=0.5)


def test_a_step_of_one_eighth_of_a_tile_leaves_exactly_one_of_eight_tilings():
    for axis in (0, 1):
        offset = np.eye(2)[axis] / 64
        for point in np.random.default_rng(0).uniform(0.1, 0.8, (100, 2)):
            assert shared_with(TWO_DIMENSIONS, point, offset) == 7


def test_all_tilings_are_displaced_differently_and_not_along_the_diagonal():
    shifts = TWO_DIMENSIONS.grid(np.float64).shifts
    assert ((shifts >= 0) & (shifts < 1)).all()
    for axis in (0, 1):
        assert sorted(shifts[:, axis] * 8) == list(range(8))
    assert (shifts[1:, 0] != shifts[1:, 1]).sum() >= 6  # 1 and 3 times k agree modulo 8 only where 2 k does with 0


@pytest.mark.parametrize("way", [(1, 1), (1, -1)])
def test_half_a_tile_along_a_diagonal_some_tiles_are_left_and_some_are_shared_wherever_the_point(way):
    """Four of eight tilings are left along each axis. With equal displacements these are somewhere the same four,
    elsewhere the other four: points would share half their tiles with one diagonal and none with the other."""
    points, offset = np.random.default_rng(0).uniform(0.2, 0.8, (4000, 2)), np.array(way) / 16
    shared = (TWO_DIMENSIONS.active(points) == TWO_DIMENSIONS.active(points + offset)).sum(axis=-1)
    assert set(shared) <= {1, 2, 3}
    cells = [np.floor(p[:, None] * 8 + np.arange(8)[:, None] / 8) for p in (points, points + offset)]
    assert {0, 4} <= set((cells[0] == cells[1]).all(axis=-1).sum(axis=-1))


@pytest.mark.parametrize(
    "coder", [*EXACT, TileCoder([-1.2, -0.07], [0.6, 0.07], 8, 8), TileCoder([0.1], [0.7], 7, 6)], ids=named
)
def test_both_array_libraries_find_the_same_tiles_bit_for_bit(coder):
    points = points_in(coder, 20_000, beyond=0.1)
    ours = np.asarray(jax.jit(coder.active)(jnp.asarray(points)))
    np.testing.assert_array_equal(ours, coder.active(points))
    assert ours.dtype == coder.active(points).dtype == np.int32


def test_a_batch_of_points_is_its_points_one_by_one():
    coder, points = EXACT[4], points_in(EXACT[4], 24)
    together = coder.active(points.reshape(2, 3, 4, 3))
    assert together.shape == (2, 3, 4, coder.tilings)
    np.testing.assert_array_equal(together.reshape(24, -1), [coder.active(point) for point in points])


@st.composite
def coders_and_points(draw):
    dimensions = draw(st.integers(1, 4))
    of_each = lambda strategy: draw(st.lists(strategy, min_size=dimensions, max_size=dimensions))  # noqa: E731
    low, width = of_each(st.floats(-1e3, 1e3)), of_each(st.floats(1e-2, 1e3))
    coder = TileCoder(low, np.add(low, width), of_each(st.integers(1, 9)), draw(st.integers(1, 16)))
    shares = np.array(draw(st.lists(st.tuples(*[st.floats(-0.5, 1.5)] * dimensions), min_size=1, max_size=6)))
    return coder, np.array(low) + shares * np.array(width)


@given(coders_and_points())
def test_whatever_the_box_tiles_are_those_of_the_plain_loop_but_for_rounding(both):
    coder, points = both
    active = coder.active(points)
    assert ((active >= 0) & (active < coder.size)).all()
    width = np.subtract(coder.high, coder.low) / coder.tiles
    nudge = 1e-9 * (width + np.abs(coder.low))
    for point, tiles in zip(points, active, strict=True):
        # Within rounding of an edge, either side of it will do: in one corner or other of a tiny box around it.
        ways = itertools.product((-1, 1), repeat=len(point))
        around = np.array([tiles_of(coder, point + nudge * np.array(way)) for way in ways])
        assert (around == tiles).any(axis=0).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([-math.inf], [1.0]), ["-inf"]),
        (([0.0], [math.inf]), ["inf"]),
        (([0.0, -math.inf], [1.0, math.inf]), ["-inf"]),
        (([math.nan], [1.0]), ["nan"]),
        (([0.0], [math.nan]), ["nan"]),
        (([1.0], [1.0]), ["1 and 1"]),
        (([2.0], [1.0]), ["2 and 1"]),
        (([0.0, 0.0], [1.0]), ["low has 2 and high 1"]),
        (([], []), ["low has 0"]),
        (([0.0], [1.0], 0), ["tiles is (0,)"]),
        (([0.0], [1.0], -3), ["tiles is (-3,)"]),
        (([0.0, 0.0], [1.0, 1.0], (8, 0)), ["tiles is (8, 0)"]),
        (([0.0, 0.0], [1.0, 1.0], (8,)), ["tiles is (8,)", "2 dimensions"]),
        (([0.0], [1.0], 8, 0), ["tilings is 0"]),
        (([0.0], [1.0], 8, -1), ["tilings is -1"]),
    ],
    ids=str,
)
def test_tiles_that_cannot_be_are_refused(arguments, words, refused):
    with refused(*words):
        TileCoder(*arguments)


@pytest.mark.parametrize(("dimensions", "words"), [(10, "2.8e+10 tiles"), (400, "countless tiles")])
def test_a_flattened_picture_has_more_tiles_than_an_array_holds(dimensions, words, refused):
    agent = dorax.LinearAgent(dorax.Softmax(1.0))
    with refused(words, "allowed: up to"):
        agent.learner(EnvSpec("picture", 2, low=(0.0,) * dimensions, high=(1.0,) * dimensions))


@pytest.mark.parametrize("numbers", [(8.5, 8), ((8.5,), 8), (8, 2.7)], ids=str)
def test_fractions_of_tiles_are_refused(numbers, refused):
    with refused("tili" if numbers[1] == 2.7 else "tiles"):
        TileCoder([0.0], [1.0], *numbers)


def test_whole_numbers_lie_in_the_tiles_that_the_same_floats_lie_in():
    coder, points = TileCoder([0], [20], 10, 4), np.arange(21)[:, None]
    np.testing.assert_array_equal(coder.active(points), coder.active(points.astype(np.float32)))
