"""Tables of counts that grow as states are visited.

Keys are Python integers of any size, looked up in a dictionary: distinct keys never
collide, and memory grows with the number of visited keys, not with the size of the space.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from dorax.core.counts import mean_count, next_count
from dorax.wrappers.features import Keys


class Transition(NamedTuple):
    """A step from one state to the next, by the keys of both.

    Attributes:
        keys: of the state in which the action was taken.
        action: the index of the action.
        next_keys: of the state that followed.
        terminated: whether the episode ended there.
    """

    keys: Keys
    action: int
    next_keys: Keys
    terminated: bool


class CountTable:
    """Generalized counts and visits by key and action.

    A state has one key (a table) or several. Their entries are summed (tiles), or the smallest is taken (hashed codes):
    then every entry holds a whole count, which other states with the same key can only raise.

    Args:
        num_actions: the number of actions of a state.
        learning_rate: the paper's alpha_E.
        discount: the paper's gamma_E; 0 counts plain visits.
        takes_smallest: whether the count of a state is the smallest of its entries, instead of their sum.
    """

    def __init__(
        self, num_actions: int, learning_rate: float, discount: float, *, takes_smallest: bool = False
    ) -> None:
        # The numbers instead of the counter: calling `EValues.next` takes three times as long as the formula itself.
        self._learning_rate, self._discount, self._takes_smallest = learning_rate, discount, takes_smallest
        self._counts: dict[int, list[float]] = {}
        self._visits: dict[int, list[int]] = {}
        self._zeros = [0.0] * num_actions

    def counts(self, keys: Keys) -> Sequence[float]:
        """Return the counts of all actions of a state. Sums below 0, which shared entries can leave, count as 0."""
        if len(keys) == 1:
            return self._counts.get(keys[0], self._zeros)
        rows = [self._counts[key] for key in keys if key in self._counts]
        if self._takes_smallest:
            return [min(column) for column in zip(*rows, strict=True)] if len(rows) == len(keys) > 0 else self._zeros
        return [max(0.0, sum(column)) for column in zip(*rows, strict=True)] if rows else self._zeros

    def visits(self, keys: Keys) -> Sequence[int]:
        """Return how often each action of a state was taken.

        With several keys it is the smallest number among them if counts are the smallest, else the largest.
        """
        rows = [self._visits[key] for key in keys if key in self._visits]
        if self._takes_smallest:
            rows = rows if len(rows) == len(keys) else []
            return [min(column) for column in zip(*rows, strict=True)] if rows else [0] * len(self._zeros)
        return [max(column) for column in zip(*rows, strict=True)] if rows else [0] * len(self._zeros)

    def next_count(self, transition: Transition, next_action: int | None = None) -> float:
        """Return the count of the visited pair after this visit, without storing it.

        Args:
            transition: the visit.
            next_action: the action taken in the next state; None if it is not known, in which case the mean
                of E over the actions of that state is used.
        """
        successor = None
        if not transition.terminated:
            counts = self.counts(transition.next_keys)
            if self._discount == 0:
                successor = 0.0  # any number: without propagation it is not used
            elif next_action is None:
                successor = mean_count(counts, self._learning_rate)
            else:
                successor = counts[next_action]
        count = self.counts(transition.keys)[transition.action]
        return next_count(count, successor, self._learning_rate, self._discount)

    def update(self, transition: Transition, next_action: int | None = None) -> None:
        """Store the count after this visit; the arguments are those of `next_count`."""
        keys, action = transition.keys, transition.action
        new = self.next_count(transition, next_action)
        if self._takes_smallest:
            change, least = new - self.counts(keys)[action], 0.0
        else:
            output = sum(self._counts[key][action] for key in keys if key in self._counts)
            change, least = (new - output) / max(len(keys), 1), -inf
        for key in keys:
            if key not in self._counts:
                self._counts[key], self._visits[key] = self._zeros.copy(), [0] * len(self._zeros)
            row = self._counts[key]
            row[action] = max(least, row[action] + change)
            self._visits[key][action] += 1

    def merge(self, moved: dict[int, int]) -> None:
        """Add the numbers of some keys to those of others, and forget the former.

        Args:
            moved: for each key to be forgotten, the one that gets its numbers.
        """
        for key, into in moved.items():
            if key not in self._counts:
                continue
            if into not in self._counts:
                self._counts[into], self._visits[into] = self._zeros.copy(), [0] * len(self._zeros)
            self._counts[into] = [a + b for a, b in zip(self._counts.pop(key), self._counts[into], strict=True)]
            self._visits[into] = [a + b for a, b in zip(self._visits.pop(key), self._visits[into], strict=True)]

    def copy(self) -> CountTable:
        """Return an independent copy."""
        twin = CountTable(len(self._zeros), self._learning_rate, self._discount, takes_smallest=self._takes_smallest)
        twin._counts = {key: row.copy() for key, row in self._counts.items()}
        twin._visits = {key: row.copy() for key, row in self._visits.items()}
        return twin

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the whole table as arrays. Keys are written as text: they may exceed NumPy's integers."""
        shape = (len(self._counts), len(self._zeros))
        return {
            "keys": np.array([hex(key) for key in self._counts], dtype=np.str_),
            "counts": np.array(list(self._counts.values()), np.float64).reshape(shape),
            "visits": np.array(list(self._visits.values()), np.int64).reshape(shape),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Replace the contents by what `arrays` returned."""
        keys = [int(key, 16) for key in arrays["keys"]]
        self._counts = dict(zip(keys, arrays["counts"].tolist(), strict=True))
        self._visits = dict(zip(keys, arrays["visits"].tolist(), strict=True))
