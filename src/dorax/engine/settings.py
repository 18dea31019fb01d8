"""Settings: values for named numbers of an agent, applied one at a time or stacked for a sweep."""

# JAX and Equinox: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dorax.core.checks import InvalidInput

Setting = Mapping[str, float]


def grid(**values: Sequence[float]) -> list[dict[str, float]]:
    """Return every combination of values: grid(temperature=(1, 3), learning_rate=(0.1, 0.5)) is four settings.

    Args:
        **values: values of each number, by name.
    """
    return [dict(zip(values, point, strict=True)) for point in itertools.product(*values.values())]


def setting_list(settings: Sequence[Setting] | None) -> list[Setting]:
    """Return the settings of a call; without a sweep, one empty setting, which changes nothing.

    Args:
        settings: the settings, or None.
    """
    if settings is not None and not settings:
        raise InvalidInput("settings is []; allowed: at least one setting, or None")
    return [{}] if settings is None else list(settings)


def labels(settings: Sequence[Setting]) -> list[str]:
    """Return settings as text, for the coordinate of a dataset.

    Args:
        settings: the settings.
    """
    return [", ".join(f"{name}={value:.12g}" for name, value in point.items()) for point in settings]


def with_setting(agent: Any, setting: Setting) -> Any:
    """Replace numbers of an agent, with the same checks as when an agent is created.

    Args:
        agent: the agent.
        setting: numbers by name. A name is that of a field (`temperature`) or, if several fields have it, the end of
            a path (`counter.discount`).

    Returns:
        The new agent.
    """
    for name, value in setting.items():
        path = _path(agent, name)
        if not isinstance(value, int | float | np.number):  # pyright: ignore[reportUnnecessaryIsInstance]  # from users
            raise InvalidInput(f"the setting {name!r} is {value!r}; allowed: a number")
        agent = _replaced(agent, path, float(value))
    return agent


def stacked(agent: Any, settings: Sequence[Setting]) -> Any:
    """Stack the variants of an agent.

    Args:
        agent: the agent.
        settings: the settings.

    Returns:
        An agent whose numbers are arrays with a leading axis over settings.
    """
    variants = [as_arrays(with_setting(agent, setting)) for setting in settings]
    for leaf in jax.tree.leaves(variants[0]):
        if eqx.is_array(leaf) and leaf.ndim > 0:
            raise InvalidInput(
                f"the agent holds an array of shape {leaf.shape}; allowed: single numbers (sweep them with settings=)"
            )
    structure = eqx.filter(variants[0], eqx.is_array, inverse=True)
    numbers = [eqx.filter(variant, eqx.is_array) for variant in variants]

    def stack(*values: Array) -> Array:
        return jnp.stack(values)

    return eqx.combine(jax.tree.map(stack, *numbers), structure)


def as_arrays(agent: Any) -> Any:
    """Convert the numbers of an agent to arrays, so that JAX traces them instead of compiling them in.

    Args:
        agent: the agent.

    Returns:
        The new agent.
    """

    def as_array(leaf: Any) -> Any:
        return jnp.asarray(leaf, float) if isinstance(leaf, int | float | np.ndarray) else leaf

    return jax.tree.map(as_array, agent)


def _path(agent: Any, name: str) -> tuple[str, ...]:
    wanted = tuple(name.split("."))
    paths = list(_number_paths(agent))
    if wanted in paths:
        return wanted
    matches = [path for path in paths if path[-len(wanted) :] == wanted]
    if len(matches) == 1:
        return matches[0]
    known = ", ".join(".".join(path) for path in paths)
    problem = "is not a number of this agent" if not matches else "names several numbers of this agent"
    raise InvalidInput(f"the setting {name!r} {problem}; allowed: {known}")


def _number_paths(module: Any) -> Iterator[tuple[str, ...]]:
    """Iterate over the paths of all fields that hold a number and are not static."""
    for field in getattr(module, "__dataclass_fields__", {}).values():
        value = getattr(module, field.name)
        if isinstance(value, eqx.Module):
            for rest in _number_paths(value):
                yield (field.name, *rest)
        elif not field.metadata.get("static", False) and _is_number(value):
            yield (field.name,)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float | np.number) or (eqx.is_array_like(value) and np.ndim(value) == 0)


def _replaced(module: Any, path: tuple[str, ...], value: float) -> Any:
    fields = {name: getattr(module, name) for name in module.__dataclass_fields__}
    head, *rest = path
    fields[head] = _replaced(fields[head], tuple(rest), value) if rest else value
    return type(module)(**fields)
