"""Update rules of tables: what one more target makes of the visited pair's values.

An update rule keeps tables (states x actions, one of them called `q`) and a few numbers
that all pairs share. Written for NumPy and JAX alike, like the core.
"""

from __future__ import annotations

from typing import Protocol

import equinox as eqx

from dorax.core.arrays import Array, namespace
from dorax.core.checks import check_at_least, check_finite
from dorax.core.methods import plain_method

Entry = dict[str, Array]


class UpdateRule(Protocol):
    """How a table learns from targets."""

    def initial_entry(self, discount: Array) -> Entry:
        """The entries of a pair that was never visited."""
        ...

    def initial_shared(self) -> Entry:
        """The numbers that all pairs share, at the start."""
        ...

    def updated(
        self, entry: Entry, shared: Entry, target: Array, learning_rate: Array, steps: Array
    ) -> tuple[Entry, Entry]:
        """The visited pair's entries and the shared numbers after this target."""
        ...


class QLearning(eqx.Module):
    """Q <- Q + learning_rate (target - Q). A high `initial_value` makes it optimistic Q-learning."""

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
        """The visited pair's entries and the shared numbers after this target."""
        del steps
        return {"q": entry["q"] + learning_rate * (target - entry["q"])}, shared


class DelayedQLearning(eqx.Module):
    """Delayed Q-learning (Strehl et al., 2006), for rewards in [0, 1].

    Values start at 1 / (1 - discount) and only fall: after `patience` visits (the
    paper's m) a pair tries the mean of its targets plus `slack` (its epsilon_1), and
    takes it if that is lower by at least 2 slack. A pair whose try failed rests until
    some value has changed.
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
        """The visited pair's entries and the shared numbers after this target."""
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
