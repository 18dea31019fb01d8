"""Python's own numbers as an array library: what the formulas ask of one, for single numbers.

A formula on single numbers spends its time in NumPy's dispatch, twenty times what the
arithmetic takes. Loops that go one visit at a time call the same formulas with plain
floats, and `namespace` hands them this module.
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
    return x if condition else y


def zeros_like(x: float) -> float:
    del x
    return 0.0


def ones_like(x: float) -> float:
    del x
    return 1.0


def logaddexp(x: float, y: float) -> float:
    return max(x, y) + log1p(exp(-abs(x - y)))
