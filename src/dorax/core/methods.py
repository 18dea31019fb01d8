"""Methods of Equinox modules that are cheap to call.

Equinox wraps every bound method in a module so that it can be passed through JAX. That takes 25
microseconds, ten times as long as most of our formulas. Methods that a Python loop calls at every step
skip the wrapping.
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
    """Decorate a method of an Equinox module so that it binds to a plain `partial`.

    Args:
        function: the method.

    Returns:
        A descriptor that Equinox does not wrap.
    """
    return cast("_Function", _PlainMethod(function))
