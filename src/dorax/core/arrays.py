"""What the formulas need beyond the array API standard, for NumPy and JAX arrays alike."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from dorax.core import scalars

Array = Any  # a NumPy or a JAX array, or a number
_NUMBERS = frozenset({float, int, type(None)})


def namespace(*arrays: Array) -> Any:
    """The array library of the arguments: JAX as soon as one of them is a JAX array, Python's own for plain numbers."""
    if _NUMBERS.issuperset(map(type, arrays)):
        return scalars
    for array in arrays:
        if hasattr(array, "__array_namespace__"):
            library = array.__array_namespace__()
            if library is not np:
                return library
    return np


def as_float(array: Array, xp: Any, like: Array | None = None) -> Array:
    """`array` as floats of the dtype of `like`, or of its own if that is floating already.

    Plain numbers carry no dtype of their own, and a float32 count multiplied by a
    float64 rate would silently become float64: everything passes through here first.
    """
    if xp is scalars:
        return float(array)
    dtype = getattr(array if like is None else like, "dtype", None)
    if dtype is None or not xp.isdtype(dtype, "real floating"):
        return xp.asarray(array, dtype=xp.asarray(0.0).dtype)
    return xp.asarray(array, dtype=dtype)


def least_of(arrays: Sequence[Array], xp: Any) -> Array:
    """The smallest of some arrays, element by element."""
    return min(arrays) if xp is scalars else reduce(xp.minimum, arrays)


def guarded_log(x: Array, xp: Any) -> Array:
    """log x, with log 0 = -inf and neither a warning nor a NaN gradient there."""
    is_positive = x > 0
    return xp.where(is_positive, xp.log(xp.where(is_positive, x, xp.ones_like(x))), -xp.inf)


def draw(weights: Array, uniform: Array, xp: Any) -> Array:
    """An index of the last axis with probability proportional to its weight, from one number in [0, 1).

    An index of weight 0 is never drawn, whatever the rounding.
    """
    # Methods rather than functions of the namespace: NumPy's functions cost a microsecond more each.
    cumulative = weights.cumsum(-1)
    total = cumulative[..., -1:]
    point = xp.asarray(uniform, dtype=weights.dtype)[..., None] * total
    first_past_point = (cumulative <= point).sum(-1)
    last_positive = (cumulative < total).sum(-1)
    return xp.minimum(first_past_point, last_positive)
