"""Sparse random codes: a state is described by the most active units of a random layer.

The layer is much wider than its input, each unit sees a few of the inputs, and only the few
most active of its thousands of units form the code. Similar inputs then share most of their
active units and dissimilar ones hardly any, as in the olfactory code of the fly (Dasgupta,
Stevens and Navlakha, 2017). In dense codes, random or learned, all states have something in
common, and their counts would blur together. Because units see only a few inputs, a change in
one place of an image leaves most of them as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from dorax.core.checks import InvalidInput, check_at_least
from dorax.wrappers.images import downsampled
from dorax.wrappers.spaces import as_finite

_NORMALISED_BY = 1000  # the first observations set the normalisation; changing it later would change old codes
_CLIP = 3.0  # standard deviations
_INPUTS_PER_UNIT = 8


class KWinnersCoder:
    """Computes the codes of the observations of a Box.

    Args:
        box: the observation space.
        units: width of the random layer.
        active: number of units in a code.
        seed: seed of the inputs that each unit sees, and of their signs.
    """

    def __init__(self, box: spaces.Box, units: int, active: int, seed: int) -> None:
        check_at_least("the number of units", units, 2)
        check_at_least("the number of active units", active, 1)
        if active >= units:
            raise InvalidInput(f"the number of active units is {active}; allowed: fewer than all units, {units}")
        self._active, self._shape = int(active), box.shape
        inputs = downsampled(np.zeros(box.shape)).size
        random = np.random.default_rng(seed)
        shape = int(units), min(_INPUTS_PER_UNIT, inputs)
        # Without replacement: a unit that saw one input twice would be among the most active for any observation.
        priorities = random.random((shape[0], inputs), dtype=np.float32)
        self._inputs = np.argpartition(priorities, shape[1] - 1, axis=1)[:, : shape[1]]
        self._signs = random.choice(np.array([-1, 1], np.float32), size=shape)
        self._observed, self._mean, self._squares = 0, np.zeros(inputs), np.zeros(inputs)
        # Added to every standard deviation, so that inputs which hardly vary are not blown up.
        self._least_deviation = 0.02 * downsampled(_range(box)).ravel()

    def keys(self, observation: Any) -> tuple[int, ...]:
        """Return the indices of the most active units."""
        deviation = np.sqrt(self._squares / max(self._observed, 1)) + self._least_deviation
        x = np.clip((self._input(observation) - self._mean) / deviation, -_CLIP, _CLIP)
        activation = np.sum(x.astype(np.float32)[self._inputs] * self._signs, axis=1)
        return tuple(np.argpartition(activation, -self._active)[-self._active :].tolist())

    visit = keys

    def merged(self) -> dict[int, int]:
        """Return no keys: units are never merged."""
        return {}

    def observe(self, observation: Any) -> None:
        """Update the running mean and variance of each input (Welford), during the first observations."""
        if self._observed >= _NORMALISED_BY:
            return
        x = self._input(observation)
        self._observed += 1
        before = x - self._mean
        self._mean = self._mean + before / self._observed
        self._squares = self._squares + before * (x - self._mean)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state of the normalisation."""
        return {"observed": np.array(self._observed), "mean": self._mean, "squares": self._squares}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Replace the state of the normalisation by what `arrays` returned."""
        self._observed, self._mean, self._squares = int(arrays["observed"]), arrays["mean"], arrays["squares"]

    def _input(self, observation: Any) -> np.ndarray:
        x = as_finite(observation)
        if x.shape != self._shape:
            raise InvalidInput(f"an observation has the shape {x.shape}; allowed: that of its space, {self._shape}")
        return downsampled(x).ravel()


def _range(box: spaces.Box) -> np.ndarray:
    """Return high - low of each dimension, and 1 where it is unbounded."""
    extent = box.high.astype(np.float64) - box.low.astype(np.float64)
    return np.where(extent < 1e30, extent, 1.0)
