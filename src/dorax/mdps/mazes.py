"""Mazes drawn as text."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import resources
from pathlib import Path
from textwrap import dedent

import numpy as np

from dorax.core.checks import InvalidInput, check_probability
from dorax.mdps.mdp import MDP, Layout, deterministic

_COMPASS = ("north", "east", "south", "west")
_MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
_CHARACTERS = ". floor, S start, G goal, x exit with a small reward, # wall, ~ pit"
_WALL = "#"
_DRAWN = str.maketrans(_WALL, "█")  # layouts use # for the fall beside a bridge


def maze(
    text: str,
    *,
    goal: float = 10.0,
    exit: float = 1.0,
    pit: float = -100.0,
    step: float = 0.0,
    slip: float = 0.0,
    max_steps: int | None = None,
    name: str = "maze",
) -> MDP:
    """Create a maze from a drawing: one line per row, one character per cell.

        ##########
        #S...#...#
        #.##.#.#.#
        #..#...#.#
        #.~###.#.#
        #x.....#G#
        ##########

    `.` is floor, `S` a start, `G` a goal, `x` an exit with a small reward, `#` a wall and `~` a pit. The
    actions move north, east, south or west by one cell; a move into a wall or off the grid has no effect.
    Goals, exits and pits end the episode. If there are several starts, each episode begins at a random one.

    Args:
        text: the drawing.
        goal: reward for reaching a goal.
        exit: reward for reaching an exit.
        pit: reward for falling into a pit.
        step: reward of all other steps.
        slip: probability that a move goes to one of the two sides instead, half of it to each.
        max_steps: time limit of an episode. Default: four times the number of floor and start cells, at least 100.
        name: name of the MDP.

    Returns:
        The maze as an MDP.

    Raises:
        InvalidInput: if the drawing is malformed or no goal can be reached.
    """
    check_probability("slip", slip)
    rows = _rows(text, name)
    cells = [(r, c) for r, row in enumerate(rows) for c, character in enumerate(row) if character in ".S"]
    state = {cell: i for i, cell in enumerate(cells)}
    pays = {"G": goal, "x": exit, "~": pit}
    successor = np.zeros((len(cells), 4), np.int32)
    reward = np.full((len(cells), 4), float(step))
    terminal = np.zeros((len(cells), 4), bool)
    for (r, c), here in state.items():
        for action, (down, right) in enumerate(_MOVES):
            there = (r + down, c + right)
            character = _character(rows, there)
            successor[here, action] = state.get(there, here)
            reward[here, action] = pays.get(character, step)
            terminal[here, action] = character in pays
    limit = max(100, 4 * len(cells)) if max_steps is None else max_steps
    layout = Layout(tuple(row.translate(_DRAWN) for row in rows), tuple(cells))
    mdp = deterministic(name, successor, reward, terminal, 0, limit, action_names=_COMPASS, layout=layout)
    is_start = np.array([rows[r][c] == "S" for r, c in cells])
    mdp = replace(mdp, start=is_start / is_start.sum())
    if slip > 0:
        mdp = _slippery(mdp, slip)
    is_before_goal = [any(_character(rows, (r + d, c + e)) == "G" for d, e in _MOVES) for r, c in cells]
    if not (mdp.reachable & is_before_goal).any():
        raise InvalidInput(f"{name}: no goal can be reached from a start; allowed: mazes that can be solved")
    return mdp


def drawings() -> dict[str, Path]:
    """Return the mazes that come with dorax: their files by name."""
    folder = Path(str(resources.files("dorax.mdps") / "drawings"))
    return {path.stem: path for path in sorted(folder.glob("*.txt"))}


def read_maze(path: str | os.PathLike[str], *, slip: float = 0.0) -> MDP:
    """Read a maze from a text file; see `maze`.

    Args:
        path: the file, or the name of a maze that comes with dorax: `four_rooms`, `ledge` or `spiral`.
        slip: probability that a move goes to one of the two sides instead, half of it to each.

    Returns:
        The maze as an MDP, named after the file.
    """
    path = drawings().get(str(path), path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")  # with or without a byte order mark
    except FileNotFoundError:
        raise InvalidInput(f"{path} does not exist; allowed: a text file with a maze") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = (os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "it is not text").lower()
        raise InvalidInput(f"cannot read {path}: {reason}; allowed: a text file with a maze") from error
    return maze(text, slip=slip, name=Path(path).stem)


def _slippery(mdp: MDP, slip: float) -> MDP:
    """Let moves of a deterministic maze slip to either side: the actions go round the compass."""

    def outcomes(array: np.ndarray) -> np.ndarray:
        return np.concatenate([array, np.roll(array, 1, axis=1), np.roll(array, -1, axis=1)], axis=2)

    return replace(
        mdp,
        successor=outcomes(mdp.successor),
        probability=np.broadcast_to([1 - slip, slip / 2, slip / 2], (*mdp.available.shape, 3)),
        reward=outcomes(mdp.reward),
        terminal=outcomes(mdp.terminal),
    )


def _character(rows: list[str], cell: tuple[int, int]) -> str:
    """Return the character of a cell; cells outside the grid are walls."""
    r, c = cell
    return rows[r][c] if 0 <= r < len(rows) and 0 <= c < len(rows[r]) else _WALL


def _rows(text: str, name: str) -> list[str]:
    """Return the checked lines of the drawing. Messages count lines from the start of the text, as an editor does."""
    lines = {number: line.rstrip() for number, line in enumerate(dedent(text).splitlines(), start=1)}
    filled = [number for number, line in lines.items() if line]
    if not filled:
        raise InvalidInput(f"{name}: the maze is empty; allowed: lines of {_CHARACTERS}")
    first, last = filled[0], filled[-1]
    rows = {number: lines[number] for number in range(first, last + 1)}
    for number, row in rows.items():
        for column, character in enumerate(row, start=1):
            if character not in ".SGx#~":
                raise InvalidInput(f"{name}: line {number}, column {column} is {character!r}; allowed: {_CHARACTERS}")
        if len(row) != len(rows[first]):
            raise InvalidInput(
                f"{name}: line {number} has {len(row)} cells, line {first} has {len(rows[first])}; "
                "allowed: lines of equal length"
            )
    drawn = "".join(rows.values())
    for character, what in (("S", "start"), ("G", "goal")):
        if character not in drawn:
            raise InvalidInput(f"{name}: the maze has no {what}; allowed: at least one {character}")
    return list(rows.values())
