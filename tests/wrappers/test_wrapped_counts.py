import math
import re

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from dorax import EValues, InvalidInput, KWinners, Table, Tiles, Visits
from dorax.core import next_count
from dorax.wrappers import GeneralizedCounts

STATES, ACTIONS = 4, 3
RATE, DISCOUNT = 0.3, 0.8
PLAIN = spaces.Discrete(STATES), spaces.Discrete(ACTIONS)


def counts_of_everything(counts):
    return counts.of(range(STATES))


class Oracle:
    """E itself, by the paper's SARSA update, with nothing but multiplication."""

    def __init__(self):
        self.e = np.ones((STATES, ACTIONS))

    def update(self, state, action, successor):
        self.e[state, action] = (1 - RATE) * self.e[state, action] + RATE * DISCOUNT * successor

    @property
    def counts(self):
        return np.log(self.e) / math.log(1 - RATE)


steps_strategy = st.lists(
    st.tuples(
        st.integers(0, ACTIONS - 1),
        st.integers(0, STATES - 1),
        st.sampled_from(["goes on", "terminated", "truncated", "interrupted"]),
    ),
    max_size=40,
)


@given(steps_strategy)
def test_counts_are_e_values_learned_by_sarsa_from_the_actions_that_pass(steps):
    counts, oracle = GeneralizedCounts(*PLAIN, counter=EValues(DISCOUNT, learning_rate=RATE)), Oracle()
    counts.begin(0)
    state, waiting = 0, None
    for action, arrived, ending in steps:
        if waiting is not None:
            oracle.update(*waiting, oracle.e[state, action])
        provisional = (1 - RATE) * oracle.e[state, action]
        if ending != "terminated":
            provisional += RATE * DISCOUNT * oracle.e[arrived].mean()
        visited = counts.visit(action, arrived, ending == "terminated", ending == "truncated")
        assert visited == pytest.approx(math.log(provisional) / math.log(1 - RATE), abs=1e-9)
        waiting = (state, action)
        state = arrived
        if ending != "goes on":
            oracle.update(*waiting, 0.0 if ending == "terminated" else oracle.e[arrived].mean())
            waiting, state = None, 0
            counts.begin(0)
        if waiting is None:
            np.testing.assert_allclose(counts_of_everything(counts), oracle.counts, atol=1e-9)


@given(steps_strategy, st.sampled_from([Visits(), EValues(0.0), EValues(0.0, learning_rate=0.1)]))
def test_without_propagation_counts_are_visits(steps, counter):
    counts, visits = GeneralizedCounts(*PLAIN, counter=counter), np.zeros((STATES, ACTIONS))
    counts.begin(0)
    state = 0
    for action, arrived, ending in steps:
        visits[state, action] += 1
        assert counts.visit(action, arrived, ending == "terminated", False) == visits[state, action]
        state = arrived
        if ending == "terminated":
            state = 0
            counts.begin(0)
    counts.begin(0)
    np.testing.assert_array_equal(counts_of_everything(counts), visits)
    np.testing.assert_array_equal(counts.visits_of(range(STATES)), visits)


def test_a_visit_waits_for_its_next_action_before_it_is_counted():
    counts = GeneralizedCounts(*PLAIN)
    counts.begin(0)
    counts.visit(1, 2, False, False)
    assert counts_of_everything(counts).sum() == 0
    counts.visit(0, 3, False, False)
    assert counts.of([0])[0, 1] == pytest.approx(float(next_count(0.0, 0.0, 0.5, 0.99)))


def test_environments_share_their_counts_and_have_their_own_transitions():
    counts = GeneralizedCounts(*PLAIN, num_envs=2, counter=Visits())
    for i in (0, 1):
        counts.begin(i, i)
    for _ in range(3):
        counts.visit(0, 0, False, False, 0)
        counts.visit(0, 1, False, False, 1)
    for i in (0, 1):
        counts.begin(0, i)
    np.testing.assert_array_equal(counts_of_everything(counts)[:, 0], [3, 3, 0, 0])
    counts.visit(1, 0, True, False, 0)
    assert counts.visit(1, 0, True, False, 1) == 2


