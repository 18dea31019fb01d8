"""MDPs and agents by the names that users type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dorax import mdps
from dorax.agents.tabular import TabularAgent
from dorax.core import LLL, EpsilonGreedy, EValues, InverseCount, Sample, Softmax, Visits
from dorax.core.checks import InvalidInput
from dorax.mdps import MDP, Layout

_WORLDS: dict[str, Callable[[], MDP]] = {
    "bridge": mdps.bridge,
    "tree": mdps.tree,
    "cliff": mdps.cliff,
    "deep_sea": mdps.deep_sea,
    "stochastic_deep_sea": partial(mdps.deep_sea, is_stochastic=True),
    "river_swim": mdps.river_swim,
}
# Agents that sample ignore counts; they learn E-values only to show them.
AGENTS = {
    "e-values": "LLL softmax on E-values",
    "visits": "LLL softmax on visits",
    "softmax": "softmax, E-values learned but not used",
    "epsilon-greedy": "ε-greedy, E-values learned but not used",
    "e-values-bonus": "ε-greedy with a bonus of 1 / generalized count",
}


def world(name: str) -> MDP:
    """Create an MDP by name.

    Args:
        name: `bridge`, `tree`, `cliff`, `deep_sea`, `stochastic_deep_sea`, `river_swim`, a text file with a maze, or
            the id of a Gymnasium environment with a transition table.

    Returns:
        The MDP.
    """
    if name in _WORLDS:
        return _WORLDS[name]()
    if Path(name).suffix == ".txt" or Path(name).exists():
        return mdps.read_maze(name)
    import gymnasium

    if name in gymnasium.registry:
        return _from_gymnasium(name)
    worlds = ", ".join(_WORLDS)
    raise InvalidInput(f"MDP {name!r} is unknown; allowed: {worlds}, a text file (.txt), a Gymnasium id")


def agents(names: Sequence[str], mdp: MDP, discount: float, e_discount: float) -> dict[str, TabularAgent]:
    """Create one or two of `AGENTS`, with parameters that suit the MDP.

    Args:
        names: names of the agents.
        mdp: the MDP.
        discount: the paper's gamma.
        e_discount: the paper's gamma_E.

    Returns:
        The agents by name.
    """
    for name in names:
        if name not in AGENTS:
            raise InvalidInput(f"agent {name!r} is unknown; allowed: {', '.join(AGENTS)}")
    if not 1 <= len(set(names)) == len(names) <= 2:
        raise InvalidInput(f"agents are {' '.join(names) or 'none'}; allowed: one, or two different ones")
    softmax, greedy, e_values = Softmax(_temperature(mdp)), EpsilonGreedy(0.1), EValues(e_discount)
    made: dict[str, dict[str, Any]] = {
        "e-values": {"rule": LLL(softmax), "counter": e_values},
        "visits": {"rule": LLL(softmax), "counter": Visits()},
        "softmax": {"rule": Sample(softmax), "counter": e_values},
        "epsilon-greedy": {"rule": Sample(greedy), "counter": e_values},
        "e-values-bonus": {"rule": Sample(greedy), "counter": e_values, "bonus": InverseCount()},
    }
    return {name: TabularAgent(**made[name], learning_rate=0.5, discount=discount) for name in names}


def _temperature(mdp: MDP) -> float:
    """Return a tenth of the largest reward, so that the temperature matches the scale of the rewards."""
    best = float(mdp.reward[mdp.probability > 0].max())
    return best / 10 if best > 0 else 1.0


def _from_gymnasium(name: str) -> MDP:
    import gymnasium

    env = gymnasium.make(name)
    mdp = mdps.from_gymnasium(env)
    lake = getattr(env.unwrapped, "desc", None)
    if not name.startswith("FrozenLake") or lake is None:
        return mdp
    holes = str.maketrans("FH", ".#")
    rows = tuple("".join(cell.decode() for cell in row).translate(holes) for row in lake)
    cells = tuple((int(r), int(c)) for r, c in np.ndindex(lake.shape))
    return replace(mdp, layout=Layout(rows, cells), action_names=("west", "south", "east", "north"))
