"""Drawings of a finite MDP and the agent's position, as text and as images."""

from __future__ import annotations

import numpy as np

from dorax.mdps import MDP, Layout

_COLOURS = {
    ".": (236, 239, 241),
    "S": (187, 222, 251),
    "G": (129, 199, 132),
    "x": (255, 224, 130),
    "#": (96, 125, 139),
    "~": (96, 125, 139),
    "█": (55, 65, 74),
    " ": (255, 255, 255),
}
_VISITOR = (216, 67, 21)
_LINE = (255, 255, 255)
_CELL = 24  # pixels


def layout_of(mdp: MDP) -> Layout:
    """Return the layout of an MDP.

    Args:
        mdp: the MDP.

    Returns:
        Its own layout, or its states in rows of equal length if it has none.
    """
    if mdp.layout is not None:
        return mdp.layout
    width = int(np.ceil(np.sqrt(mdp.states)))
    height = -(-mdp.states // width)
    filled = ["." * min(width, mdp.states - row * width) for row in range(height)]
    rows = tuple(row.ljust(width) for row in filled)
    return Layout(rows, tuple(divmod(state, width) for state in range(mdp.states)))


def as_text(mdp: MDP, state: int, last_action: int | None) -> str:
    """Draw the grid as text, with the agent as `@`.

    Args:
        mdp: the MDP.
        state: the agent's state.
        last_action: action shown below the grid, if there is one.

    Returns:
        The text.
    """
    layout = layout_of(mdp)
    rows = [list(row) for row in layout.rows]
    row, column = layout.cells[state]
    rows[row][column] = "@"
    names = mdp.action_names or tuple(str(action) for action in range(mdp.actions))
    below = "" if last_action is None else f"  ({names[last_action]})\n"
    return "\n".join("".join(row) for row in rows) + "\n" + below


def as_image(mdp: MDP, state: int) -> np.ndarray:
    """Draw the grid as an image, with the agent as a disc.

    Args:
        mdp: the MDP.
        state: the agent's state.

    Returns:
        An image, height x width x 3, uint8.
    """
    layout = layout_of(mdp)
    cells = np.array([[_COLOURS[cell] for cell in row] for row in layout.rows], np.uint8)
    image = cells.repeat(_CELL, axis=0).repeat(_CELL, axis=1)
    image[::_CELL], image[:, ::_CELL] = _LINE, _LINE
    across = (np.arange(_CELL) + 0.5) / _CELL - 0.5
    disc = across[:, None] ** 2 + across[None, :] ** 2 < 0.3**2
    row, column = layout.cells[state]
    image[row * _CELL : (row + 1) * _CELL, column * _CELL : (column + 1) * _CELL][disc] = _VISITOR
    return image
