"""The paper's finite MDPs (bridge, tree, cliff) and deep sea."""

from __future__ import annotations

import numpy as np

from dorax.core.checks import InvalidInput
from dorax.mdps.mdp import MDP, Layout, deterministic

_COMPASS = ("north", "east", "south", "west")


def bridge(length: int = 15, *, normalised: bool = False) -> MDP:
    """Create a bridge to cross from west to east, with a fall on either side.

    The goal at the east end pays 10, the exit at the west end pays 1, and a fall costs 100. All three end
    the episode; other steps pay 0. Crossing is optimal at discount 0.9 for up to 22 cells.

    Args:
        length: number of cells.
        normalised: use the rewards 1, 0.1 and 0 instead, all in [0, 1]; crossing is still optimal.

    Returns:
        The MDP, with the actions north, east, south and west.
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
    """Create a tree: the root has one action, which leads to a hub, and each of the hub's actions ends in a leaf.

    There is no reward; the tree shows how counts propagate.

    Args:
        leaves: number of leaves.

    Returns:
        The MDP.
    """
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
    """Create cliff walking (Sutton and Barto): -1 per step, and -100 and back to the start for stepping off the cliff.

    Returns:
        The MDP, with the actions north, east, south and west.
    """
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
    """Create deep sea (Osband et al., bsuite): one of the 2**size action sequences reaches the treasure.

    The agent starts at the top left and moves down one row per step. In each cell one of the two actions,
    drawn at random when the MDP is created, moves right and costs 0.01 / size; the other moves left at no
    cost. The treasure at the bottom right pays 1.

    Args:
        size: number of rows and of columns.
        seed: seed of the random action mapping.

    Returns:
        The MDP.
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
