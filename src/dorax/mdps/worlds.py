"""The paper's finite MDPs (bridge, tree, cliff), deep sea, river swim and the randomised chain."""

from __future__ import annotations

from dataclasses import replace

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


def deep_sea(size: int = 10, seed: int = 0, *, is_stochastic: bool = False) -> MDP:
    """Create deep sea (Osband et al., bsuite): one of the 2**size action sequences reaches the treasure.

    The agent starts at the top left and moves down one row per step. In each cell one of the two actions,
    drawn at random when the MDP is created, moves right and costs 0.01 / size; the other moves left at no
    cost. The treasure at the bottom right pays 1.

    The stochastic form is that of bsuite: a move to the right fails with probability 1 / size, and the agent then stays
    in its column; the reward of the last step is noisy in the first and in the last column. bsuite's noise is normal;
    here it is +1 or -1 with equal probability, which has the same mean and variance, because an MDP has finitely many
    outcomes.

    Args:
        size: number of rows and of columns.
        seed: seed of the random action mapping.
        is_stochastic: make moves to the right and the last reward random.

    Returns:
        The MDP.
    """
    _check_size("the size of a deep sea", size, smallest=2)
    row, column = np.divmod(np.arange(size * size), size)
    right_action = np.random.default_rng(seed).integers(0, 2, size * size)
    is_right = np.arange(2)[None, :] == right_action[:, None]
    next_column = np.clip(column[:, None] + np.where(is_right, 1, -1), 0, size - 1)
    is_last_row = np.broadcast_to((row == size - 1)[:, None], is_right.shape)
    below = np.minimum(row + 1, size - 1)[:, None] * size
    successor = below + next_column
    reward = np.where(is_right, -0.01 / size, 0.0)
    reward[-1, right_action[-1]] += 1.0
    layout = Layout(
        ("S" + "." * (size - 1),) + ("." * size,) * (size - 2) + ("." * (size - 1) + "G",),
        tuple((int(r), int(c)) for r, c in zip(row, column, strict=True)),
    )
    name = f"{'stochastic ' if is_stochastic else ''}deep_sea({size}, {seed})"
    mdp = deterministic(name, successor, reward, is_last_row, 0, size, layout=layout)
    if not is_stochastic:
        return mdp
    # Two outcomes per pair: above the last row the move succeeds or fails, in the last row the noise is +1 or -1.
    fails = np.where(is_right, 1 / size, 0.0)
    is_noisy = is_last_row & np.isin(column, (0, size - 1))[:, None]
    noise = np.where(is_noisy, 1.0, 0.0)
    second = np.where(is_last_row, 0.5, fails)
    return replace(
        mdp,
        successor=np.stack([successor, np.broadcast_to(below + column[:, None], successor.shape)], axis=2),
        probability=np.stack([1 - second, second], axis=2),
        reward=np.stack([reward + noise, reward - noise], axis=2),
        terminal=np.stack([is_last_row, is_last_row], axis=2),
    )


def river_swim(length: int = 6) -> MDP:
    """Create river swim (Strehl and Littman, 2008): swimming upstream pays a lot, but the current is strong.

    The action left always moves left, and pays 0.0005 in the first state. The action right moves right with
    probability 0.3, stays with probability 0.6 and is swept left with probability 0.1; in the first state it stays with
    probability 0.7, and in the last state it stays with probability 0.3, which pays 1, and is swept left with
    probability 0.7. Rewards are those of the paper divided by 10 000. An episode starts in the second or in the third
    state. It never ends by itself and is truncated after 20 steps; in the paper there are no episodes.

    Args:
        length: number of states.

    Returns:
        The MDP, with the actions left and right.
    """
    _check_size("the length of a river", length, smallest=3)
    state = np.arange(length)
    left, stays, right = np.maximum(state - 1, 0), state, np.minimum(state + 1, length - 1)
    swims = np.tile([0.1, 0.6, 0.3], (length, 1))
    swims[0], swims[-1] = (0.0, 0.7, 0.3), (0.7, 0.3, 0.0)
    reward = np.zeros((length, 2, 3))
    reward[0, 0], reward[-1, 1, 1] = 0.0005, 1.0
    return MDP(
        name=f"river_swim({length})",
        successor=np.broadcast_to(np.stack([left, stays, right], axis=1)[:, None], reward.shape),
        probability=np.stack([np.tile([1.0, 0.0, 0.0], (length, 1)), swims], axis=1),
        reward=reward,
        terminal=np.zeros(reward.shape, bool),
        start=np.where((state == 1) | (state == 2), 0.5, 0.0),
        max_steps=20,
        available=np.ones((length, 2), bool),
        action_names=("left", "right"),
        layout=Layout((("." + "SS" + "." * (length - 4))[: length - 1] + "G",), tuple((0, i) for i in range(length))),
    )


