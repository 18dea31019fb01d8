"""Counts in rows of plain numbers, one row for every key that was ever visited.

The keys are whole numbers without end, looked up in a dictionary: no two states ever
share a row that should not, and memory grows with what was visited, not with the space.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dorax.core.counts import mean_count, next_count
from dorax.wrappers.features import Keys


class Visit(NamedTuple):
    """A step from a pair of state and action to the next state."""

    seen: Keys
    action: int
    arrived: Keys
    is_terminal: bool


class Rows:
    """A state is described by one key (a table) or by several (tiles, whose weights are summed)."""

    def __init__(self, actions: int, learning_rate: float, discount: float) -> None:
        self.rows: dict[int, list[float]] = {}
        self.visits: dict[int, list[int]] = {}
        self._learning_rate, self._discount = learning_rate, discount
        self._fresh = [0.0] * actions

    def counts(self, keys: Keys) -> Sequence[float]:
        """The counts of all actions of a state. Weights that are shared can leave a sum below 0: it counts as 0."""
        if len(keys) == 1:
            return self.rows.get(keys[0], self._fresh)
        rows = [self.rows[key] for key in keys if key in self.rows]
        return [max(0.0, sum(column)) for column in zip(*rows, strict=True)] if rows else self._fresh

    def visits_of(self, keys: Keys) -> Sequence[int]:
        """How often the actions of a state were taken; of tiles, the most that any of them was."""
        rows = [self.visits[key] for key in keys if key in self.visits]
        return [max(column) for column in zip(*rows, strict=True)] if rows else [0] * len(self._fresh)

    def after(self, visit: Visit, next_action: int | None = None) -> float:
        """The count of the visited pair with this visit: provisional, while the next action is unknown."""
        successor = None
        if not visit.is_terminal:
            counts = self.counts(visit.arrived)
            if self._discount == 0:
                successor = 0.0  # whatever follows, a visit counts for one
            elif next_action is None:
                successor = mean_count(counts, self._learning_rate)
            else:
                successor = counts[next_action]
        return next_count(self.counts(visit.seen)[visit.action], successor, self._learning_rate, self._discount)

    def learn(self, visit: Visit, next_action: int | None = None) -> None:
        """Count the visit for good."""
        output = sum(self.rows[key][visit.action] for key in visit.seen if key in self.rows)
        share = (self.after(visit, next_action) - output) / len(visit.seen)
        for key in visit.seen:
            if key not in self.rows:
                self.rows[key], self.visits[key] = self._fresh.copy(), [0] * len(self._fresh)
            self.rows[key][visit.action] += share
            self.visits[key][visit.action] += 1

    def copy(self) -> Rows:
        """The same counts, which from now on grow apart."""
        twin = Rows(len(self._fresh), self._learning_rate, self._discount)
        twin.rows = {key: row.copy() for key, row in self.rows.items()}
        twin.visits = {key: row.copy() for key, row in self.visits.items()}
        return twin

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything, as arrays; keys may be larger than any integer that NumPy has."""
        shape = (len(self.rows), len(self._fresh))
        return {
            "keys": np.array([hex(key) for key in self.rows], dtype=np.str_),
            "counts": np.array(list(self.rows.values()), np.float64).reshape(shape),
            "visits": np.array(list(self.visits.values()), np.int64).reshape(shape),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        keys = [int(key, 16) for key in arrays["keys"]]
        self.rows = dict(zip(keys, arrays["counts"].tolist(), strict=True))
        self.visits = dict(zip(keys, arrays["visits"].tolist(), strict=True))
