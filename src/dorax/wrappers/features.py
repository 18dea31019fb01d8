"""Features for counts: the keys under which the counts of an observation are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces

from dorax.core.checks import InvalidInput
from dorax.features.specs import (
    CountNetwork,
    Features,
    HashedCodes,
    KWinners,
    LearnedPrototypes,
    Prototypes,
    RandomStart,
    Table,
    Tiles,
)
from dorax.features.tiles import Grid, TileCoder, cells
from dorax.wrappers.codes import PrototypeCoder, SignCoder
from dorax.wrappers.kwinners import KWinnersCoder
from dorax.wrappers.parts import as_box
from dorax.wrappers.spaces import Enumeration, as_finite, bounds, enumeration, in_one_line, index_key

_MAX_TILED_DIMENSIONS = 8  # with more, hardly two observations share a tile

Keys = tuple[int, ...]


def default_features(space: spaces.Space[Any]) -> Features:
    """Choose features by the space: a table if it is finite, tiles in few dimensions, random codes otherwise.

    Args:
        space: the observation space.

    Returns:
        The features.

    Raises:
        InvalidInput: if the space is not supported.
    """
    if enumeration(space) is not None:
        return Table()
    box, _ = as_box(space)
    if len(box.shape) <= 1 and int(np.prod(box.shape)) <= _MAX_TILED_DIMENSIONS:
        return Tiles()
    return KWinners()


class Coder(Protocol):
    """Maps observations to the keys under which their counts are stored."""

    def keys(self, observation: Any, /) -> Keys:
        """Return the keys of an observation."""
        ...

    def visit(self, observation: Any, /) -> Keys:
        """Return the keys of an observation that is visited, which may be new."""
        ...

    def merged(self) -> dict[int, int]:
        """Merge keys if there is no room for more; return what each merged key has become."""
        ...

    def observe(self, observation: Any) -> None:
        """Update statistics of the observations, if the coder keeps any."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Return what was learned of the observations, to be saved."""
        ...

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Replace what was learned by what `arrays` returned."""
        ...


def make_coder(space: spaces.Space[Any], features: Features, seed: int) -> Coder:
    """Make the coder of a space.

    Args:
        space: the observation space.
        features: how counts are stored.
        seed: seed of the random codes of `KWinners` and `HashedCodes`.

    Returns:
        The coder.
    """
    elements = enumeration(space)
    if elements is not None and isinstance(features, Table | HashedCodes | Prototypes):
        return _FixedCoder(partial(_index_key, elements, space))  # every state has an entry
    _check_kind(features)
    if elements is not None:
        name = type(features).__name__
        raise InvalidInput(
            f"features are {name} for {in_one_line(space)}, which is finite; allowed: Table, HashedCodes, Prototypes"
        )
    box, vector = as_box(space)
    coder = _box_coder(box, features, seed)
    return coder if box is space else _PartsCoder(coder, vector)


def _check_kind(features: Any) -> None:
    if isinstance(features, LearnedPrototypes | CountNetwork | RandomStart):
        name = type(features).__name__
        raise InvalidInput(f"features of GeneralizedCounts are {name}; allowed: {name} in an Exploration or a wrapper")
    if not isinstance(features, Table | Tiles | KWinners | HashedCodes | Prototypes):
        raise InvalidInput(
            f"features is {features!r}; allowed: Table(), Tiles(), KWinners(), HashedCodes(), "
            "Prototypes(), LearnedPrototypes(), CountNetwork(), RandomStart() or None"
        )


def _box_coder(box: spaces.Box, features: Any, seed: int) -> Coder:
    match features:
        case Tiles():
            return _FixedCoder(_tile_keys(box, features))
        case KWinners():
            return KWinnersCoder(box, features.units, features.active, seed)
        case HashedCodes():
            return SignCoder(box, features, seed)
        case Prototypes():
            return PrototypeCoder(box, features)
        case _:
            return _FixedCoder(partial(_hash_key, box.dtype))


def takes_smallest(features: Features) -> bool:
    """Return whether the count of a state is the smallest of its entries, instead of their sum.

    Args:
        features: how counts are stored.
    """
    return isinstance(features, HashedCodes) or (isinstance(features, KWinners) and features.counts == "smallest")


class _FixedCoder:
    """A coder whose keys depend on the observation alone."""

    def __init__(self, keys: Callable[[Any], Keys]) -> None:
        self.keys = self.visit = keys

    def merged(self) -> dict[int, int]:
        return {}

    def observe(self, observation: Any) -> None:
        del observation

    def arrays(self) -> dict[str, np.ndarray]:
        return {}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        del arrays


class _PartsCoder:
    """The coder of a Box, for observations that are made vectors of their parts first."""

    def __init__(self, coder: Coder, vector: Callable[[Any], np.ndarray]) -> None:
        self._coder, self._vector = coder, vector
        self.merged, self.arrays, self.restore = coder.merged, coder.arrays, coder.restore

    def keys(self, observation: Any) -> Keys:
        return self._coder.keys(self._vector(observation))

    def visit(self, observation: Any) -> Keys:
        return self._coder.visit(self._vector(observation))

    def observe(self, observation: Any) -> None:
        self._coder.observe(self._vector(observation))


def _index_key(elements: Enumeration, space: spaces.Space[Any], observation: Any) -> Keys:
    return (index_key(elements, space, observation),)


def _hash_key(dtype: np.dtype[Any], observation: Any) -> Keys:
    numbers = np.asarray(observation)
    if not np.issubdtype(numbers.dtype, np.integer):
        numbers = as_finite(numbers) + 0.0  # turns -0.0 into 0.0, so that both have the same bytes
    content = numbers.astype(dtype).tobytes()
    return (int.from_bytes(blake2b(content, digest_size=16).digest(), "little"),)


def _tile_keys(box: spaces.Box, features: Tiles) -> Callable[[Any], Keys]:
    low, high = bounds(box)
    low = low if features.low is None else _per_dimension("low", features.low, low.shape)
    high = high if features.high is None else _per_dimension("high", features.high, high.shape)
    high = np.where(high == low, low + 1.0, high)  # a constant dimension lies in a single tile
    is_bounded = np.isfinite(low) & np.isfinite(high)
    tiles = tuple(features.tiles) if isinstance(features.tiles, Sequence) else features.tiles
    coder = TileCoder(
        np.where(is_bounded, low, -1.0).tolist(), np.where(is_bounded, high, 1.0).tolist(), tiles, features.tilings
    )
    return partial(_tiled, coder.grid(np.float64), None if is_bounded.all() else is_bounded)


def _tiled(grid: Grid, is_bounded: np.ndarray | None, observation: Any) -> Keys:
    point = as_finite(observation).ravel()
    places = cells(point if is_bounded is None else _squashed(point, is_bounded), grid)
    return tuple(int.from_bytes(place, "little") * len(places) + i for i, place in enumerate(places))


def _squashed(x: np.ndarray, is_bounded: np.ndarray) -> np.ndarray:
    """Map unbounded dimensions into (-1, 1)."""
    return np.where(is_bounded, x, x / (1 + np.abs(x)))


def _per_dimension(name: str, given: Any, shape: tuple[int, ...]) -> np.ndarray:
    try:
        return np.broadcast_to(np.asarray(given, np.float64), shape)
    except ValueError:
        raise InvalidInput(f"{name} is {given}; allowed: a number, or one for each of {shape[0]} dimensions") from None
