"""Hashed codes and prototypes of observations in a Box, one observation at a time; see `dorax.features`."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from dorax.core.checks import InvalidInput
from dorax.features.specs import HashedCodes, Prototypes
from dorax.wrappers.images import downsampled
from dorax.wrappers.spaces import as_finite, bounds

_TOLERANCE = 1e-6  # of the squared lengths of two observations: their squared distance is not known better than this
_LEAST_GROWTH = 1.05


class ScaledInputs:
    """Observations of a Box as vectors, scaled as agents with many games scale them.

    Images are first converted to grey and downsampled. Bounded dimensions are scaled to [-1, 1], those of images to
    [0, 1]; unbounded ones are unchanged.

    Args:
        box: the observation space.
    """

    def __init__(self, box: spaces.Box) -> None:
        self._shape = box.shape
        low, high = (downsampled(side.reshape(box.shape)).ravel() for side in bounds(box))
        is_bounded = np.isfinite(low) & np.isfinite(high) & (low < high)
        lowest = 0.0 if len(box.shape) > 1 else -1.0
        low, high = np.where(is_bounded, low, lowest), np.where(is_bounded, high, 1.0)
        self._scale = (1.0 - lowest) / (high - low)
        self._shift = lowest - low * self._scale
        self.size = len(low)

    def __call__(self, observation: Any) -> np.ndarray:
        """Return the vector of an observation."""
        x = as_finite(observation)
        if x.shape != self._shape:
            raise InvalidInput(f"an observation has the shape {x.shape}; allowed: that of its space, {self._shape}")
        return (downsampled(x).ravel() * self._scale + self._shift).astype(np.float32)


class SignCoder:
    """Computes `HashedCodes`: in each table, the signs of random projections.

    Args:
        box: the observation space.
        features: the description.
        seed: seed of the projections.
    """

    def __init__(self, box: spaces.Box, features: HashedCodes, seed: int) -> None:
        self._inputs, self._tables = ScaledInputs(box), features.tables
        drawn = np.random.default_rng(seed).standard_normal((features.tables * features.bits, self._inputs.size + 1))
        self._directions, self._offsets = drawn[:, :-1].astype(np.float32), drawn[:, -1].astype(np.float32)
        self._powers = 1 << np.arange(features.bits)

    def keys(self, observation: Any) -> tuple[int, ...]:
        """Return one key for each table."""
        sums = self._directions @ self._inputs(observation) + self._offsets
        codes = (sums.reshape(self._tables, -1) > 0) @ self._powers
        return tuple((codes * self._tables + np.arange(self._tables)).tolist())

    visit = keys

    def observe(self, observation: Any) -> None:
        """Do nothing."""
        del observation

    def merged(self) -> dict[int, int]:
        """Return no keys: codes are never merged."""
        return {}

    def arrays(self) -> dict[str, np.ndarray]:
        """Return nothing: the seed determines the projections."""
        return {}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Do nothing."""
        del arrays


class PrototypeCoder:
    """Computes the nearest of `Prototypes`, and makes new ones of observations that are far from all.

    An entry keeps its key as long as it exists.

    Args:
        box: the observation space.
        features: the description.
    """

    def __init__(self, box: spaces.Box, features: Prototypes) -> None:
        self._inputs = ScaledInputs(box)
        self._points = np.zeros((features.size, self._inputs.size), np.float32)
        self._lengths = np.full(features.size, np.inf, np.float32)  # squared; infinite for entries that are free
        self._free = [*range(features.size)][::-1]
        self._threshold = features.threshold**2

    def keys(self, observation: Any) -> tuple[int, ...]:
        """Return the key of the nearest prototype, or nothing if all are too far."""
        entry = self._nearest(self._inputs(observation))
        return () if entry is None else (entry,)

    def visit(self, observation: Any) -> tuple[int, ...]:
        """Return the key of the nearest prototype, which may be this observation itself."""
        x = self._inputs(observation)
        entry = self._nearest(x)
        if entry is None:
            entry = self._free.pop()
            self._points[entry], self._lengths[entry] = x, x @ x
        return (entry,)

    def observe(self, observation: Any) -> None:
        """Do nothing."""
        del observation

    def merged(self) -> dict[int, int]:
        """Make room if there is none left: raise the threshold, and merge prototypes.

        Returns:
            For the key of each prototype that is gone, that of the one which it was merged with.
        """
        if self._free:
            return {}
        distance = self._lengths[:, None] + self._lengths
        distance -= 2 * self._points @ self._points.T
        distance[distance <= _TOLERANCE * (self._lengths[:, None] + self._lengths)] = 0.0
        np.fill_diagonal(distance, np.inf)
        self._threshold = max(float(np.median(distance.min(axis=1))), _LEAST_GROWTH**2 * self._threshold)
        into, is_open = np.arange(len(distance)), np.ones(len(distance), bool)
        for entry, row in enumerate(distance <= self._threshold):
            if is_open[entry]:
                joins = row & is_open
                into[joins], is_open[joins] = entry, False
        gone = np.flatnonzero(into != np.arange(len(into)))
        self._lengths[gone] = np.inf
        self._free = gone[::-1].tolist()
        return dict(zip(gone.tolist(), into[gone].tolist(), strict=True))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the prototypes and the threshold."""
        entries = np.flatnonzero(np.isfinite(self._lengths))
        threshold = np.array(self._threshold)
        return {"entries": entries, "points": self._points[entries], "threshold": threshold}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Replace the prototypes and the threshold by what `arrays` returned."""
        entries, points = arrays["entries"], arrays["points"]
        self._lengths[:] = np.inf
        self._points[entries], self._lengths[entries] = points, np.sum(points**2, axis=1)
        self._free = np.flatnonzero(~np.isfinite(self._lengths))[::-1].tolist()
        self._threshold = float(arrays["threshold"])

    def _nearest(self, x: np.ndarray) -> int | None:
        distance = self._lengths - 2 * (self._points @ x)
        entry, length = int(np.argmin(distance)), float(x @ x)
        lengths = float(self._lengths[entry]) + length
        least = float(distance[entry]) + length
        return entry if least <= max(self._threshold, _TOLERANCE * lengths) and np.isfinite(lengths) else None
