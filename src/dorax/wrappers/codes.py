"""Hashed codes and prototypes of observations in a Box, one observation at a time; see `dorax.features`."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from dorax.features.specs import HashedCodes, Prototypes
from dorax.wrappers.inputs import Normalised, Scaled

_TOLERANCE = 1e-6  # of the squared lengths of two observations: their squared distance is not known better than this
_LEAST_GROWTH = 1.05


class SignCoder:
    """Computes `HashedCodes`: in each table, the signs of random projections.

    Args:
        box: the observation space.
        features: the description.
        seed: seed of the projections.
    """

    def __init__(self, box: spaces.Box, features: HashedCodes, seed: int) -> None:
        self._inputs, self._tables = Normalised(box), features.tables
        drawn = np.random.default_rng(seed).standard_normal((features.tables * features.bits, self._inputs.size + 1))
        self._directions, self._offsets = drawn[:, :-1].astype(np.float32), drawn[:, -1].astype(np.float32)
        self._powers = 1 << np.arange(features.bits)

    def keys(self, observation: Any) -> tuple[int, ...]:
        """Return one key for each table."""
        sums = self._directions @ self._inputs(observation) + self._offsets
        codes = (sums.reshape(self._tables, -1) > 0) @ self._powers
        return tuple((codes * self._tables + np.arange(self._tables)).tolist())

    visit = keys

    def merged(self) -> dict[int, int]:
        """Return no keys: codes are never merged."""
        return {}

    def observe(self, observation: Any) -> None:
        """Update the normalisation, during the first observations."""
        self._inputs.observe(observation)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state of the normalisation. The seed determines the projections."""
        return self._inputs.arrays()

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Replace the state of the normalisation by what `arrays` returned."""
        self._inputs.restore(arrays)


class PrototypeCoder:
    """Computes the nearest of `Prototypes`, and makes new ones of observations that are far from all.

    An entry keeps its key as long as it exists.

    Args:
        box: the observation space.
        features: the description.
    """

    def __init__(self, box: spaces.Box, features: Prototypes) -> None:
        self._inputs = Scaled(box)
        self._points = np.zeros((features.size, self._inputs.size), np.float32)
        self._lengths = np.full(features.size, np.inf, np.float32)  # squared; infinite for entries that are free
        self._free, self._used = [*range(features.size)][::-1], 0  # no entry from `_used` on was ever used
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
            self._used = max(self._used, entry + 1)
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
        self._used = int(entries.max(initial=-1)) + 1
        self._threshold = float(arrays["threshold"])

    def _nearest(self, x: np.ndarray) -> int | None:
        if not self._used:
            return None
        distance = self._lengths[: self._used] - 2 * (self._points[: self._used] @ x)
        entry, length = int(np.argmin(distance)), float(x @ x)
        lengths = float(self._lengths[entry]) + length
        least = float(distance[entry]) + length
        return entry if least <= max(self._threshold, _TOLERANCE * lengths) and np.isfinite(lengths) else None