BOX = spaces.Box(np.array([0, 0], np.float32), np.array([1, 1], np.float32))


@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.floats(0, 1, width=32)), min_size=1, max_size=20))
def test_one_tiling_is_a_table_of_its_tiles(points):
    tiled = GeneralizedCounts(BOX, spaces.Discrete(2), features=Tiles(tiles=4, tilings=1))
    table = GeneralizedCounts(spaces.MultiDiscrete([5, 5]), spaces.Discrete(2))
    tiles = [tuple(int(4 * x) for x in point) for point in points]
    tiled.begin(np.float32(points[0]))
    table.begin(tiles[0])
    for i, (point, tile) in enumerate(zip(points, tiles, strict=True)):
        assert tiled.visit(i % 2, np.float32(point), False, False) == table.visit(i % 2, tile, False, False)


def test_tiles_count_visits_nearby_and_none_far_away():
    counts = GeneralizedCounts(BOX, spaces.Discrete(1), counter=Visits())
    here = np.array([0.4, 0.4], np.float32)
    for _ in range(10):
        counts.begin(here)
        counts.visit(0, here, True, False)
    near, far = counts.of([np.array([0.42, 0.4], np.float32), np.array([0.9, 0.9], np.float32)])[:, 0]
    assert counts.of([here])[0, 0] == pytest.approx(10)
    assert 5 < near <= 10
    assert far == 0


def test_a_dimension_without_a_bound_is_squeezed_and_told_apart_around_zero():
    space = spaces.Box(-np.inf, np.inf, (1,))
    counts = GeneralizedCounts(space, spaces.Discrete(1), counter=Visits())
    for _ in range(4):
        counts.begin(np.array([0.0], np.float32))
        counts.visit(0, np.array([0.0], np.float32), True, False)
    at = counts.of([np.array([x], np.float32) for x in (0.0, 1.0, 1e6)])[:, 0]
    assert at[0] == pytest.approx(4)
    assert at[1] == at[2] == 0


def test_where_every_observation_is_a_state_a_box_may_be_a_table():
    space = spaces.Box(0, 9, (7, 7, 3), np.uint8)
    counts = GeneralizedCounts(space, spaces.Discrete(2), counter=Visits(), features=Table())
    first, second = np.zeros((7, 7, 3), np.uint8), np.ones((7, 7, 3), np.uint8)
    counts.begin(first)
    for arrived in (second, first, second):
        counts.visit(1, arrived, False, False)
    counts.begin(first)
    np.testing.assert_array_equal(counts.of([first, second]), [[0, 2], [0, 1]])


def pixels(state, time, is_busy, side=8, cell=5):
    """A white square on grey: the picture of where somebody stands; if it is busy, with three cars that pass."""
    image = np.full((side * cell, side * cell, 3), 40, np.uint8)
    row, column = divmod(state, side)
    image[row * cell : (row + 1) * cell, column * cell : (column + 1) * cell] = 255
    for car in range(3 if is_busy else 0):
        place = (time * (car + 1) + car * 7) % 32
        image[5 + 12 * car : 8 + 12 * car, place : place + 8] = 160
    return image


@pytest.mark.slow
@pytest.mark.parametrize("is_busy", [False, True])
def test_random_codes_count_visits_from_pictures(is_busy):
    space = spaces.Box(0, 255, pixels(0, 0, is_busy).shape, np.uint8)
    counts = GeneralizedCounts(space, spaces.Discrete(4), counter=Visits())
    assert counts.features == KWinners()
    random, visits = np.random.default_rng(0), np.zeros((64, 4))
    state = 0
    counts.begin(pixels(state, 0, is_busy))
    for time in range(4000):
        action = random.integers(4)
        row, column = divmod(state, 8)
        step = ((-1, 0), (0, 1), (1, 0), (0, -1))[action]
        arrived = min(max(row + step[0], 0), 7) * 8 + min(max(column + step[1], 0), 7)
        visits[state, action] += 1
        counts.visit(action, pixels(arrived, time, is_busy), False, False)
        state = arrived
    known = counts.of([pixels(state, 4000, is_busy) for state in range(64)])
    ranks = [np.argsort(np.argsort(x.ravel())) for x in (known, visits)]
    assert np.corrcoef(ranks[0], ranks[1])[0, 1] > 0.7
    assert 0.5 < known.sum() / visits.sum() < 2


