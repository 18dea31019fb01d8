"""Array functions for Python floats, so that the formulas of `dorax.core` also work on single numbers.

For single numbers, NumPy's dispatch takes twenty times as long as the arithmetic. Loops that update one
pair at a time call the same formulas with plain floats, for which `namespace` returns this module.
"""

from __future__ import annotations

from math import exp, expm1, inf, isinf, log, log1p, sqrt
from operator import not_ as logical_not
from typing import Any

__all__ = [
    "exp",
    "expm1",
    "inf",
    "isinf",
    "log",
    "log1p",
    "logaddexp",
    "logical_not",
    "maximum",
    "minimum",
    "ones_like",
    "sqrt",
    "where",
    "zeros_like",
]

maximum, minimum = max, min


def where(condition: bool, x: Any, y: Any) -> Any:
    """Select `x` if the condition is true, else `y`.

    Args:
        condition: what to test.
        x: value if true.
        y: value if false.

    Returns:
        `x` or `y`.
    """
    return x if condition else y


def zeros_like(x: float) -> float:
    """Return 0.0.

    Args:
        x: a number, not used.
    """
    del x
    return 0.0


def ones_like(x: float) -> float:
    """Return 1.0.

    Args:
        x: a number, not used.
    """
    del x
    return 1.0


def logaddexp(x: float, y: float) -> float:
    """Compute log(exp x + exp y) without overflow.

    Args:
        x: first number.
        y: second number.

    Returns:
        The logarithm of the sum.
    """
    return max(x, y) + log1p(exp(-abs(x - y)))
