"""Gymnasium spaces: enumerating their elements, splitting batches, and telling spaces apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from dorax.core.checks import InvalidInput

_MAX_ACTIONS = 1024


class Enumeration(NamedTuple):
    """The elements of a finite space, numbered from 0.

    Attributes:
        size: the number of elements.
        index_of: returns the index of an element; for anything else, a number that is no index.
    """

    size: int
    index_of: Callable[[Any], int]


def enumeration(space: spaces.Space[Any]) -> Enumeration | None:
    """Return the enumeration of a finite space, or None if the space is not finite.

    Text in tuples and dictionaries is left out.

    Args:
        space: the space.
    """
    match space:
        case spaces.Discrete():
            return Enumeration(int(space.n), partial(_offset, int(space.start)))
        case spaces.MultiDiscrete():
            starts = getattr(space, "start", np.zeros_like(space.nvec))
            return _digits([int(n) for n in space.nvec.ravel()], [int(x) for x in np.ravel(starts)])
        case spaces.MultiBinary():
            size = math.prod(space.shape)
            return _digits([2] * size, [0] * size)
        case spaces.Tuple():
            return _product(enumerate(space.spaces))
        case spaces.Dict():
            return _product(space.spaces.items())
        case _:
            return None


def enumerate_actions(space: spaces.Space[Any]) -> Enumeration:
    """Return the enumeration of an action space.

    Args:
        space: the action space.

    Raises:
        InvalidInput: if the space is not finite, or too large to keep a count for each action.
    """
    found = enumeration(space)
    if found is None or any(map(is_text, _nested(space))):
        raise InvalidInput(
            f"the action space is {in_one_line(space)}; allowed: Discrete, MultiDiscrete, MultiBinary and tuples "
            "of them (a count is kept for each action: continuous actions are not supported, discretise them)"
        )
    if found.size > _MAX_ACTIONS:
        raise InvalidInput(f"the action space has {found.size} actions; allowed: up to {_MAX_ACTIONS}")
    return found


def index_key(elements: Enumeration, space: spaces.Space[Any], observation: Any) -> int:
    """Return the index of an observation in a finite space.

    Args:
        elements: the elements of the space.
        space: the space.
        observation: an element.

    Raises:
        InvalidInput: if it is none.
    """
    key = elements.index_of(observation)
    if not 0 <= key < elements.size:
        raise InvalidInput(
            f"the observation is {in_one_line(observation)}; allowed: an element of {in_one_line(space)}"
        )
    return key


def is_text(space: spaces.Space[Any]) -> bool:
    """Return whether elements of a space are text, as MiniGrid's missions are too.

    Args:
        space: the space.
    """
    return space.dtype is not None and space.dtype.kind == "U"


def without_text(space: spaces.Space[Any]) -> spaces.Space[Any]:
    """Return a space without the parts that are text.

    Args:
        space: the space.
    """
    match space:
        case spaces.Dict():
            return spaces.Dict({name: without_text(part) for name, part in space.spaces.items() if not is_text(part)})
        case spaces.Tuple():
            return spaces.Tuple([without_text(part) for part in space.spaces if not is_text(part)])
        case _:
            return space


def as_finite(observation: Any) -> np.ndarray:
    """Convert an observation to float64.

    Args:
        observation: the observation.

    Returns:
        An array.

    Raises:
        InvalidInput: if the observation contains NaN or infinity.
    """
    numbers = np.asarray(observation, np.float64)
    is_bad = ~np.isfinite(numbers)
    if is_bad.any():
        raise InvalidInput(f"an observation contains {numbers[is_bad][0]}; allowed: finite numbers")
    return numbers


def bounds(box: spaces.Box) -> tuple[np.ndarray, np.ndarray]:
    """Return the flattened bounds of a Box, infinite where it is unbounded.

    Some environments use the largest number of the dtype for "unbounded".

    Args:
        box: the space.
    """
    low, high = np.ravel(box.low).astype(np.float64), np.ravel(box.high).astype(np.float64)
    largest = 1e30
    return np.where(low < -largest, -np.inf, low), np.where(high > largest, np.inf, high)


def unbatched(space: spaces.Space[Any], batch: Any) -> Sequence[Any]:
    """Split a batch, as a vector environment returns it, into elements of the space.

    Args:
        space: space of a single element.
        batch: an array, or a tuple or dictionary of batches; a list of elements is returned unchanged.

    Returns:
        The elements.
    """
    if isinstance(space, spaces.Dict) and isinstance(batch, dict):
        columns = [unbatched(part, batch[name]) for name, part in space.spaces.items()]
        return [dict(zip(space.spaces, element, strict=True)) for element in zip(*columns, strict=True)]
    if isinstance(space, spaces.Tuple) and isinstance(batch, tuple):
        return list(zip(*map(unbatched, space.spaces, batch), strict=True))
    return batch


def fingerprint(space: spaces.Space[Any]) -> str:
    """Return a digest of all arrays of a space, such as its bounds, which `str` abbreviates.

    Args:
        space: the space.
    """
    digest = blake2b(digest_size=16)
    for part in _nested(space):
        for array in vars(part).values():
            if isinstance(array, np.ndarray):
                digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _nested(space: spaces.Space[Any]) -> Iterator[spaces.Space[Any]]:
    yield space
    if isinstance(space, spaces.Tuple | spaces.Dict):
        for part in space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces:
            yield from _nested(part)


def in_one_line(thing: Any) -> str:
    """Return `str(thing)` without line breaks.

    Args:
        thing: any object.
    """
    return " ".join(str(thing).split())


def _offset(start: int, value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):  # None, NaN, infinity, several numbers
        return -1
    return number - start if number == value else -1


def _digits(sizes: Sequence[int], starts: Sequence[int]) -> Enumeration:
    return Enumeration(math.prod(sizes), partial(_index_of_digits, sizes, starts))


def _index_of_digits(sizes: Sequence[int], starts: Sequence[int], value: Any) -> int:
    digits, index = np.ravel(value).tolist(), 0
    if len(digits) != len(sizes):
        return -1
    for digit, size, start in zip(digits, sizes, starts, strict=True):
        if not 0 <= digit - start < size or digit % 1:
            return -1
        index = index * size + int(digit) - start
    return index


def _product(parts: Iterable[tuple[Any, spaces.Space[Any]]]) -> Enumeration | None:
    seen = [(enumeration(part), key) for key, part in parts if not is_text(part)]
    finite = [(part, key) for part, key in seen if part is not None]
    if len(finite) < len(seen) or not finite:
        return None
    return Enumeration(math.prod(part.size for part, _ in finite), partial(_index_in_product, finite))


def _index_in_product(parts: Sequence[tuple[Enumeration, Any]], value: Any) -> int:
    index = 0
    for part, key in parts:
        digit = part.index_of(value[key])
        if not 0 <= digit < part.size:
            return -1
        index = index * part.size + digit
    return index