@pytest.mark.parametrize("widest", [1.0, 1e4])
@pytest.mark.parametrize("dimensions", [9, 20, 64])
def test_random_codes_tell_points_of_many_dimensions_apart_however_wide_one_of_them_is(dimensions, widest):
    high = np.ones(dimensions, np.float32)
    high[0] = widest
    counts = GeneralizedCounts(spaces.Box(0 * high, high), spaces.Discrete(1), counter=Visits())
    random = np.random.default_rng(0)
    seen, new = (random.random((60, dimensions)).astype(np.float32) * high for _ in range(2))
    new[:, 0] = seen[:, 0]
    for _ in range(15):
        for point in seen:
            counts.begin(point)
            counts.visit(0, point, True, False)
    assert 10 < counts.of(seen).mean() < 30
    assert counts.of(new).mean() < 0.5 * counts.of(seen).mean()


def test_the_two_zeros_of_floats_are_one_state_and_large_whole_numbers_are_two():
    counts = GeneralizedCounts(spaces.Box(-1, 1, (1,)), spaces.Discrete(1), counter=Visits(), features=Table())
    counts.begin(np.array([0.0], np.float32))
    counts.visit(0, np.array([0.0], np.float32), True, False)
    assert counts.of([np.array([-0.0], np.float32)])[0, 0] == 1
    counts = GeneralizedCounts(
        spaces.Box(0, 2**62, (1,), np.int64), spaces.Discrete(1), counter=Visits(), features=Table()
    )
    counts.begin(np.array([2**60]))
    counts.visit(0, np.array([2**60]), True, False)
    assert counts.of([np.array([2**60 + 1])])[0, 0] == 0


def test_a_dimension_that_never_varies_lies_in_one_tile():
    counts = GeneralizedCounts(
        spaces.Box(np.array([0, 3], np.float32), np.array([1, 3], np.float32)), spaces.Discrete(1), counter=Visits()
    )
    counts.begin(np.array([0.5, 3], np.float32))
    assert counts.visit(0, np.array([0.5, 3], np.float32), True, False) == pytest.approx(1)


@pytest.mark.parametrize(
    ("space", "features"),
    [
        (spaces.Discrete(3), Table()),
        (spaces.Tuple([spaces.Discrete(3), spaces.MultiBinary(2)]), Table()),
        (BOX, Tiles()),
        (spaces.Box(0, 1, (9,)), KWinners()),
        (spaces.Box(0, 255, (84, 84, 4), np.uint8), KWinners()),
    ],
    ids=str,
)
def test_the_space_says_what_counts_are_kept_by(space, features):
    assert GeneralizedCounts(space, spaces.Discrete(2)).features == features


@pytest.mark.parametrize("discount", [0.5, 0.99])
def test_the_learning_rate_of_e_values_is_a_half_unless_given(discount):
    """E after the first visit of a pair whose successor is new: 1 - a + a g."""
    counts = GeneralizedCounts(*PLAIN, counter=EValues(discount))
    counts.begin(0)
    expected = math.log(0.5 + 0.5 * discount) / math.log(0.5)
    assert counts.visit(0, 1, False, False) == pytest.approx(expected)
    assert counts.learning_rate == 0.5