def chain(length: int = 100, seed: int = 0) -> MDP:
    """Create the randomised chain (Shyam et al., 2019), as Rashid et al. (2020) use it to compare OPIQ.

    The agent starts in the second state. In each state one of the two actions, drawn at random when the MDP is created,
    moves right and the other one moves left; at an end of the chain, moving on stays there. Moving left in the first
    state pays 0.001 and moving right in the last one pays 1. An episode never ends by itself and is truncated after
    length + 9 steps, so the best return is 11. All of this is as in the code of Rashid et al. (oxwhirl/opiq on GitHub),
    who use 100 states; they show the n-th state as a vector that starts with n ones, here states are numbers.

    Args:
        length: number of states.
        seed: seed of the random action mapping.

    Returns:
        The MDP.
    """
    _check_size("the length of a chain", length, smallest=3)
    state = np.arange(length)
    right_action = np.random.default_rng(seed).integers(0, 2, length)
    is_right = np.arange(2)[None, :] == right_action[:, None]
    successor = np.clip(state[:, None] + np.where(is_right, 1, -1), 0, length - 1)
    reward = np.zeros((length, 2))
    reward[0, 1 - right_action[0]], reward[-1, right_action[-1]] = 0.001, 1.0
    layout = Layout((".S" + "." * (length - 3) + "G",), tuple((0, i) for i in range(length)))
    terminal = np.zeros((length, 2), bool)
    return deterministic(f"chain({length}, {seed})", successor, reward, terminal, 1, length + 9, layout=layout)


def key_and_door(size: int = 9, seed: int = 0) -> MDP:
    """Create two rooms with a locked door between them: the key must be fetched before the goal can be reached.

    The actions move north, east, south or west by one cell; a move into a wall or into the locked door has no effect.
    Whoever steps on the key has it for the rest of the episode. Only the goal pays, 1, and ends the episode, which is
    truncated after 22 size steps. Start and key are in the left room and the goal is in the right one; where they are,
    and where the door is, is drawn when the MDP is created. After MiniGrid's DoorKey (Chevalier-Boisvert et al., 2023),
    without turning and without actions for the key and the door.

    Args:
        size: number of rows and of columns, an odd number; the column in the middle is the wall.
        seed: seed of the places.

    Returns:
        The MDP. A state is a cell, with the key or without.
    """
    _check_size("the size of two rooms", size, smallest=3)
    if size % 2 == 0:
        raise InvalidInput(f"the size of two rooms is {size}; allowed: an odd number")
    random, wall = np.random.default_rng(seed), size // 2
    row, column = np.divmod(np.arange(size * size), size)
    start, key = random.choice(np.flatnonzero(column < wall), 2, replace=False)
    goal, door = random.choice(np.flatnonzero(column > wall)), random.integers(size) * size + wall
    is_floor = {False: column < wall, True: (column != wall) | (np.arange(size * size) == door)}
    is_floor[False] = is_floor[False] & (np.arange(size * size) != key)  # there one always has it
    is_floor[True] = is_floor[True] & (np.arange(size * size) != goal)  # where the episode is over
    places = [(has_key, int(cell)) for has_key in (False, True) for cell in np.flatnonzero(is_floor[has_key])]
    number = {place: i for i, place in enumerate(places)}
    successor, pays = np.zeros((len(places), 4), np.int32), np.zeros((len(places), 4), bool)
    for (has_key, cell), here in number.items():
        for action, (down, right) in enumerate(((-1, 0), (0, 1), (1, 0), (0, -1))):
            to_row, to_column = row[cell] + down, column[cell] + right
            is_inside = 0 <= to_row < size and 0 <= to_column < size
            there = int(to_row * size + to_column) if is_inside else cell
            pays[here, action] = has_key and there == goal
            successor[here, action] = number.get((has_key or there == key, there), here)
    # Drawn side by side: the left room without the key, and both rooms with it.
    left, walls = "." * wall, ["." if r == door // size else "█" for r in range(size)]
    rows = [list(left + "█   " + left + middle + left) for middle in walls]
    shift = wall + 4
    rows[row[start]][column[start]] = "S"
    rows[row[goal]][column[goal] + shift] = "G"
    cells = tuple((int(row[cell]), int(column[cell]) + shift * has_key) for has_key, cell in places)
    return deterministic(
        f"key_and_door({size}, {seed})", successor, pays.astype(float), pays, number[False, int(start)], 22 * size,
        action_names=("north", "east", "south", "west"), layout=Layout(tuple("".join(each) for each in rows), cells),
    )  # fmt: skip


def _check_size(name: str, size: int, smallest: int) -> None:
    if not isinstance(size, int | np.integer) or size < smallest:
        raise InvalidInput(f"{name} is {size!r}; allowed: a whole number, {smallest} or more")
