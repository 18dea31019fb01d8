"""Update rules of tables: how a target changes the values of the visited pair.

An update rule keeps tables (states x actions, one of them called `q`) and a few numbers that all pairs share. The
code works with NumPy and JAX, like `dorax.core`.
"""

from __future__ import annotations

from typing import Protocol

import equinox as eqx

from dorax.core.arrays import Array, namespace
from dorax.core.checks import check_at_least, check_finite
from dorax.core.methods import plain_method

Entry = dict[str, Array]


class UpdateRule(Protocol):
    """Protocol of update rules."""

    def initial_entry(self, discount: Array) -> Entry:
        """Return the entries of a pair before its first visit.

        Args:
            discount: the agent's discount.
        """
        ...

    def initial_shared(self) -> Entry:
        """Return the initial values of the numbers that all pairs share."""
        ...

    def updated(
        self, entry: Entry, shared: Entry, target: Array, learning_rate: Array, steps: Array
    ) -> tuple[Entry, Entry]:
        """Update the visited pair.

        Args:
            entry: entries of the pair.
            shared: numbers that all pairs share.
            target: target of Q.
            learning_rate: the agent's learning rate.
            steps: number of steps so far, including this one.

        Returns:
            The new entries and shared numbers.
        """
        ...


class QLearning(eqx.Module):
    """Q-learning: Q <- Q + learning_rate (target - Q).

    Args:
        initial_value: initial value of Q; a high one makes this optimistic Q-learning.
    """

    initial_value: Array = 0.0

    def __check_init__(self) -> None:
        check_finite("the initial value of Q", self.initial_value)

    def initial_entry(self, discount: Array) -> Entry:
        del discount
        return {"q": self.initial_value}

    def initial_shared(self) -> Entry:
        return {}

    @plain_method
    def updated(
        self, entry: Entry, shared: Entry, target: Array, learning_rate: Array, steps: Array
    ) -> tuple[Entry, Entry]:
        """Return the new entries and shared numbers; see `UpdateRule`."""
        del steps
        return {"q": entry["q"] + learning_rate * (target - entry["q"])}, shared


class DelayedQLearning(eqx.Module):
    """Delayed Q-learning (Strehl et al., 2006), for rewards in [0, 1].

    Values start at 1 / (1 - discount) and only decrease. After `patience` visits, a pair attempts an update to the mean
    of its targets plus `slack`, which succeeds if the mean is lower than the value by at least 2 slack. A pair whose
    attempt fails although no value has changed since its previous attempt stops learning until one changes.

    Args:
        patience: visits between attempts, the paper's m.
        slack: the paper's epsilon_1.
    """

    patience: Array = 10.0
    slack: Array = 0.01

    def __check_init__(self) -> None:
        check_at_least("the patience of delayed Q-learning", self.patience, 1)
        check_at_least("the slack of delayed Q-learning", self.slack, 0)

    def initial_entry(self, discount: Array) -> Entry:
        return {"q": 1 / (1 - discount), "target_sum": 0.0, "targets": 0.0, "last_try": 0.0, "is_learning": 1.0}

    def initial_shared(self) -> Entry:
        return {"last_change": 0.0}

    @plain_method
    def updated(
        self, entry: Entry, shared: Entry, target: Array, learning_rate: Array, steps: Array
    ) -> tuple[Entry, Entry]:
        """Return the new entries and shared numbers; see `UpdateRule`."""
        del learning_rate
        xp = namespace(entry["q"])
        q, is_learning = entry["q"], entry["is_learning"] > 0
        target_sum = entry["target_sum"] + target
        targets = entry["targets"] + 1
        mean = target_sum / targets
        tries = is_learning & (targets >= self.patience)
        succeeds = tries & (q - mean >= 2 * self.slack)
        rests = tries & xp.logical_not(succeeds) & (entry["last_try"] >= shared["last_change"])
        wakes = xp.logical_not(is_learning) & (entry["last_try"] < shared["last_change"])
        accumulates = is_learning & xp.logical_not(tries)
        entry = {
            "q": xp.where(succeeds, mean + self.slack, q),
            "target_sum": xp.where(accumulates, target_sum, 0.0),
            "targets": xp.where(accumulates, targets, 0.0),
            "last_try": xp.where(tries, steps, entry["last_try"]),
            "is_learning": xp.where(rests, 0.0, xp.where(wakes, 1.0, entry["is_learning"])),
        }
        return entry, {"last_change": xp.where(succeeds, steps, shared["last_change"])}
