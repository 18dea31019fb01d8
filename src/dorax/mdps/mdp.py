"""Finite MDPs as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dorax.core.checks import InvalidInput, check_discount
from dorax.mdps import solve


@dataclass(frozen=True)
class Layout:
    """How a finite MDP is drawn on a grid.

    Attributes:
        rows: one string per row, one character per cell: `.` floor, `S` start, `G` goal, `x` exit with a small
            reward, `#` fall, `~` pit, `█` wall, blank for nothing.
        cells: row and column of each state.
    """

    rows: tuple[str, ...]
    cells: tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class MDP:
    """A finite MDP as arrays.

    Attributes:
        name: name of the MDP.
        successor: next states, states x actions x successors.
        probability: probability of each successor; entries with probability 0 are padding.
        reward: reward of each transition.
        terminal: whether each transition ends the episode; its successor is then never visited.
        start: start distribution over states.
        max_steps: time limit; an episode that has not ended after this many steps is truncated.
        available: which actions each state has, states x actions.
        action_names: names of the actions, if they have any.
        layout: how to draw the MDP on a grid, if known.
    """

    name: str
    successor: np.ndarray
    probability: np.ndarray
    reward: np.ndarray
    terminal: np.ndarray
    start: np.ndarray
    max_steps: int
    available: np.ndarray
    action_names: tuple[str, ...] | None = None
    layout: Layout | None = None

    def __post_init__(self) -> None:
        for name in ("successor", "probability", "reward", "start"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), np.float64))
        for name in ("terminal", "available"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), bool))
        _check(self)
        total = self.probability.sum(axis=2, keepdims=True)
        object.__setattr__(self, "successor", self.successor.astype(np.int32))
        object.__setattr__(self, "probability", self.probability / np.where(total > 0, total, 1.0))
        object.__setattr__(self, "start", self.start / self.start.sum())

    def __repr__(self) -> str:
        return f"{self.name}: {self.states} states, {self.actions} actions"

    @property
    def states(self) -> int:
        """The number of states."""
        return self.successor.shape[0]

    @property
    def actions(self) -> int:
        """The number of actions."""
        return self.successor.shape[1]

    def optimal_q(self, discount: float) -> np.ndarray:
        """Compute Q* by value iteration.

        Args:
            discount: the paper's gamma.

        Returns:
            Optimal values, states x actions, in float64; -inf for actions that are not available.
        """
        check_discount("discount", discount)
        return self._answers(discount)[0]

    def optimal_policy(self, discount: float) -> np.ndarray:
        """Compute the optimal policy.

        Args:
            discount: the paper's gamma.

        Returns:
            Probabilities, states x actions; equally good actions share the probability equally.
        """
        return solve.greedy_policy(self.optimal_q(discount))

    def optimal_occupancy(self, discount: float) -> np.ndarray:
        """Compute d*, how often the optimal policy visits each state-action pair.

        Args:
            discount: the paper's gamma.

        Returns:
            Expected visits per episode, states x actions, normalised to sum to 1.
        """
        check_discount("discount", discount)
        return self._answers(discount)[1]

    def _answers(self, discount: float) -> tuple[np.ndarray, np.ndarray]:
        """Return Q* and d*, computed once for each discount."""
        if discount not in self._solved:
            q = solve.optimal_q(self, discount)
            self._solved[discount] = q, solve.occupancy(self, solve.greedy_policy(q))
        return self._solved[discount]

    @cached_property
    def reachable(self) -> np.ndarray:
        """Which states an episode can reach, as booleans."""
        found, last = self.start > 0, np.zeros(self.states, bool)
        leads = (self.probability > 0) & ~self.terminal & self.available[..., None]
        while (found != last).any():
            last, found = found, found.copy()
            found[self.successor[leads & last[:, None, None]]] = True
        return found

    @cached_property
    def _solved(self) -> dict[float, tuple[np.ndarray, np.ndarray]]:
        return {}


def deterministic(
    name: str,
    successor: np.ndarray,
    reward: np.ndarray,
    terminal: np.ndarray,
    start: int,
    max_steps: int,
    available: np.ndarray | None = None,
    action_names: tuple[str, ...] | None = None,
    layout: Layout | None = None,
) -> MDP:
    """Create an MDP with one successor per state-action pair.

    Args:
        name: name of the MDP.
        successor: next state of each pair, states x actions.
        reward: reward of each pair, states x actions.
        terminal: whether the pair ends the episode, states x actions.
        start: the start state.
        max_steps: time limit of an episode.
        available: which actions each state has; all by default.
        action_names: names of the actions, if they have any.
        layout: how to draw the MDP on a grid, if known.

    Returns:
        The MDP.
    """
    start_probability = np.zeros(successor.shape[0])
    start_probability[start] = 1.0
    return MDP(
        name=name,
        successor=successor[..., None],
        probability=np.ones((*successor.shape, 1)),
        reward=reward[..., None],
        terminal=terminal[..., None],
        start=start_probability,
        max_steps=max_steps,
        available=np.ones(successor.shape, bool) if available is None else available,
        action_names=action_names,
        layout=layout,
    )


def _check(mdp: MDP) -> None:
    shape = mdp.successor.shape
    if len(shape) != 3 or min(shape) < 1:
        raise InvalidInput(f"{mdp.name}: successor has shape {shape}; allowed: states x actions x successors")
    for name in ("probability", "reward", "terminal"):
        if getattr(mdp, name).shape != shape:
            raise InvalidInput(f"{mdp.name}: {name} has shape {getattr(mdp, name).shape}; allowed: {shape}")
    if mdp.available.shape != shape[:2]:
        raise InvalidInput(f"{mdp.name}: available has shape {mdp.available.shape}; allowed: {shape[:2]}")
    if mdp.start.shape != shape[:1]:
        raise InvalidInput(f"{mdp.name}: start has shape {mdp.start.shape}; allowed: {shape[:1]}")
    if not mdp.available.any(axis=1).all():
        state = int(np.argmin(mdp.available.any(axis=1)))
        raise InvalidInput(f"{mdp.name}: state {state} has no action; allowed: at least one")
    is_state = (mdp.successor >= 0) & (mdp.successor < shape[0]) & (mdp.successor % 1 == 0)
    _check_all(mdp, is_state, mdp.successor, "a successor", f"a whole number from 0 to {shape[0] - 1}")
    _check_all(mdp, np.isfinite(mdp.reward), mdp.reward, "the reward", "a finite number")
    _check_all(mdp, mdp.probability >= 0, mdp.probability, "a probability", "0 or more")
    total = mdp.probability.sum(axis=2)
    _check_all(mdp, ~mdp.available | np.isclose(total, 1, atol=1e-6), total, "the sum of probabilities", "1")
    if mdp.start.min() < 0:
        raise InvalidInput(f"{mdp.name}: a start probability is {mdp.start.min()}; allowed: 0 or more")
    if not np.isclose(mdp.start.sum(), 1, atol=1e-6):
        raise InvalidInput(f"{mdp.name}: the start probabilities sum to {mdp.start.sum()}; allowed: 1")
    if not isinstance(mdp.max_steps, int | np.integer) or mdp.max_steps < 1:
        raise InvalidInput(f"{mdp.name}: max_steps is {mdp.max_steps}; allowed: a whole number, 1 or more")


def _check_all(mdp: MDP, is_good: np.ndarray, values: np.ndarray, what: str, allowed: str) -> None:
    if not is_good.all():
        where = tuple(int(i) for i in np.argwhere(~is_good)[0])
        raise InvalidInput(
            f"{mdp.name}: {what} of state {where[0]}, action {where[1]} is {values[where]}; allowed: {allowed}"
        )
