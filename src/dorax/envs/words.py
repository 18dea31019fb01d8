"""Worlds by the words that users type: `deep_sea:20`, `mountain_car`, a text file with a maze."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dorax import mdps
from dorax.core.checks import InvalidInput, suggestion
from dorax.envs.acrobot import SparseAcrobot
from dorax.envs.gymnax import from_gymnax, gymnax_names
from dorax.envs.mountain_car import SparseMountainCar
from dorax.mdps import MDP, Layout
from dorax.mdps.mazes import drawings
from dorax.mdps.solve import optimal_return

# A function with an argument has the size after the colon for its first one.
_MDPS: dict[str, Callable[..., MDP]] = {
    "bridge": mdps.bridge,
    "tree": mdps.tree,
    "cliff": mdps.cliff,
    "deep_sea": mdps.deep_sea,
    "stochastic_deep_sea": partial(mdps.deep_sea, is_stochastic=True),
    "river_swim": mdps.river_swim,
    "chain": mdps.chain,
    "key_and_door": mdps.key_and_door,
}
_FUNCTIONAL: dict[str, Callable[[], Any]] = {"mountain_car": SparseMountainCar, "acrobot": SparseAcrobot}


def mdp(word: str) -> MDP:
    """Create a finite MDP by a word.

    Args:
        word: `bridge`, `tree`, `cliff`, `deep_sea`, `stochastic_deep_sea`, `river_swim`, `chain` or
            `key_and_door`, all but the cliff with or without a size (`deep_sea:20`); a text file with a maze, or
            the name of one that comes with dorax, such as `four_rooms`; or the id of a Gymnasium environment with a
            transition table.

    Returns:
        The MDP.
    """
    found = _ours(word)
    if found is not None:
        return found
    if _is_in_gymnasium(word):
        return _from_gymnasium(word)
    raise InvalidInput(
        f"MDP {word!r} is unknown;{_nearest(word, _known())} allowed: {', '.join(_known())}, a text file (.txt), a "
        "Gymnasium id"
    )


def world(word: str) -> Any:
    """Create a world for many games by a word.

    Args:
        word: as for `mdp`; or `mountain_car`, `acrobot`, or the name of an environment of gymnax.

    Returns:
        A finite MDP or a functional environment.
    """
    if word in _FUNCTIONAL:
        return _FUNCTIONAL[word]()
    found = _ours(word)
    if found is not None:
        return found
    if word in gymnax_names():
        return from_gymnax(word)
    if _is_in_gymnasium(word):
        return _from_gymnasium(word)
    known = [*_known(), *_FUNCTIONAL]
    raise InvalidInput(
        f"the world is {word!r};{_nearest(word, [*known, *gymnax_names()])} allowed: {', '.join(known)}, a "
        "text file (.txt), an environment of gymnax (pip install 'dorax[worlds]'), a Gymnasium id with a transition "
        "table"
    )


def target(env: Any) -> float | None:
    """Return the return that counts as solving a world: 95 % of the best possible one, or 0.95 for a sparse reward.

    Args:
        env: the world.

    Returns:
        The return; None if it is not known.
    """
    if isinstance(env, MDP):
        best = optimal_return(env)
        return best - 0.05 * abs(best)
    return 0.95 if isinstance(env, SparseMountainCar | SparseAcrobot) else None


def _known() -> list[str]:
    return [*_MDPS, *drawings()]


def _nearest(word: str, ours: Iterable[str]) -> str:
    """Suggest one of our names or a Gymnasium id, such as the version of an environment that it still has."""
    import gymnasium

    return suggestion(word.partition(":")[0], [*ours, *gymnasium.registry])


def _ours(word: str) -> MDP | None:
    """Return one of our MDPs or a maze, or None."""
    name, colon, size = word.partition(":")
    if name in _MDPS:
        return _sized(_MDPS[name], name, size) if colon else _MDPS[name]()
    is_maze = word in drawings() or Path(word).suffix == ".txt" or Path(word).exists()
    return mdps.read_maze(word) if is_maze else None


def _is_in_gymnasium(word: str) -> bool:
    import gymnasium

    return word in gymnasium.registry


def _sized(make: Callable[..., MDP], name: str, size: str) -> MDP:
    if not inspect.signature(make).parameters:
        raise InvalidInput(f"a size is given for {name}, which has only one; allowed: {name}")
    if not size.isdecimal():
        raise InvalidInput(f"the size of {name} is {size!r}; allowed: a whole number, such as {name}:10")
    return make(int(size))


def _from_gymnasium(name: str) -> MDP:
    import gymnasium

    try:
        env = gymnasium.make(name)
    except (ImportError, gymnasium.error.Error) as error:
        raise InvalidInput(
            f"{name} cannot be made ({' '.join(str(error).split())}); allowed: environments with a transition table, "
            "such as Taxi"
        ) from error
    found = mdps.from_gymnasium(env)
    lake = getattr(env.unwrapped, "desc", None)
    if not name.startswith("FrozenLake") or lake is None:
        return found
    holes = str.maketrans("FH", ".#")
    rows = tuple("".join(cell.decode() for cell in row).translate(holes) for row in lake)
    cells = tuple((int(r), int(c)) for r, c in np.ndindex(lake.shape))
    return replace(found, layout=Layout(rows, cells), action_names=("west", "south", "east", "north"))
