"""The paper's finite MDPs, and one that it lacks: each is made here, as arrays."""

from __future__ import annotations

import numpy as np

from dorax.core.checks import InvalidInput
from dorax.mdps.mdp import MDP, Layout, deterministic

_COMPASS = ("north", "east", "south", "west")


def bridge(length: int = 15, *, normalised: bool = False) -> MDP:
    """A bridge to cross from west to east, with a fall on either side.

    The far end pays 10, going back pays 1, falling costs 100; each of them ends the
    episode, other steps pay nothing. Crossing is optimal at discount 0.9 for up to 22
    cells. `normalised` keeps all rewards in [0, 1] and the crossing optimal: 1, 0.1, 0.
    """
    _check_size("the length of a bridge", length, smallest=1)
    goal, exit_, fall = (1.0, 0.1, 0.0) if normalised else (10.0, 1.0, -100.0)
    north, east, south, west = range(4)
    successor = np.zeros((length, 4), np.int32)
    reward = np.zeros((length, 4))
    terminal = np.zeros((length, 4), bool)
    cell = np.arange(length)
    successor[:, east] = np.minimum(cell + 1, length - 1)
    successor[:, west] = np.maximum(cell - 1, 0)
    reward[:, [north, south]], terminal[:, [north, south]] = fall, True
    reward[-1, east], terminal[-1, east] = goal, True
    reward[0, west], terminal[0, west] = exit_, True
    water = "#" * (length + 2)
    layout = Layout((water, "xS" + "." * (length - 1) + "G", water), tuple((1, 1 + i) for i in range(length)))
    name = f"{'normalised ' if normalised else ''}bridge({length})"
    return deterministic(name, successor, reward, terminal, 0, 100, action_names=_COMPASS, layout=layout)


def tree(leaves: int = 5) -> MDP:
    """A root whose one action leads to a hub, and a hub whose every action ends in a leaf of its own."""
    _check_size("the number of leaves", leaves, smallest=1)
    root, hub = 0, 1
    successor = np.full((2, leaves), hub, np.int32)
    terminal = np.zeros((2, leaves), bool)
    terminal[hub] = True
    available = np.ones((2, leaves), bool)
    available[root, 1:] = False
    middle = leaves // 2
    rows = tuple(("S." if i == middle else "  ") + "G" for i in range(leaves))
    layout = Layout(rows, ((middle, 0), (middle, 1)))
    return deterministic(
        f"tree({leaves})", successor, np.zeros((2, leaves)), terminal, root, 100, available=available, layout=layout
    )


def cliff() -> MDP:
    """Cliff walking (Sutton and Barto): -1 a step, -100 and back to the start for a step off the cliff."""
    rows, columns = 4, 12
    start, goal = (rows - 1) * columns, rows * columns - 1
    row, column = np.divmod(np.arange(rows * columns), columns)
    moves = ((-1, 0), (0, 1), (1, 0), (0, -1))
    target = np.stack(
        [np.clip(row + dr, 0, rows - 1) * columns + np.clip(column + dc, 0, columns - 1) for dr, dc in moves], axis=1
    )
    falls = (target > start) & (target < goal)
    layout = Layout(
        ("." * columns,) * (rows - 1) + ("S" + "#" * (columns - 2) + "G",),
        tuple((int(r), int(c)) for r, c in zip(row, column, strict=True)),
    )
    return deterministic(
        "cliff",
        np.where(falls, start, target),
        np.where(falls, -100.0, -1.0),
        target == goal,
        start,
        500,
        action_names=_COMPASS,
        layout=layout,
    )


def deep_sea(size: int = 10, seed: int = 0) -> MDP:
    """Deep sea (Osband et al., bsuite): a diver sinks one row a step, and one path in 2**size finds the treasure.

    In each cell one of the two actions, drawn by `seed`, moves right at a cost of
    0.01 / size, the other moves left for free. The treasure of 1 lies at the right end
    of the last row.
    """
    _check_size("the size of a deep sea", size, smallest=2)
    row, column = np.divmod(np.arange(size * size), size)
    right_action = np.random.default_rng(seed).integers(0, 2, size * size)
    is_right = np.arange(2)[None, :] == right_action[:, None]
    next_column = np.clip(column[:, None] + np.where(is_right, 1, -1), 0, size - 1)
    is_last_row = np.broadcast_to((row == size - 1)[:, None], is_right.shape)
    successor = np.minimum(row + 1, size - 1)[:, None] * size + next_column
    reward = np.where(is_right, -0.01 / size, 0.0)
    reward[-1, right_action[-1]] += 1.0
    layout = Layout(
        ("S" + "." * (size - 1),) + ("." * size,) * (size - 2) + ("." * (size - 1) + "G",),
        tuple((int(r), int(c)) for r, c in zip(row, column, strict=True)),
    )
    return deterministic(f"deep_sea({size}, {seed})", successor, reward, is_last_row, 0, size, layout=layout)


def _check_size(name: str, size: int, smallest: int) -> None:
    if not isinstance(size, int | np.integer) or size < smallest:
        raise InvalidInput(f"{name} is {size!r}; allowed: a whole number, {smallest} or more")
