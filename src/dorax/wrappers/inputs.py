"""Observations of a Box as vectors to compute codes of: images made smaller, and numbers scaled."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from dorax.core.checks import InvalidInput
from dorax.wrappers.spaces import as_finite, bounds

_SIDE = 32  # pixels of an image after downsampling
_NORMALISED_BY = 1000  # the first observations set the normalisation; changing it later would change old codes
_CLIP = 3.0  # standard deviations


class Normalised:
    """Vectors normalised by the mean and the variance of the first observations, and clipped.

    Args:
        box: the observation space.
    """

    def __init__(self, box: spaces.Box) -> None:
        self._shape = box.shape
        self.size = downsampled(np.zeros(box.shape)).size
        self._observed, self._mean, self._squares = 0, np.zeros(self.size), np.zeros(self.size)
        # Added to every standard deviation, so that inputs which hardly vary are not blown up.
        self._least_deviation = 0.02 * downsampled(_range(box)).ravel()

    def __call__(self, observation: Any) -> np.ndarray:
        """Return the vector of an observation."""
        deviation = np.sqrt(self._squares / max(self._observed, 1)) + self._least_deviation
        x = np.clip((_vector(observation, self._shape) - self._mean) / deviation, -_CLIP, _CLIP)
        return x.astype(np.float32)

    def observe(self, observation: Any) -> None:
        """Update the running mean and variance of each input (Welford), during the first observations."""
        if self._observed >= _NORMALISED_BY:
            return
        x = _vector(observation, self._shape)
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


class Scaled:
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
        return (_vector(observation, self._shape) * self._scale + self._shift).astype(np.float32)


def _vector(observation: Any, shape: tuple[int, ...]) -> np.ndarray:
    x = as_finite(observation)
    if x.shape != shape:
        raise InvalidInput(f"an observation has the shape {x.shape}; allowed: that of its space, {shape}")
    return downsampled(x).ravel()


def downsampled(x: np.ndarray) -> np.ndarray:
    """Average an image over its channels or frames (the shortest axis) and over blocks of pixels.

    Args:
        x: the image; other arrays are returned unchanged.
    """
    if x.ndim == 3:
        x = x.mean(axis=int(np.argmin(x.shape)))
    if x.ndim != 2:
        return x
    rows, columns = (-(-side // _SIDE) for side in x.shape)
    x = np.pad(x, ((0, -x.shape[0] % rows), (0, -x.shape[1] % columns)), mode="edge")
    return x.reshape(x.shape[0] // rows, rows, x.shape[1] // columns, columns).mean(axis=(1, 3))


def _range(box: spaces.Box) -> np.ndarray:
    """Return high - low of each dimension, and 1 where it is unbounded."""
    extent = box.high.astype(np.float64) - box.low.astype(np.float64)
    return np.where(extent < 1e30, extent, 1.0)
