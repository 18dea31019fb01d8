"""Observations with several parts, such as dictionaries, as one vector. Text is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from dorax.core.checks import InvalidInput
from dorax.wrappers.inputs import downsampled
from dorax.wrappers.spaces import Enumeration, enumeration, in_one_line, index_key, is_text

_MOST_ONES = 256  # values of a discrete part that get a number each; of more values, the index is one number
_MOST_NUMBERS = 1024  # of an array; larger ones are downsampled


class Part(NamedTuple):
    """Part of a vector.

    Attributes:
        low: lower bounds.
        high: upper bounds.
        values: computes the numbers of an observation.
    """

    low: np.ndarray
    high: np.ndarray
    values: Callable[[Any], np.ndarray]


def as_box(space: spaces.Space[Any]) -> tuple[spaces.Box, Callable[[Any], Any]]:
    """Return a space as a Box, and the function that makes its observations elements of it.

    A Box remains as it is. The parts of a tuple or a dictionary are written one after the other, discrete ones as
    vectors with a single 1 (above 256 values as one number), large arrays downsampled; text is left out.

    Args:
        space: the space.

    Raises:
        InvalidInput: if a part is something else.
    """
    if isinstance(space, spaces.Box):
        return space, _unchanged
    parts = [*_parts(space, ())]
    if not parts:
        raise InvalidInput(f"the observation space is {in_one_line(space)}; allowed: one that is not only text")
    low, high = np.concatenate([part.low for part in parts]), np.concatenate([part.high for part in parts])
    dtype = low.dtype
    whole = spaces.Box(low.astype(dtype), high.astype(dtype), dtype=dtype.type)
    return whole, Joined([part.values for part in parts])


class Joined:
    """Concatenates the parts of an observation.

    Args:
        parts: functions that compute the parts.
    """

    def __init__(self, parts: list[Callable[[Any], np.ndarray]]) -> None:
        self._parts = parts

    def __call__(self, observation: Any) -> np.ndarray:
        """Return the vector of an observation."""
        return np.concatenate([part(observation) for part in self._parts])


class _OneHot:
    """A discrete part as a vector with a single 1."""

    def __init__(self, space: spaces.Discrete, elements: Enumeration, path: tuple[Any, ...]) -> None:
        self._space, self._elements, self._path = space, elements, path

    def __call__(self, observation: Any) -> np.ndarray:
        index = index_key(self._elements, self._space, _at(observation, self._path))
        if self._elements.size > _MOST_ONES:
            return np.array([index])
        ones = np.zeros(self._elements.size, np.uint8)
        ones[index] = 1
        return ones


class _Array:
    """A Box as a vector."""

    def __init__(self, box: spaces.Box, path: tuple[Any, ...]) -> None:
        self._box, self._path = box, path

    def __call__(self, observation: Any) -> np.ndarray:
        x = np.asarray(_at(observation, self._path))
        if x.shape != self._box.shape:
            raise InvalidInput(f"an observation has the shape {x.shape}; allowed: that of its space, {self._box.shape}")
        return _reduced(x)


def _parts(space: spaces.Space[Any], path: tuple[Any, ...]) -> Iterator[Part]:
    match space:
        case _ if is_text(space):
            return
        case spaces.Box():
            yield Part(_reduced(space.low), _reduced(space.high), _Array(space, path))
        case spaces.Dict():
            for name, part in space.spaces.items():
                yield from _parts(part, (*path, name))
        case spaces.Tuple():
            for i, part in enumerate(space.spaces):
                yield from _parts(part, (*path, i))
        case spaces.Discrete():
            elements = enumeration(space)
            assert elements is not None
            size = elements.size
            high = np.array([size - 1]) if size > _MOST_ONES else np.ones(size, np.uint8)
            yield Part(np.zeros_like(high), high, _OneHot(space, elements, path))
        case spaces.MultiDiscrete() | spaces.MultiBinary():
            low = np.ravel(getattr(space, "start", np.zeros(space.shape, np.uint8)))
            sizes = np.ravel(space.nvec) if isinstance(space, spaces.MultiDiscrete) else np.full(low.shape, 2, np.uint8)
            box = spaces.Box(low.reshape(space.shape), (low + sizes - 1).reshape(space.shape), dtype=low.dtype.type)
            yield Part(low, low + sizes - 1, _Array(box, path))
        case _:
            raise InvalidInput(
                f"the observation space is {in_one_line(space)}; allowed: Discrete, MultiDiscrete, MultiBinary, Box, "
                "and tuples and dictionaries of them"
            )


def _reduced(x: np.ndarray) -> np.ndarray:
    """Return an array as a vector, downsampled if it is large."""
    return np.ravel(downsampled(x.astype(np.float32)) if x.size > _MOST_NUMBERS else x)


def _at(observation: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        observation = observation[key]
    return observation


def _unchanged(observation: Any) -> Any:
    return observation
