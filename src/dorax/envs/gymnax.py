"""Environments of gymnax (Lange, 2022), which compile and run many games in parallel, as ours do.

Its MinAtar games are those of Young and Tian (2019), except for these points (gymnax 1.0):

- There are no sticky actions. MinAtar repeats the previous action with probability 0.1.
- Episodes are truncated after 1000 steps, in Freeway after 2500. MinAtar plays Breakout, Asterix, Seaquest and Space
  Invaders until the game is lost, and ends an episode of Freeway after 2500 steps as if the game were over. In
  `dorax.train`, values bootstrap through a truncation.
- Only the actions that do something in a game are offered (`use_minimal_action_set=False` offers all six).

Difficulty grows during an episode in the same games as in MinAtar; the parameter `ramping` of Asterix and Seaquest
turns it off. Because of these differences, scores cannot be compared with published ones for MinAtar.
"""

from __future__ import annotations

import functools
from typing import Any

from dorax.core.checks import InvalidInput, suggestion
from dorax.core.extras import needing


def from_gymnax(name: str, **options: Any) -> Any:
    """Make an environment of gymnax, by name.

        env = dorax.envs.from_gymnax("Breakout-MinAtar")
        short = dorax.envs.with_params(env, max_steps_in_episode=500)

    Needs `pip install 'dorax[worlds]'`. Any other environment with the interface of gymnax 1.0 is used as it is; this
    function is not needed for it.

    Args:
        name: name of a registered environment, such as "Freeway-MinAtar", "DeepSea-bsuite" or "FourRooms-misc".
        options: arguments of the environment's class. Its numbers are parameters; see `with_params`.

    Returns:
        The environment. The same name and options give the same object, so that runs share compiled programs.
    """
    with needing("worlds"):
        import gymnax
    if name not in gymnax.registered_envs:
        raise InvalidInput(
            f"the environment is {name!r};{suggestion(name, gymnax.registered_envs)} allowed: a name in "
            "gymnax.registered_envs"
        )
    try:
        return _made(name, tuple(sorted(options.items())))
    except TypeError as error:
        raise InvalidInput(f"options of {name} are {options}: {error}; allowed: arguments of its class") from None


def gymnax_names() -> list[str]:
    """Return the names of the environments of gymnax; none if it is not installed."""
    try:
        import gymnax
    except ModuleNotFoundError:
        return []
    return list(gymnax.registered_envs)


@functools.cache
def _made(name: str, options: tuple[tuple[str, Any], ...]) -> Any:
    import gymnax

    return gymnax.make(name, **dict(options))[0]
