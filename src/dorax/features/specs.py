"""Descriptions of features: how states are represented for counts and values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


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


Features = Table | Tiles | KWinners
