"""Finite MDPs as arrays, with exact solutions."""

from dorax.mdps.gymnasium_tables import from_gymnasium
from dorax.mdps.mazes import maze, read_maze
from dorax.mdps.mdp import MDP, Layout
from dorax.mdps.worlds import bridge, chain, cliff, deep_sea, key_and_door, river_swim, tree

__all__ = [
    "MDP",
    "Layout",
    "bridge",
    "chain",
    "cliff",
    "deep_sea",
    "from_gymnasium",
    "key_and_door",
    "maze",
    "read_maze",
    "river_swim",
    "tree",
]