def test_numbers_of_a_counter_may_be_arrays_without_dimensions_and_a_step_size_of_one():
    counts = GeneralizedCounts(*PLAIN, counter=EValues(np.float32(0.5), np.array(0.25), step_size=1.0))
    counts.begin(0)
    count = counts.visit(0, 1, False, False)
    assert type(count) is float
    assert count == pytest.approx(math.log(0.75 + 0.25 * 0.5) / math.log(0.75))


@pytest.mark.parametrize(
    ("counter", "words"),
    [
        (EValues(0.9, form="logistic"), "the form of E-values is 'logistic'; wrappers support 'count'"),
        (EValues(0.9, successor_rule="max"), "successor_rule is 'max'; wrappers support 'sarsa'"),
        (EValues(0.9, step_size=0.5), "the step size of E-values is 0.5; wrappers support 1, the default"),
        (EValues(np.array([0.5, 0.9])), "the exploration discount is [0.5 0.9]; wrappers support one number"),
        (Visits, "allowed: EValues, such as EValues(0.99), or Visits()"),
        (0.9, "counter is 0.9; allowed: EValues, such as EValues(0.99), or Visits()"),
    ],
    ids=str,
)
def test_counters_that_wrappers_do_not_support_are_refused(counter, words):
    with pytest.raises(InvalidInput, match=re.escape(words)) as caught:
        GeneralizedCounts(*PLAIN, counter=counter)
    assert "\n" not in str(caught.value)


def test_spaces_that_cannot_be_counted_are_refused(refused):
    with refused("tuples and dictionaries of them"):
        GeneralizedCounts(spaces.Dict({"a": spaces.Sequence(spaces.Discrete(2))}), spaces.Discrete(2))
    with refused("not only text"):
        GeneralizedCounts(spaces.Dict({"a": spaces.Text(3)}), spaces.Discrete(2))
    with refused("continuous actions are not supported"):
        GeneralizedCounts(spaces.Discrete(2), spaces.Box(0, 1))
    with refused("allowed: Table, HashedCodes, Prototypes"):
        GeneralizedCounts(spaces.Discrete(2), spaces.Discrete(2), features=Tiles())
    with refused("tiles is"):
        GeneralizedCounts(BOX, spaces.Discrete(2), features=Tiles(tiles=2.5))  # pyright: ignore[reportArgumentType]  # what is refused
    with refused("low is (0, 0, 0)"):
        GeneralizedCounts(BOX, spaces.Discrete(2), features=Tiles(low=[0, 0, 0]))
    with refused("features is 'tiles'"):
        GeneralizedCounts(spaces.Discrete(2), spaces.Discrete(2), features="tiles")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("features", [Tiles(), KWinners(units=64), Table()], ids=str)
@pytest.mark.parametrize("box", [BOX, spaces.Box(0, 9, (2,), np.int32)], ids=str)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_an_observation_that_is_no_number_is_refused(features, box, bad, refused):
    counts = GeneralizedCounts(box, spaces.Discrete(2), features=features)
    with refused("an observation contains"):
        counts.begin(np.array([0.5, bad], np.float32))


@pytest.mark.parametrize("space", [spaces.Discrete(4), spaces.Tuple([spaces.Discrete(4)])], ids=str)
def test_nan_is_no_state_of_a_table(space, refused):
    with refused("the observation is", "nan"):
        GeneralizedCounts(space, spaces.Discrete(2)).begin((np.nan,) if isinstance(space, spaces.Tuple) else np.nan)


def test_what_is_not_of_the_space_is_refused(refused):
    counts = GeneralizedCounts(*PLAIN)
    shaped = GeneralizedCounts(spaces.Box(0, 1, (3, 4, 4)), spaces.Discrete(2))
    with refused("has the shape (4, 4, 3)"):
        shaped.begin(np.zeros((4, 4, 3)))
    with refused("the observation is 4"):
        counts.begin(4)
    with refused("environment 0 has no episode", "after begin(observation)"):
        counts.visit(0, 0, False, False)
    counts.begin(0)
    with refused("the action is 3"):
        counts.visit(3, 0, False, False)
