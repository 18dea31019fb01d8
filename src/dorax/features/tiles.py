"""Tile coding: overlapping grids, offset against each other, so that nearby points share tiles.

Every tile has its own index (no hashing). A point is represented by the indices of its active tiles, one per
tiling, not by a dense vector.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np

from dorax.core.arrays import Array, as_float, namespace
from dorax.core.checks import InvalidInput


class TileCoder(eqx.Module):
    """A tile coder over a box.

    Tilings have asymmetric offsets, by the odd numbers 1, 3, 5, ... along the dimensions (Miller and Glanz,
    1996): with equal offsets the tiles would line up along the diagonal and generalize further in that direction.
    Choose a power of two for `tilings`: an odd number that divides it would reduce the offsets of a dimension.

    Args:
        low: lower bounds of the observations.
        high: upper bounds of the observations.
        tiles: tiles per dimension: one number for all dimensions, or one for each.
        tilings: number of tilings.
    """

    low: tuple[float, ...] = eqx.field(static=True)
    high: tuple[float, ...] = eqx.field(static=True)
    tiles: tuple[int, ...] = eqx.field(static=True)
    tilings: int = eqx.field(static=True)

    def __init__(self, low: Sequence[float], high: Sequence[float], tiles: int | Sequence[int] = 8, tilings: int = 8):
        self.low = tuple(float(x) for x in np.ravel(low))
        self.high = tuple(float(x) for x in np.ravel(high))
        each: Any = (tiles,) * len(self.low) if np.ndim(tiles) == 0 else tiles
        self.tiles, self.tilings = tuple(each), tilings

    def __check_init__(self) -> None:
        if len(self.low) != len(self.high) or not self.low:
            raise InvalidInput(
                f"low has {len(self.low)} and high {len(self.high)} numbers; allowed: the same number, 1 or more"
            )
        for low, high in zip(self.low, self.high, strict=True):
            if not (np.isfinite(low) and np.isfinite(high) and low < high):
                raise InvalidInput(
                    f"the bounds of an observation are {low:g} and {high:g}; allowed: finite ones, the lower first "
                    "(tile coding needs bounds: wrap the environment to clip its observations)"
                )
        if len(self.tiles) != len(self.low) or not all(_is_whole(n) for n in self.tiles):
            raise InvalidInput(
                f"tiles is {self.tiles}; allowed: a whole number, 1 or more, for each of {len(self.low)} dimensions"
            )
        if not _is_whole(self.tilings):
            raise InvalidInput(f"tilings is {self.tilings}; allowed: a whole number, 1 or more")

    @property
    def size(self) -> int:
        """The number of tiles. An offset grid needs one more along each dimension."""
        return self.tilings * math.prod(int(n) + 1 for n in self.tiles)

    def active(self, observation: Array) -> Array:
        """Return the active tiles.

        Args:
            observation: points, with dimensions along the last axis; points outside the box are clipped to it.

        Returns:
            Indices of tiles, one per tiling along the last axis.
        """
        xp = namespace(observation)
        observation = as_float(observation, xp)
        strides = np.cumprod([1, *(n + 1 for n in self.tiles[::-1])], dtype=np.int64)[::-1].astype(np.int32)
        first = np.arange(self.tilings, dtype=np.int32) * strides[0]
        return xp.sum(cells(observation, self.grid(observation.dtype)) * strides[1:], axis=-1, dtype=xp.int32) + first

    def grid(self, dtype: Any) -> Grid:
        """Return the grids as arrays.

        Args:
            dtype: floating dtype of the arrays.

        Returns:
            The grids.
        """
        low, high, tiles = np.asarray(self.low), np.asarray(self.high), np.asarray(self.tiles)
        odd = 2 * np.arange(len(self.tiles)) + 1
        shifts = (np.arange(self.tilings)[:, None] * odd % self.tilings) / self.tilings
        return Grid(*(array.astype(dtype) for array in (low, tiles / (high - low), tiles, shifts)))


class Grid(NamedTuple):
    """The grids of a tile coder as arrays.

    Attributes:
        low: lower corner of the box.
        scale: tiles per unit along each dimension.
        tiles: tiles along each dimension.
        shifts: offset of each tiling along each dimension, in tiles.
    """

    low: np.ndarray
    scale: np.ndarray
    tiles: np.ndarray
    shifts: np.ndarray


def cells(observation: Array, grid: Grid) -> Array:
    """Return the grid coordinates of the active tiles.

    Args:
        observation: points, with dimensions along the last axis.
        grid: the grids.

    Returns:
        Coordinates, ... x tilings x dimensions.
    """
    xp = namespace(observation)
    place = xp.clip((observation - grid.low) * grid.scale, xp.zeros_like(observation), grid.tiles)
    return xp.astype(xp.floor(place[..., None, :] + grid.shifts), xp.int32)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and int(value) >= 1
