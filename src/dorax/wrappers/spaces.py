"""Gymnasium spaces: their points as numbers, points that come together, and what tells two spaces apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from dorax.core.checks import InvalidInput

_MOST_ACTIONS = 1024


class Numbering(NamedTuple):
    """How many points there are, and which of them a value is, or a number below 0 if none."""

    size: int
    number: Callable[[Any], int]


def numbering(space: spaces.Space[Any]) -> Numbering | None:
    """The numbering of a space of countably many points; None where there are too many to count."""
    match space:
        case spaces.Discrete():
            return Numbering(int(space.n), partial(_offset, int(space.start)))
        case spaces.MultiDiscrete():
            starts = getattr(space, "start", np.zeros_like(space.nvec))
            return _digits([int(n) for n in space.nvec.ravel()], [int(x) for x in np.ravel(starts)])
        case spaces.MultiBinary():
            size = math.prod(space.shape)
            return _digits([2] * size, [0] * size)
        case spaces.Tuple():
            return _parts([numbering(part) for part in space.spaces], range(len(space.spaces)))
        case spaces.Dict():
            return _parts([numbering(part) for part in space.spaces.values()], list(space.spaces))
        case _:
            return None


def actions_of(space: spaces.Space[Any]) -> Numbering:
    """The numbering of actions, of which there must be few: a state keeps a count for each."""
    found = numbering(space)
    if found is None:
        raise InvalidInput(
            f"the action space is {in_one_line(space)}; allowed: Discrete, MultiDiscrete, MultiBinary and tuples "
            "of them (a count is kept for each action: continuous actions are not supported, offer a few of them)"
        )
    if found.size > _MOST_ACTIONS:
        raise InvalidInput(f"the action space has {found.size} actions; allowed: up to {_MOST_ACTIONS}")
    return found


def finite(observation: Any) -> np.ndarray:
    """The observation, which must be made of finite numbers."""
    numbers = np.asarray(observation, np.float64)
    is_bad = ~np.isfinite(numbers)
    if is_bad.any():
        raise InvalidInput(f"an observation contains {numbers[is_bad][0]}; allowed: finite numbers")
    return numbers


def each_of(space: spaces.Space[Any], together: Any) -> Sequence[Any]:
    """Points of a space one by one, as they come from a vector environment: tuples and dictionaries of columns.

    What is a list already is taken as it is.
    """
    if isinstance(space, spaces.Dict) and isinstance(together, dict):
        columns = [each_of(part, together[name]) for name, part in space.spaces.items()]
        return [dict(zip(space.spaces, point, strict=True)) for point in zip(*columns, strict=True)]
    if isinstance(space, spaces.Tuple) and isinstance(together, tuple):
        return list(zip(*map(each_of, space.spaces, together), strict=True))
    return together


def fingerprint(space: spaces.Space[Any]) -> str:
    """Tells spaces apart that are written alike: of many numbers only the first and last are written."""
    found = blake2b(digest_size=16)
    for part in _parts_of(space):
        for array in vars(part).values():
            if isinstance(array, np.ndarray):
                found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def _parts_of(space: spaces.Space[Any]) -> Iterator[spaces.Space[Any]]:
    yield space
    if isinstance(space, spaces.Tuple | spaces.Dict):
        for part in space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces:
            yield from _parts_of(part)


def in_one_line(thing: Any) -> str:
    return " ".join(str(thing).split())


def _offset(start: int, value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):  # None, NaN, infinity, several numbers
        return -1
    return number - start if number == value else -1


def _digits(sizes: Sequence[int], starts: Sequence[int]) -> Numbering:
    return Numbering(math.prod(sizes), partial(_number_of_digits, sizes, starts))


def _number_of_digits(sizes: Sequence[int], starts: Sequence[int], value: Any) -> int:
    digits, total = np.ravel(value).tolist(), 0
    if len(digits) != len(sizes):
        return -1
    for digit, size, start in zip(digits, sizes, starts, strict=True):
        if not 0 <= digit - start < size or digit % 1:
            return -1
        total = total * size + int(digit) - start
    return total


def _parts(parts: Sequence[Numbering | None], keys: Sequence[Any]) -> Numbering | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    pairs = list(zip(known, keys, strict=True))
    return Numbering(math.prod(part.size for part in known), partial(_number_of_parts, pairs))


def _number_of_parts(parts: Sequence[tuple[Numbering, Any]], value: Any) -> int:
    total = 0
    for part, key in parts:
        digit = part.number(value[key])
        if not 0 <= digit < part.size:
            return -1
        total = total * part.size + digit
    return total
