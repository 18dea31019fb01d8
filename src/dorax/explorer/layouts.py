"""Where states are drawn: as the MDP says, or by how many steps they are away from the start or from the goal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dorax.core.checks import InvalidInput
from dorax.explorer.recording import Goal, goal_of
from dorax.mdps import MDP, Layout

MOST_STATES = 1000  # browsers become slow with more


@dataclass(frozen=True)
class Drawing:
    """How the states of an MDP are drawn.

    Attributes:
        layout: the layout.
        distances: how many steps each state is away; None if the layout is the MDP's own. Unknown distances are -1.
        what: what the distances are from, or lead to.
    """

    layout: Layout
    distances: np.ndarray | None = None
    what: str = ""


def drawing_of(mdp: MDP) -> Drawing:
    """Return how an MDP is drawn: by its own layout, or in columns by distance.

    Distances are from the start if few states can be it, and else to the goal.

    Args:
        mdp: the MDP.

    Returns:
        The drawing.

    Raises:
        InvalidInput: if the MDP has no layout and more states than `MOST_STATES`.
    """
    if mdp.layout is not None:
        return Drawing(mdp.layout)
    reachable = np.flatnonzero(mdp.reachable)
    if len(reachable) > MOST_STATES:
        raise InvalidInput(
            f"{mdp.name} has {len(reachable)} states and no layout; allowed: a layout, or at most {MOST_STATES} states"
        )
    goal = goal_of(mdp)
    if goal is not None and np.count_nonzero(mdp.start) > max(1, len(reachable) / 4):
        distances = _distances(mdp, _before(mdp, goal), is_backward=True)
        columns = distances.max() - distances  # episodes go from left to right
        return Drawing(_in_columns(columns, reachable), distances, f"to {goal.name}")
    distances = _distances(mdp, mdp.start > 0, is_backward=False)
    return Drawing(_in_columns(distances, reachable), distances, "from the start")


def _before(mdp: MDP, goal: Goal) -> np.ndarray:
    """Return the states from which one step can reach the goal."""
    reaches = (mdp.probability > 0) & mdp.available[..., None] & (mdp.reward >= goal.reward)
    return (reaches & (mdp.terminal | (not goal.is_end))).any(axis=(1, 2)) & mdp.reachable


def _distances(mdp: MDP, first: np.ndarray, is_backward: bool) -> np.ndarray:
    """Return the least number of steps between each state and some first ones; -1 where there is no way."""
    leads = (mdp.probability > 0) & ~mdp.terminal & mdp.available[..., None]
    source = np.broadcast_to(np.arange(mdp.states)[:, None, None], leads.shape)[leads]
    target = mdp.successor[leads]
    if is_backward:
        source, target = target, source
    distances = np.where(first, 0, -1)
    for distance in range(1, mdp.states):
        found = target[distances[source] == distance - 1]
        found = found[distances[found] < 0]
        if len(found) == 0:
            break
        distances[found] = distance
    return distances


def _in_columns(distances: np.ndarray, states: np.ndarray) -> Layout:
    """Place states by a number in blocks of columns from left to right, with a blank column between them."""
    height = max(4, int(np.ceil(np.sqrt(2 * len(states)))))
    cells = [(-1, -1)] * len(distances)  # states that cannot be reached are not drawn
    left = 0
    for distance in np.unique(distances[states]):
        block = states[distances[states] == distance]
        for i, state in enumerate(block):
            column, row = divmod(i, height)
            cells[state] = (row, left + column)
        left += -(-len(block) // height) + 1
    rows = [[" "] * (left - 1) for _ in range(height)]
    for state in states:
        row, column = cells[state]
        rows[row][column] = "."
    drawn = ["".join(row) for row in rows]
    while not drawn[-1].strip():
        drawn.pop()
    return Layout(tuple(drawn), tuple(cells))
