"""Agents in one line, as one would type them."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any

import equinox as eqx
import numpy as np

_SHOWN = 6  # of the numbers of an array


def call_of(self: Any) -> str:
    """Write the call that makes an object, without arguments that have their default.

    The object's own arguments are named, as in `TabularAgent(rule=LLL(Softmax(3.0)), counter=EValues(0.9))`; of its
    parts, only those after the first and the required ones. Classes use it as their `__repr__`.

    Args:
        self: a dataclass, such as an agent.

    Returns:
        One line.
    """
    return f"{type(self).__name__}({', '.join(f'{name}={words}' for name, words in _given(self).items())})"


def _given(thing: Any) -> dict[str, str]:
    """Return the arguments that do not have their default, in words."""
    written = {field.name: (_written(getattr(thing, field.name)), field) for field in fields(thing) if field.init}
    return {name: words for name, (words, field) in written.items() if words != _default(field)}


def _default(field: Field[Any]) -> str | None:
    if field.default_factory is not MISSING:
        return _written(field.default_factory())
    return None if field.default is MISSING else _written(field.default)


def _written(value: Any) -> str:
    if isinstance(value, eqx.Module):
        return _part(value)
    if not hasattr(value, "shape"):
        return " ".join(repr(value).split())
    try:
        array = np.asarray(value)
    except Exception:  # JAX is tracing it
        return type(value).__name__
    if array.size > _SHOWN:
        return f"<{' x '.join(map(str, array.shape))} numbers>"
    if array.ndim:
        return f"[{', '.join(_written(one) for one in array)}]"
    return repr(float(f"{float(array):.7g}")) if array.dtype.kind == "f" else str(array.item())


def _part(thing: Any) -> str:
    """Write the call without the names of its first argument, which is shown if it is a number, and required ones."""
    all_of, words = fields(thing), _given(thing)
    first = getattr(thing, all_of[0].name) if all_of else None
    if isinstance(first, int | float) or hasattr(first, "shape"):
        words = {all_of[0].name: _written(first), **words}
    unnamed = {field.name for field in all_of[:1]} | {field.name for field in all_of if _default(field) is None}
    arguments = [text if name in unnamed else f"{name}={text}" for name, text in words.items()]
    return f"{type(thing).__name__}({', '.join(arguments)})"
