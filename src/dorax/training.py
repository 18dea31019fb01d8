"""One name for training, whatever the agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dorax import tabular
from dorax.core.checks import InvalidInput
from dorax.lanes.training import train_in_environment
from dorax.mdps import MDP

if TYPE_CHECKING:
    import xarray as xr


def train(agent: Any, world: Any, episodes: int, seeds: int | Sequence[int] = 1, **options: Any) -> xr.Dataset:
    """Train one learner for every seed, and every setting if there are any, all side by side.

    A `TabularAgent` learns on a finite MDP (`dorax.mdps`), a `LinearAgent` or a
    `DeepAgent` in a functional environment (`dorax.envs`, or any with gymnax's interface).
    `seeds` is a number of seeds (0, 1, ...) or their list; `settings` a list of numbers to
    replace in the agent, such as `dorax.grid(temperature=(1, 3, 10))`. The result is an
    `xarray.Dataset` over seed and episode, preceded by setting where there are settings.
    The other options are those of `dorax.tabular.train` and
    `dorax.lanes.training.train_in_environment`.
    """
    if isinstance(agent, tabular.TabularAgent):
        if not isinstance(world, MDP):
            raise InvalidInput(f"the world of a TabularAgent is {_shown(world)}; allowed: a finite MDP, see dorax.mdps")
        return tabular.train(agent, world, episodes, seeds, **options)
    if isinstance(agent, type) or not hasattr(agent, "learner"):
        raise InvalidInput(f"agent is {_shown(agent)}; allowed: a TabularAgent, a LinearAgent or a DeepAgent")
    if isinstance(world, type) or not hasattr(world, "step_env"):
        raise InvalidInput(
            f"the world of a {type(agent).__name__} is {_shown(world)}; "
            "allowed: a functional environment, see dorax.envs"
        )
    return train_in_environment(agent, world, episodes, seeds, **options)


def _shown(thing: Any) -> str:
    """The beginning of what it looks like, on one line."""
    words = " ".join(repr(thing).split())
    return words if len(words) <= 80 else f"{words[:80]}…"
