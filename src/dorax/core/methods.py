"""Methods of Equinox modules that are cheap to call.

Equinox makes a module of every bound method, so that it can be passed through JAX; that
takes 25 microseconds, ten times as long as the formulas behind most of ours. Methods that
a Python loop calls at every step, and that nobody passes around, do without.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _PlainMethod:
    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__, self.__name__ = function.__doc__, function.__name__

    def __get__(self, instance: Any, owner: type) -> Any:
        return self.function if instance is None else partial(self.function, instance)


def plain_method(function: _Function) -> _Function:
    """A method of an Equinox module that binds to a `partial`, which Equinox leaves alone."""
    return cast("_Function", _PlainMethod(function))
