"""What counts are kept by: the state itself, tiles, or a network; given by the user or chosen from the space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces

from dorax.core.checks import InvalidInput
from dorax.features.specs import Features, KWinners, Table, Tiles
from dorax.features.tiles import Grid, TileCoder, cells
from dorax.wrappers.kwinners import KWinnersCoder
from dorax.wrappers.spaces import Numbering, finite, in_one_line, numbering

_MOST_TILED = 8  # dimensions; beyond, hardly two points share a tile

Keys = tuple[int, ...]


def chosen_for(space: spaces.Space[Any]) -> Features:
    """Tables where states can be numbered, tiles in few dimensions, random codes for the rest."""
    if numbering(space) is not None:
        return Table()
    if not isinstance(space, spaces.Box):
        raise InvalidInput(
            f"the observation space is {in_one_line(space)}; allowed: Discrete, MultiDiscrete, MultiBinary, Box, and "
            "tuples and dictionaries without a Box (gymnasium.wrappers.FlattenObservation makes one Box of them)"
        )
    if len(space.shape) <= 1 and int(np.prod(space.shape)) <= _MOST_TILED:
        return Tiles()
    return KWinners()


class Coder(Protocol):
    """Describes an observation by the keys that its counts are stored under."""

    def keys(self, observation: Any, /) -> Keys: ...

    def notice(self, observation: Any) -> None:
        """Take account of an observation that was visited, where that makes a difference."""

    def arrays(self) -> dict[str, np.ndarray]:
        """What it has taken account of so far."""
        ...

    def restore(self, arrays: dict[str, np.ndarray]) -> None: ...


def coder_of(space: spaces.Space[Any], features: Features, seed: int) -> Coder:
    match features:
        case Table():
            return _Fixed(_table_keys(space))
        case Tiles():
            return _Fixed(_tile_keys(_box(space, features), features))
        case KWinners():
            return KWinnersCoder(_box(space, features), features.units, features.active, seed)
        case _:
            raise InvalidInput(f"features is {features!r}; allowed: Table(), Tiles(), KWinners() or None")


class _Fixed:
    """Keys that depend on the observation alone."""

    def __init__(self, keys: Callable[[Any], Keys]) -> None:
        self.keys = keys

    def notice(self, observation: Any) -> None:
        del observation

    def arrays(self) -> dict[str, np.ndarray]:
        return {}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        del arrays


def _table_keys(space: spaces.Space[Any]) -> Callable[[Any], Keys]:
    found = numbering(space)
    if found is not None:
        return partial(_numbered, found, space)
    return partial(_hashed, _box(space, Table()).dtype)


def _numbered(points: Numbering, space: spaces.Space[Any], observation: Any) -> Keys:
    key = points.number(observation)
    if not 0 <= key < points.size:
        raise InvalidInput(f"the observation is {in_one_line(observation)}; allowed: a point of {in_one_line(space)}")
    return (key,)


def _hashed(dtype: np.dtype[Any], observation: Any) -> Keys:
    numbers = np.asarray(observation)
    if not np.issubdtype(numbers.dtype, np.integer):
        numbers = finite(numbers) + 0.0  # which makes one of the two zeros that floats have
    content = numbers.astype(dtype).tobytes()
    return (int.from_bytes(blake2b(content, digest_size=16).digest(), "little"),)


def _tile_keys(box: spaces.Box, features: Tiles) -> Callable[[Any], Keys]:
    low, high = _bounds(box)
    low = low if features.low is None else _numbers("low", features.low, low.shape)
    high = high if features.high is None else _numbers("high", features.high, high.shape)
    high = np.where(high == low, low + 1.0, high)  # what never varies lies in one tile
    is_bounded = np.isfinite(low) & np.isfinite(high)
    tiles = tuple(features.tiles) if isinstance(features.tiles, Sequence) else features.tiles
    coder = TileCoder(
        np.where(is_bounded, low, -1.0).tolist(), np.where(is_bounded, high, 1.0).tolist(), tiles, features.tilings
    )
    return partial(_tiled, coder.grid(np.float64), None if is_bounded.all() else is_bounded)


def _tiled(grid: Grid, is_bounded: np.ndarray | None, observation: Any) -> Keys:
    point = finite(observation).ravel()
    places = cells(point if is_bounded is None else _squeezed(point, is_bounded), grid)
    return tuple(int.from_bytes(place, "little") * len(places) + i for i, place in enumerate(places))


def _bounds(box: spaces.Box) -> tuple[np.ndarray, np.ndarray]:
    """The bounds of a Box, infinite where it has none, in one row each.

    Some environments write the largest number of the dtype where they mean no bound.
    """
    low, high = np.ravel(box.low).astype(np.float64), np.ravel(box.high).astype(np.float64)
    largest = 1e30
    return np.where(low < -largest, -np.inf, low), np.where(high > largest, np.inf, high)


def _squeezed(x: np.ndarray, is_bounded: np.ndarray) -> np.ndarray:
    """What has no bound is brought into (-1, 1)."""
    return np.where(is_bounded, x, x / (1 + np.abs(x)))


def _numbers(name: str, given: Any, shape: tuple[int, ...]) -> np.ndarray:
    try:
        return np.broadcast_to(np.asarray(given, np.float64), shape)
    except ValueError:
        raise InvalidInput(f"{name} is {given}; allowed: a number, or one for each of {shape[0]} dimensions") from None


def _box(space: spaces.Space[Any], features: Features) -> spaces.Box:
    if not isinstance(space, spaces.Box):
        raise InvalidInput(
            f"the observation space is {in_one_line(space)}; allowed: Box, with {type(features).__name__}"
        )
    return space
