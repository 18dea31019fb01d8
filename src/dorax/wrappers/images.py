"""Images made small enough to count by."""

from __future__ import annotations

import numpy as np

_SIDE = 32  # pixels of an image after downsampling


def downsampled(x: np.ndarray) -> np.ndarray:
    """Average an image over its channels or frames (the shortest axis) and over blocks of pixels.

    Args:
        x: the image; arrays of one dimension, or of four and more, are returned unchanged.

    Returns:
        The smaller image.
    """
    if x.ndim == 3:
        x = x.mean(axis=int(np.argmin(x.shape)))
    if x.ndim != 2:
        return x
    rows, columns = (-(-side // _SIDE) for side in x.shape)
    x = np.pad(x, ((0, -x.shape[0] % rows), (0, -x.shape[1] % columns)), mode="edge")
    return x.reshape(x.shape[0] // rows, rows, x.shape[1] // columns, columns).mean(axis=(1, 3))
