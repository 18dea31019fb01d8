"""Steps of games, to show them to an explorer."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from dorax.agents.explorers.protocol import Visited

Shown = Callable[..., Any]


@jax.jit
def _observed(explorer: Any, state: Any, x: Any, next_x: Any, rest: Any) -> Any:
    visited = Visited(x, explorer.look(state, x).features, rest[0], next_x, explorer.look(state, next_x), *rest[1:])
    return explorer.observe(state, visited)


@pytest.fixture(scope="session")
def shown() -> Shown:
    """`shown(explorer, state, x, next_x)`: the state, bonus and row after one step of every game."""

    def shown(
        explorer: Any, state: Any, x: Any, next_x: Any, *, action: Any = 0, next_action: Any = 0,
        terminated: Any = False, is_over: Any = None, is_start: Any = False, is_visit: Any = True,
    ) -> Any:  # fmt: skip
        x, next_x = jnp.asarray(x), jnp.asarray(next_x)
        is_over = terminated if is_over is None else is_over
        rest = (action, next_action, terminated, is_over, is_start, is_visit)
        rest = tuple(jnp.broadcast_to(jnp.asarray(one), (len(x),)) for one in rest)
        return _observed(explorer, state, x, next_x, rest)

    return shown
