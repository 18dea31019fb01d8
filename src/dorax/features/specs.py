"""How a state is described, as users write it: by its number, by tiles, by random codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Table:
    """Every state by itself. Of a Box, two observations are one state if they are equal."""


@dataclass(frozen=True)
class Tiles:
    """Overlapping grids over a Box: nearby states share their counts.

    `low` and `high` bound what is told apart, and are the space's own unless given. A
    dimension without a bound is squeezed by x / (1 + |x|): finest around 0, and coarse
    far from it.
    """

    tiles: int | Sequence[int] = 8
    tilings: int = 8
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None

    def __post_init__(self) -> None:
        for name in ("tiles", "low", "high"):  # as tuples they can be part of a compiled program's structure
            given = getattr(self, name)
            if isinstance(given, Sequence | np.ndarray):
                object.__setattr__(self, name, tuple(np.ravel(given).tolist()))


@dataclass(frozen=True)
class KWinners:
    """One wide layer, wired at random, and of it the few units that a state excites most: they are its tiles.

    For images, which are made small and grey first, and for Boxes of many dimensions.
    What varies among the first observations is brought to one scale. Similar states share
    most of their active units and dissimilar ones hardly any (Dasgupta et al., 2017), so
    that counts neither run together nor apart. Nothing of it is trained.
    """

    units: int = 8192
    active: int = 16


Features = Table | Tiles | KWinners
