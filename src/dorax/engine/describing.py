"""Agents as plain data, so that loading a saved learner runs no code from the file; and digests of other objects."""

# JAX and Equinox: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, cast

import equinox as eqx
import jax
import numpy as np


def plain(agent: Any) -> Any:
    """Describe an agent as JSON data.

    Args:
        agent: the agent.

    Returns:
        Nested dictionaries and numbers, or None if some part of the agent is a class outside dorax and cannot be saved.
    """
    try:
        return _described(agent)
    except TypeError:
        return None


def words_of(agent: Any) -> str:
    """Describe an agent in one line of text.

    Args:
        agent: the agent.

    Returns:
        Its structure and its numbers; fields that have their default value are left out.
    """
    return " ".join(eqx.tree_pformat(agent, short_arrays=False).split())


def digest(thing: Any) -> str:
    """Compute a digest of everything in a tree, the same in every process.

    Args:
        thing: tree of arrays, modules and plain values.

    Returns:
        16 hexadecimal digits.
    """
    arrays, structure = eqx.partition(thing, eqx.is_array_like)
    total = hashlib.sha256(re.sub(r" at 0x[0-9a-f]+", "", words_of(structure)).encode())
    for leaf in jax.tree.leaves(arrays):
        array = np.ascontiguousarray(leaf)
        total.update(repr((str(array.dtype), array.shape)).encode())
        total.update(array.tobytes())
    return total.hexdigest()[:16]


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
    """Rebuild an agent from the data that `plain` returned.

    Args:
        data: the description.
        classes: classes by name; no others are created.

    Returns:
        The agent.

    Raises:
        TypeError: if the data is not such a description.
    """
    if isinstance(data, dict):
        parts = cast("dict[str, Any]", data)
        if set(parts) == {"tuple"}:
            return tuple(rebuilt(item, classes) for item in parts["tuple"])
        return classes[parts["type"]](**{name: rebuilt(value, classes) for name, value in parts["fields"].items()})
    if data is None or isinstance(data, bool | int | float | str):
        return data
    raise TypeError(f"{data!r} describes nothing")
