"""One clear line for bad input: the name, the value, and what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, np.dtype[Any]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


class InvalidInput(ValueError):
    """A value that a user gave is not allowed; the message is complete in one line."""


def in_brief(thing: Any) -> str:
    """The beginning of how something is written, on one line."""
    words = " ".join(repr(thing).split())
    return words if len(words) <= 80 else f"{words[:80]}…"


def check_numbers(name: str, value: Any, allowed: str, is_allowed: Callable[[Numbers], Flags]) -> None:
    """Raise unless every number of `value` satisfies `is_allowed`; NaN satisfies nothing.

    Values that are being traced by JAX have no numbers yet and pass. Of a schedule both ends are checked.
    """
    value = getattr(value, "ends", value)
    try:
        numbers = np.asarray(value)
    except Exception as error:
        if type(error).__module__.startswith("jax"):
            return
        raise
    if numbers.dtype == object or not np.issubdtype(numbers.dtype, np.number):
        raise InvalidInput(f"{name} is {value!r}; allowed: {allowed}")
    bad = ~(np.isfinite(numbers) & is_allowed(numbers))
    if np.any(bad):
        raise InvalidInput(f"{name} is {numbers[bad].flat[0]}; allowed: {allowed}")


def check_rate(name: str, value: Any) -> None:
    def is_allowed(x: Numbers) -> Flags:
        return (x > 0) & (x < 1)

    check_numbers(name, value, "a number strictly between 0 and 1", is_allowed)


def check_discount(name: str, value: Any) -> None:
    def is_allowed(x: Numbers) -> Flags:
        return (x >= 0) & (x < 1)

    check_numbers(name, value, "a number from 0 up to, but not including, 1", is_allowed)


def check_probability(name: str, value: Any) -> None:
    def is_allowed(x: Numbers) -> Flags:
        return (x >= 0) & (x <= 1)

    check_numbers(name, value, "a number from 0 to 1", is_allowed)


def check_at_least(name: str, value: Any, least: float) -> None:
    def is_allowed(x: Numbers) -> Flags:
        return x >= least

    check_numbers(name, value, f"a finite number, {least:g} or more", is_allowed)


def check_whole(name: str, value: Any, least: int = 1) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not least <= value < 2**31:
        raise InvalidInput(f"{name} is {value}; allowed: a whole number from {least} to {2**31 - 1}")


def check_finite(name: str, value: Any) -> None:
    check_numbers(name, value, "a finite number", np.isfinite)
