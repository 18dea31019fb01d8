"""Content-addressed keys: digests of values and of the code that uses them.

A key covers every field of the objects involved, every array, and the source (without comments and docstrings) of
every module of this package that their code imports. `dorax.study` only analyses results, so it is not covered,
except for functions that are part of a condition.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

_PACKAGE = __name__.split(".")[0]
_ANALYSIS = f"{_PACKAGE}.study"  # covered if one of its functions is used, not if it is only imported


def key_of(thing: Any) -> str:
    """Compute a digest of an object's values and code.

    Args:
        thing: a nested structure of plain values, arrays, dataclasses and named functions.

    Returns:
        A hexadecimal digest.
    """
    modules: set[str] = set()
    description = describe(thing, modules)
    code = [(name, _source_digest(_path(name))) for name in sorted(with_imports(modules))]
    return hashlib.sha256(repr((description, code)).encode()).hexdigest()


def describe(thing: Any, modules: set[str] | None = None) -> Any:
    """Describe an object as nested tuples of plain values.

    Args:
        thing: a nested structure of plain values, arrays, dataclasses and named functions.
        modules: set to which the names of the modules of its code are added.

    Returns:
        The description.

    Raises:
        TypeError: if some part has no description that is the same in every process.
    """
    seen: set[str] = set() if modules is None else modules
    if thing is None or isinstance(thing, str | bool | int | float):
        return thing
    if isinstance(thing, functools.partial):
        call = cast("functools.partial[Any]", thing)
        return ("partial", describe(call.func, seen), describe(call.args, seen), describe(call.keywords, seen))
    if inspect.isfunction(thing) and (thing.__closure__ or thing.__name__ == "<lambda>"):
        raise TypeError(
            f"{thing.__qualname__} cannot be part of a condition: use a named function and functools.partial"
        )
    if inspect.isfunction(thing) or inspect.isclass(thing):
        seen.add(thing.__module__)
        own = "" if thing.__module__.startswith(_PACKAGE) else _outside_source(thing)
        return (thing.__module__, thing.__qualname__, own)
    if is_dataclass(thing):
        kind = describe(type(thing), seen)
        return (kind, tuple((f.name, describe(getattr(thing, f.name), seen)) for f in fields(thing)))
    if isinstance(thing, Mapping):
        items = cast("Mapping[Any, Any]", thing).items()
        return tuple((describe(k, seen), describe(v, seen)) for k, v in items)
    if isinstance(thing, Sequence):
        return tuple(describe(item, seen) for item in cast("Sequence[Any]", thing))
    if hasattr(thing, "__array__"):
        array = np.ascontiguousarray(thing)
        return (str(array.dtype), array.shape, hashlib.sha256(array.tobytes()).hexdigest())
    raise TypeError(f"a {type(thing).__name__} cannot be part of a condition: it has no lasting description")


def with_imports(modules: set[str]) -> set[str]:
    """Find the modules of this package that some modules consist of: themselves and what they import, transitively.

    Args:
        modules: names of modules; those outside this package are ignored.

    Returns:
        The names of the modules found.
    """
    found: set[str] = set()
    waiting = {name for name in modules if name.split(".")[0] == _PACKAGE}
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= {other for other in _imports(_path(name)) if _is_relevant(other)} - found
    return found


def _outside_source(thing: Any) -> str:
    try:
        return inspect.getsource(thing)
    except OSError:
        return ""


def _is_relevant(name: str) -> bool:
    return name.split(".")[0] == _PACKAGE and not name.startswith(_ANALYSIS)


@functools.cache
def _imports(path: Path | None) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return frozenset(name for name in names if _is_relevant(name) and _path(name) is not None)


@functools.cache
def _source_digest(path: Path | None) -> str:
    tree = _tree(path)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _tree(path: Path | None) -> ast.Module:
    return ast.parse(path.read_text()) if path is not None else ast.Module([], [])


def _path(module: str) -> Path | None:
    """Return the file of a module of this package; None if there is no such module."""
    # Files rather than `importlib.util.find_spec`, which takes most of the time where many keys are computed.
    root = Path(sys.modules[_PACKAGE].__path__[0]).joinpath(*module.split(".")[1:])
    files = (root.with_suffix(".py"), root / "__init__.py")
    return next((path for path in files if path.is_file()), None)
