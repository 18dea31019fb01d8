"""Array functions that the array API standard lacks, for NumPy arrays, JAX arrays and Python numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from dorax.core import scalars

Array = Any  # a NumPy or a JAX array, or a number
_NUMBERS = frozenset({float, int, type(None)})


def namespace(*arrays: Array) -> Any:
    """Find the array library of the arguments.

    Args:
        *arrays: arrays, numbers or None.

    Returns:
        JAX's namespace if any argument is a JAX array, `dorax.core.scalars` if all are Python numbers, else NumPy.
    """
    if _NUMBERS.issuperset(map(type, arrays)):
        return scalars
    for array in arrays:
        if hasattr(array, "__array_namespace__"):
            library = array.__array_namespace__()
            if library is not np:
                return library
    return np


def as_float(array: Array, xp: Any, like: Array | None = None) -> Array:
    """Convert to floating point.

    A float32 count multiplied by a float64 rate would silently become float64, and Python numbers have no
    dtype. The formulas convert all their arguments with this function first.

    Args:
        array: array or number to convert.
        xp: array namespace of the result; see `namespace`.
        like: array whose dtype the result gets; by default `array` itself.

    Returns:
        The array with a floating dtype: that of `like` if it is floating, else the default of `xp`.
    """
    if xp is scalars:
        return float(array)
    dtype = getattr(array if like is None else like, "dtype", None)
    if dtype is None or not xp.isdtype(dtype, "real floating"):
        return xp.asarray(array, dtype=xp.asarray(0.0).dtype)
    return xp.asarray(array, dtype=dtype)


def least_of(arrays: Sequence[Array], xp: Any) -> Array:
    """Elementwise minimum of several arrays.

    Args:
        arrays: arrays or numbers of the same shape.
        xp: array namespace; see `namespace`.

    Returns:
        An array of that shape.
    """
    return min(arrays) if xp is scalars else reduce(xp.minimum, arrays)


def guarded_log(x: Array, xp: Any) -> Array:
    """Logarithm with log 0 = -inf, without a warning and without a NaN gradient there.

    Args:
        x: array of numbers, 0 or more.
        xp: array namespace; see `namespace`.

    Returns:
        The logarithm of every element.
    """
    is_positive = x > 0
    return xp.where(is_positive, xp.log(xp.where(is_positive, x, xp.ones_like(x))), -xp.inf)


def draw(weights: Array, uniform: Array, xp: Any) -> Array:
    """Sample an index of the last axis with probability proportional to its weight.

    An index of weight 0 is never drawn, whatever the rounding.

    Args:
        weights: weights, 0 or more, with at least one positive along the last axis.
        uniform: uniform random numbers in [0, 1), one for each draw.
        xp: array namespace; see `namespace`.

    Returns:
        Indices, with the shape of `weights` without its last axis.
    """
    # Array methods instead of functions of the namespace: NumPy's functions take a microsecond longer each.
    cumulative = weights.cumsum(-1)
    total = cumulative[..., -1:]
    point = xp.asarray(uniform, dtype=weights.dtype)[..., None] * total
    first_past_point = (cumulative <= point).sum(-1)
    last_positive = (cumulative < total).sum(-1)
    return xp.minimum(first_past_point, last_positive)
