"""Descriptions of features: how states are represented for counts and values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dorax.core.checks import InvalidInput, check_at_least, check_whole

_MOST_BITS = 24  # 16 million entries


@dataclass(frozen=True)
class Table:
    """One count per state. In a Box, equal observations are one state."""


@dataclass(frozen=True)
class Tiles:
    """Tile coding: overlapping grids over a Box, so that nearby states share counts and values.

    Args:
        tiles: number of tiles per dimension, one for all dimensions or one for each.
        tilings: number of overlapping grids.
        low: lower bounds of the grids; by default those of the space.
        high: upper bounds of the grids; by default those of the space. In wrappers, a dimension without bounds is
            mapped into (-1, 1) by x / (1 + |x|), so that tiles are finest around 0.
    """

    tiles: int | Sequence[int] = 8
    tilings: int = 8
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None

    def __post_init__(self) -> None:
        for name in ("tiles", "low", "high"):  # tuples are hashable, as static fields of a compiled program must be
            given = getattr(self, name)
            if isinstance(given, Sequence | np.ndarray):
                object.__setattr__(self, name, tuple(np.ravel(given).tolist()))


@dataclass(frozen=True)
class KWinners:
    """Sparse random codes: the most active units of a wide random layer, used like tiles.

    For images, which are first downsampled and converted to grey, and for Boxes of many dimensions. Inputs are
    normalised by the first 1000 observations. Similar states share most of their active units and dissimilar ones
    hardly any (Dasgupta et al., 2017). Nothing is trained.

    Args:
        units: width of the layer.
        active: number of active units of a state.
    """

    units: int = 8192
    active: int = 16


@dataclass(frozen=True)
class HashedCodes:
    """Hashed codes: in each of several tables, a state has the entry that the signs of random projections name.

    The count of a state is the smallest of its entries, since a collision can only make it look better known than it
    is (a count-min sketch; Cormode and Muthukrishnan, 2005). For observations of many dimensions that repeat exactly or
    nearly; noise of its own in every observation gives every one a code of its own.

    Args:
        tables: number of tables.
        bits: number of signs, so that a table has 2**bits entries.
    """

    tables: int = 8
    bits: int = 14

    def __post_init__(self) -> None:
        check_whole("the number of tables of hashed codes", self.tables)
        check_whole("the number of bits of hashed codes", self.bits)
        if self.bits > _MOST_BITS:
            raise InvalidInput(f"the number of bits of hashed codes is {self.bits}; allowed: 1 to {_MOST_BITS}")


@dataclass(frozen=True)
class Prototypes:
    """A dictionary of observations: a state has the entry of the nearest one.

    An observation that is farther from all entries than a threshold becomes a new entry. The threshold sets itself:
    when the dictionary is full, it grows to the median distance of an entry from its nearest neighbour, and entries
    that are now too close to another one are merged with it and pass it their counts (after the doubling algorithm of
    Charikar et al., 1997). So the dictionary is as fine as its size allows, and entries that differ only by noise
    become one. In a finite MDP every state is an entry.

    Args:
        size: largest number of entries.
        threshold: distance at the start; 0 for one entry for each different observation.
    """

    size: int = 1024
    threshold: float = 0.0

    def __post_init__(self) -> None:
        check_whole("the size of prototypes", self.size)
        check_at_least("the threshold of prototypes", self.threshold, 0)


Features = Table | Tiles | KWinners | HashedCodes | Prototypes
