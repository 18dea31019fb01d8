"""Input checks. An error is one line with the name, the value and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

# Numbers are used in single precision and multiplied with each other, so huge ones would overflow, and rates next to 0
# or 1 would round to them.
LARGEST = 1e18
_SMALLEST_RATE = 1e-30
_BELOW_ONE = float(np.nextafter(np.float32(1), np.float32(0)))

Numbers = np.ndarray[Any, np.dtype[Any]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


class InvalidInput(ValueError):
    """An argument has a value that is not allowed. The message is one line."""


def in_brief(thing: Any) -> str:
    """Describe an object in one line.

    Args:
        thing: any object.

    Returns:
        Its `repr` without line breaks, cut after 80 characters.
    """
    words = " ".join(repr(thing).split())
    return words if len(words) <= 80 else f"{words[:80]}…"


def suggestion(word: str, known: Iterable[str]) -> str:
    """Suggest a known word for one that is not.

    Args:
        word: the unknown word.
        known: the known ones.

    Returns:
        " did you mean ...?" for a message, or nothing if no known word is similar.
    """
    names = {each.lower(): each for each in known}
    near = difflib.get_close_matches(str(word).lower(), names, n=1, cutoff=0.6)
    return f" did you mean {names[near[0]]}?" if near else ""


def check_numbers(name: str, value: Any, allowed: str, is_allowed: Callable[[Numbers], Flags]) -> None:
    """Raise unless every number in `value` is finite, at most 1e18 in size, and allowed.

    Values that are being traced by JAX are not checked. For a schedule, both ends are.

    Args:
        name: name of the argument, for the message.
        value: number, array or schedule.
        allowed: what is allowed, for the message.
        is_allowed: given an array, returns which of its elements are allowed.

    Raises:
        InvalidInput: if a number is NaN, infinite, huge or not allowed, or if `value` is not numeric.
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
    huge = np.abs(numbers) > LARGEST
    if np.any(huge):
        raise InvalidInput(f"{name} is {numbers[huge].flat[0]}; allowed: {allowed}, at most {LARGEST:g} in size")


def check_rate(name: str, value: Any) -> None:
    """Raise `InvalidInput` unless all numbers are strictly between 0 and 1, also in single precision.

    Args:
        name: name of the argument, for the message.
        value: number or array.
    """

    def is_allowed(x: Numbers) -> Flags:
        return (x >= _SMALLEST_RATE) & _is_below_one(x)

    allowed = f"a number strictly between 0 and 1 (from {_SMALLEST_RATE:g} to {_BELOW_ONE:.8f}, for single precision)"
    check_numbers(name, value, allowed, is_allowed)


def check_discount(name: str, value: Any) -> None:
    """Raise `InvalidInput` unless all numbers are in [0, 1), also in single precision.

    Args:
        name: name of the argument, for the message.
        value: number or array.
    """

    def is_allowed(x: Numbers) -> Flags:
        return (x >= 0) & _is_below_one(x)

    allowed = f"a number from 0 up to, but not including, 1 (at most {_BELOW_ONE:.8f}, for single precision)"
    check_numbers(name, value, allowed, is_allowed)


def _is_below_one(x: Numbers) -> Flags:
    """Whether numbers are below 1 after rounding to single precision."""
    with np.errstate(over="ignore"):
        return np.asarray(x).astype(np.float32) < 1


def check_probability(name: str, value: Any) -> None:
    """Raise `InvalidInput` unless all numbers are in [0, 1].

    Args:
        name: name of the argument, for the message.
        value: number or array.
    """

    def is_allowed(x: Numbers) -> Flags:
        return (x >= 0) & (x <= 1)

    check_numbers(name, value, "a number from 0 to 1", is_allowed)


def check_at_least(name: str, value: Any, least: float) -> None:
    """Raise `InvalidInput` unless all numbers are finite and at least `least`.

    Args:
        name: name of the argument, for the message.
        value: number or array.
        least: smallest value allowed.
    """

    def is_allowed(x: Numbers) -> Flags:
        return x >= least

    check_numbers(name, value, f"a finite number, {least:g} or more", is_allowed)


def check_whole(name: str, value: Any, least: int = 1) -> None:
    """Raise `InvalidInput` unless the value is an integer from `least` to 2**31 - 1.

    Args:
        name: name of the argument, for the message.
        value: value to check.
        least: smallest value allowed.
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not least <= value < 2**31:
        raise InvalidInput(f"{name} is {value}; allowed: a whole number from {least} to {2**31 - 1}")


def check_whole_number(name: str, value: Any) -> None:
    """Raise `InvalidInput` unless a number that can be swept, and so may be a float, is a whole one from 1 on.

    Args:
        name: name of the argument, for the message.
        value: value to check.
    """

    def is_allowed(x: Numbers) -> Flags:
        return (x >= 1) & (x < 2**31) & (x == np.floor(x))

    check_numbers(name, value, f"a whole number from 1 to {2**31 - 1}", is_allowed)


def check_finite(name: str, value: Any) -> None:
    """Raise `InvalidInput` unless all numbers are finite.

    Args:
        name: name of the argument, for the message.
        value: number or array.
    """
    check_numbers(name, value, "a finite number", np.isfinite)
