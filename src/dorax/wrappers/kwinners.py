"""States described by the units of a random layer that they excite most.

The layer is much wider than its input, each unit looks at a few of the inputs, and of the
thousands of units only the few most excited take part: a code that keeps similar inputs
together and others apart, as the fly codes odours (Dasgupta, Stevens and Navlakha, 2017).
Dense codes, random or learned, have something in common between all states, and counts by
them run together. Units that look at little are not all moved by what moves elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from dorax.core.checks import InvalidInput, check_at_least
from dorax.wrappers.spaces import finite

_SIDE = 32  # pixels of an image made small
_NOTICED = 1000  # observations that say what varies how much; later ones would change the codes of old ones
_FARTHEST = 3.0  # deviations
_LOOKED_AT = 8  # inputs of a unit


class KWinnersCoder:
    """The coder of one space: what its `units` look at, and with which sign, is drawn from the seed."""

    def __init__(self, box: spaces.Box, units: int, active: int, seed: int) -> None:
        check_at_least("the number of units", units, 2)
        check_at_least("the number of active units", active, 1)
        if active >= units:
            raise InvalidInput(f"the number of active units is {active}; allowed: fewer than all units, {units}")
        self._active, self._shape = int(active), box.shape
        inputs = _small(np.zeros(box.shape)).size
        random = np.random.default_rng(seed)
        shape = int(units), min(_LOOKED_AT, inputs)
        # No input twice: a unit that looked at one twice would be the most excited of all, whatever there is to see.
        lots = random.random((shape[0], inputs), dtype=np.float32)
        self._inputs = np.argpartition(lots, shape[1] - 1, axis=1)[:, : shape[1]]
        self._signs = random.choice(np.array([-1, 1], np.float32), size=shape)
        self._noticed, self._mean, self._squares = 0, np.zeros(inputs), np.zeros(inputs)
        self._floor = 0.02 * _small(_extent(box)).ravel()

    def keys(self, observation: Any) -> tuple[int, ...]:
        deviation = np.sqrt(self._squares / max(self._noticed, 1)) + self._floor
        x = np.clip((self._input(observation) - self._mean) / deviation, -_FARTHEST, _FARTHEST)
        excitement = np.sum(x.astype(np.float32)[self._inputs] * self._signs, axis=1)
        return tuple(np.argpartition(excitement, -self._active)[-self._active :].tolist())

    def notice(self, observation: Any) -> None:
        """Mean and deviation of each input, by Welford's recurrence, until they are settled."""
        if self._noticed >= _NOTICED:
            return
        x = self._input(observation)
        self._noticed += 1
        before = x - self._mean
        self._mean = self._mean + before / self._noticed
        self._squares = self._squares + before * (x - self._mean)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"noticed": np.array(self._noticed), "mean": self._mean, "squares": self._squares}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        self._noticed, self._mean, self._squares = int(arrays["noticed"]), arrays["mean"], arrays["squares"]

    def _input(self, observation: Any) -> np.ndarray:
        x = finite(observation)
        if x.shape != self._shape:
            raise InvalidInput(f"an observation has the shape {x.shape}; allowed: that of its space, {self._shape}")
        return _small(x).ravel()


def _small(x: np.ndarray) -> np.ndarray:
    """An image made grey and small: the mean over its shortest side, colours or frames, and of blocks."""
    if x.ndim == 3:
        x = x.mean(axis=int(np.argmin(x.shape)))
    if x.ndim != 2:
        return x
    rows, columns = (-(-side // _SIDE) for side in x.shape)
    x = np.pad(x, ((0, -x.shape[0] % rows), (0, -x.shape[1] % columns)), mode="edge")
    return x.reshape(x.shape[0] // rows, rows, x.shape[1] // columns, columns).mean(axis=(1, 3))


def _extent(box: spaces.Box) -> np.ndarray:
    """The reach of each dimension, 1 where it has no end. What varies by less than a fiftieth of it hardly varies."""
    extent = box.high.astype(np.float64) - box.low.astype(np.float64)
    return np.where(extent < 1e30, extent, 1.0)
