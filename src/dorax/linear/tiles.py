"""Tile coding: overlapping grids, each shifted against the others, so that nearby points share tiles.

Every tile has an index of its own (nothing is hashed), and a point is described by the
tiles that it lies in, one of each tiling: never by a dense vector.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np

from dorax.core.arrays import Array, as_float, namespace
from dorax.core.checks import InvalidInput

_MOST_TILES = 2**27


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
        if self.size > _MOST_TILES:
            raise InvalidInput(
                f"{self.tilings} tilings of {self.tiles} tiles are {_count(self.size)} tiles; "
                f"allowed: up to {_MOST_TILES:.1e}, by fewer tiles a dimension"
            )

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
        low, high, tiles = np.asarray(self.low), np.asarray(self.high), np.asarray(self.tiles)
        dtype = observation.dtype
        scale, start = (tiles / (high - low)).astype(dtype), low.astype(dtype)
        place = xp.clip((observation - start) * scale, xp.zeros_like(observation), tiles.astype(dtype))
        index = xp.astype(xp.floor(place[..., None, :] + self._displacement(dtype)), xp.int32)
        strides = np.cumprod([1, *(n + 1 for n in self.tiles[::-1])], dtype=np.int64)[::-1].astype(np.int32)
        first = np.arange(self.tilings, dtype=np.int32) * strides[0]
        return xp.sum(index * strides[1:], axis=-1, dtype=xp.int32) + first

    def _displacement(self, dtype: Any) -> np.ndarray:
        """How far each tiling is shifted, in tiles: tilings x dimensions."""
        odd = 2 * np.arange(len(self.tiles)) + 1
        return ((np.arange(self.tilings)[:, None] * odd % self.tilings) / self.tilings).astype(dtype)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and int(value) >= 1


def _count(size: int) -> str:
    return f"{size:.1e}" if size < 1e300 else "countless"
