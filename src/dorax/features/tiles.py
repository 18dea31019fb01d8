"""Tile coding: overlapping grids, each shifted against the others, so that nearby points share tiles.

Every tile has an index of its own (nothing is hashed), and a point is described by the
tiles that it lies in, one of each tiling: never by a dense vector.
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
    """`tilings` grids of `tiles` tiles a dimension over a box.

    Tilings are displaced asymmetrically, by the odd numbers 1, 3, 5, ... along the
    dimensions (Miller and Glanz, 1996): by equal steps the tiles would line up along
    the diagonal and generalize further that way than across it. Choose a power of two
    for `tilings`: an odd number that divides it would displace a dimension by less.
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
                f"low has {len(self.low)} and high {len(self.high)} numbers; allowed: as many, 1 or more"
            )
        for low, high in zip(self.low, self.high, strict=True):
            if not (np.isfinite(low) and np.isfinite(high) and low < high):
                raise InvalidInput(
                    f"the bounds of an observation are {low:g} and {high:g}; allowed: finite ones, the lower first "
                    "(tiles must end somewhere: wrap the environment to clip what it observes)"
                )
        if len(self.tiles) != len(self.low) or not all(_is_whole(n) for n in self.tiles):
            raise InvalidInput(
                f"tiles is {self.tiles}; allowed: a whole number, 1 or more, for each of {len(self.low)} dimensions"
            )
        if not _is_whole(self.tilings):
            raise InvalidInput(f"tilings is {self.tilings}; allowed: a whole number, 1 or more")

    @property
    def size(self) -> int:
        """The number of tiles. A displaced grid needs one more along each dimension."""
        return self.tilings * math.prod(int(n) + 1 for n in self.tiles)

    def active(self, observation: Array) -> Array:
        """The tile of each tiling that holds the point (last axis: dimensions in, tilings out).

        A point outside the box counts as the nearest one inside.
        """
        xp = namespace(observation)
        observation = as_float(observation, xp)
        strides = np.cumprod([1, *(n + 1 for n in self.tiles[::-1])], dtype=np.int64)[::-1].astype(np.int32)
        first = np.arange(self.tilings, dtype=np.int32) * strides[0]
        return xp.sum(cells(observation, self.grid(observation.dtype)) * strides[1:], axis=-1, dtype=xp.int32) + first

    def grid(self, dtype: Any) -> Grid:
        low, high, tiles = np.asarray(self.low), np.asarray(self.high), np.asarray(self.tiles)
        odd = 2 * np.arange(len(self.tiles)) + 1
        shifts = (np.arange(self.tilings)[:, None] * odd % self.tilings) / self.tilings
        return Grid(*(array.astype(dtype) for array in (low, tiles / (high - low), tiles, shifts)))


class Grid(NamedTuple):
    """Where the grids lie: the corner of the box, tiles a unit, tiles, and the shift of each tiling, in tiles."""

    low: np.ndarray
    scale: np.ndarray
    tiles: np.ndarray
    shifts: np.ndarray


def cells(observation: Array, grid: Grid) -> Array:
    """The tile of each tiling that holds the point, by its place along each dimension: tilings x dimensions."""
    xp = namespace(observation)
    place = xp.clip((observation - grid.low) * grid.scale, xp.zeros_like(observation), grid.tiles)
    return xp.astype(xp.floor(place[..., None, :] + grid.shifts), xp.int32)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and int(value) >= 1
