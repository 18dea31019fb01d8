"""Agents as plain data, so that a saved learner says what it is without running code when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from dorax.core.checks import InvalidInput


def described(thing: Any) -> Any:
    """An agent or a part of one as JSON can write it.

    Raises:
        InvalidInput: if a part of it is not one of dorax's own classes, numbers or words.
    """
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, tuple | list):
        return {"tuple": [described(item) for item in thing]}
    if is_dataclass(thing) and not isinstance(thing, type) and type(thing).__module__.startswith("dorax."):
        return {
            "type": type(thing).__name__,
            "fields": {field.name: described(getattr(thing, field.name)) for field in fields(thing) if field.init},
        }
    number = np.asarray(thing)
    if number.ndim == 0 and number.dtype != object:
        return number.item()
    raise InvalidInput(f"{thing!r} is a part of your own, which a file cannot hold; give the agent again to load it")


def rebuilt(data: Any, classes: Mapping[str, type]) -> Any:
    """What `described` made plain data of, out of these classes alone."""
    if isinstance(data, dict) and set(data) == {"tuple"}:
        return tuple(rebuilt(item, classes) for item in data["tuple"])
    if isinstance(data, dict):
        return classes[data["type"]](**{name: rebuilt(value, classes) for name, value in data["fields"].items()})
    if data is None or isinstance(data, bool | int | float | str):
        return data
    raise TypeError(f"{data!r} describes nothing")
