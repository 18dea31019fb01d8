import itertools
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array

from dorax.wrappers.spaces import Enumeration, enumerate_actions, enumeration, fingerprint, unbatched

COUNTABLE = [
    spaces.Discrete(5),
    spaces.Discrete(3, start=-1),
    spaces.MultiDiscrete([2, 3, 4]),
    spaces.MultiDiscrete(np.array([[2, 3], [4, 1]])),
    spaces.MultiDiscrete([2, 2], start=[5, -5]),
    spaces.MultiBinary(3),
    spaces.Tuple([spaces.Discrete(2), spaces.MultiDiscrete([3, 2])]),
    spaces.Dict({"where": spaces.Discrete(4), "holds": spaces.MultiBinary(2)}),
]


def enumerated(space: spaces.Space[Any]) -> Enumeration:
    found = enumeration(space)
    assert found is not None
    return found


def points(space: spaces.Space[Any]) -> Any:
    """All points of a space, written down one by one."""
    match space:
        case spaces.Discrete():
            return [np.int64(space.start + i) for i in range(space.n)]
        case spaces.MultiDiscrete():
            ranges = [range(s, s + n) for n, s in zip(space.nvec.ravel(), np.ravel(space.start), strict=True)]
            return [np.array(point).reshape(space.shape) for point in itertools.product(*ranges)]
        case spaces.MultiBinary(n=int() as n):
            return [np.array(point, np.int8) for point in itertools.product((0, 1), repeat=n)]
        case spaces.Tuple():
            return list(itertools.product(*map(points, space.spaces)))
        case spaces.Dict():
            parts = [points(part) for part in space.spaces.values()]
            return [dict(zip(space.spaces, point, strict=True)) for point in itertools.product(*parts)]


@pytest.mark.parametrize("space", COUNTABLE, ids=str)
def test_every_point_of_a_countable_space_has_a_number_of_its_own(space):
    size, index_of = enumerated(space)
    assert sorted(index_of(point) for point in points(space)) == list(range(size))


def test_a_space_of_more_points_than_any_integer_of_numpy_still_tells_them_apart():
    space = spaces.MultiDiscrete([10] * 40)
    size, index_of = enumerated(space)
    assert size == 10**40
    assert index_of(np.full(40, 9)) == 10**40 - 1
    assert index_of(np.r_[1, np.zeros(39, int)]) == 10**39


@pytest.mark.parametrize(
    "space", [spaces.Box(0, 1), spaces.Tuple([spaces.Discrete(2), spaces.Box(0, 1)]), spaces.Text(3)], ids=str
)
def test_what_cannot_be_counted_has_no_numbers(space):
    assert enumeration(space) is None


@pytest.mark.parametrize("space", COUNTABLE, ids=str)
def test_points_that_come_together_are_taken_apart_as_gymnasium_puts_them_together(space):
    space.seed(0)
    several = [space.sample() for _ in range(3)]
    together = concatenate(space, several, create_empty_array(space, 3))
    index_of = enumerated(space).index_of
    assert [index_of(point) for point in unbatched(space, together)] == [index_of(point) for point in several]
    assert unbatched(space, several) is several


def test_spaces_that_are_written_alike_are_told_apart():
    sizes = np.full(1200, 3)
    other = sizes.copy()
    other[600] = 2
    alike = [spaces.Dict({"x": spaces.Tuple([spaces.MultiDiscrete(each)])}) for each in (sizes, other)]
    assert str(alike[0]) == str(alike[1])
    assert fingerprint(alike[0]) != fingerprint(alike[1])
    assert fingerprint(alike[0]) == fingerprint(spaces.Dict({"x": spaces.Tuple([spaces.MultiDiscrete(sizes)])}))


@pytest.mark.parametrize("value", [2.7, np.nan, np.inf, None, np.array([1, 2]), "?"], ids=str)
def test_what_is_no_whole_number_is_no_state(value):
    assert enumerated(spaces.Discrete(4, start=-2)).index_of(value) < 0


@pytest.mark.parametrize("value", [[0, 0, 4], [0, -1, 0], [0, 0], [0, 0, 0, 0], [0, 0.5, 0], [0, np.nan, 0]])
def test_what_is_not_of_the_space_has_no_number(value):
    assert enumerated(spaces.MultiDiscrete([2, 3, 4])).index_of(np.array(value)) < 0
    assert enumerated(spaces.Tuple([spaces.MultiDiscrete([2, 3, 4])])).index_of((np.array(value),)) < 0


def test_continuous_actions_are_refused_with_a_clear_word(refused):
    with refused("continuous actions are not supported"):
        enumerate_actions(spaces.Box(-1, 1, (2,)))


def test_more_actions_than_a_state_can_keep_counts_for_are_refused(refused):
    with refused("has 4096 actions"):
        enumerate_actions(spaces.MultiBinary(12))
