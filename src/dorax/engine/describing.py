"""Agents as plain data, so that a saved learner says what it is without running code when it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, cast

import equinox as eqx
import numpy as np


def plain(agent: Any) -> Any:
    """An agent as JSON can write it; None if a part of it is somebody's own code, which a file cannot hold."""
    try:
        return _described(agent)
    except TypeError:
        return None


def words_of(agent: Any) -> str:
    """The structure of an agent and its numbers, in one line; those that are defaults are left out."""
    return " ".join(eqx.tree_pformat(agent, short_arrays=False).split())


def _described(thing: Any) -> Any:
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, tuple | list):
        return {"tuple": [_described(item) for item in cast("Sequence[Any]", thing)]}
    if is_dataclass(thing) and not isinstance(thing, type) and type(thing).__module__.startswith("dorax."):
        return {
            "type": type(thing).__name__,
            "fields": {field.name: _described(getattr(thing, field.name)) for field in fields(thing) if field.init},
        }
    number = np.asarray(thing)
    if number.ndim == 0 and number.dtype != object:
        return number.item()
    raise TypeError(f"{thing!r} is not one of dorax's own classes, numbers or words")


def rebuilt(data: Any, classes: Mapping[str, type]) -> Any:
    """The agent that `plain` made plain data of, out of these classes alone."""
    if isinstance(data, dict):
        parts = cast("dict[str, Any]", data)
        if set(parts) == {"tuple"}:
            return tuple(rebuilt(item, classes) for item in parts["tuple"])
        return classes[parts["type"]](**{name: rebuilt(value, classes) for name, value in parts["fields"].items()})
    if data is None or isinstance(data, bool | int | float | str):
        return data
    raise TypeError(f"{data!r} describes nothing")
