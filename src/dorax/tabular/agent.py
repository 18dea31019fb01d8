"""Agents with tables: a composition of rule, counter, bonus and learner."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx

from dorax.core.arrays import Array, namespace
from dorax.core.checks import InvalidInput, check_discount, check_rate
from dorax.core.counters import Visits
from dorax.tabular.learners import Entry, QLearning


class Arrival(NamedTuple):
    """What one step led to: reward, end or not, and all that is known of the state reached."""

    reward: Array
    is_terminal: Array
    values: Array
    counts: Array
    action: Array


class TabularAgent(eqx.Module):
    """How to act and how to learn. Its numbers may be swept; see `dorax.train`.

    `rule` chooses actions, `counter` counts visits (plain or generalized), `bonus` turns
    counts into reward (None: no bonus), `learner` turns targets into values.
    """

    rule: Any
    counter: Any = Visits()
    bonus: Any = None
    learner: Any = QLearning()
    learning_rate: Array = 0.5
    discount: Array = 0.9

    def __check_init__(self) -> None:
        check_rate("learning_rate", self.learning_rate)
        check_discount("discount", self.discount)
        if not callable(self.rule):
            raise InvalidInput(f"rule is {self.rule!r}; allowed: Sample, LLL, Deficit, UCB or a function like them")
        if not (hasattr(self.counter, "next") and hasattr(self.counter, "successor")):
            raise InvalidInput(f"counter is {self.counter!r}; allowed: Visits, EValues or a counter like them")
        if not hasattr(self.learner, "learned"):
            raise InvalidInput(f"learner is {self.learner!r}; allowed: QLearning, DelayedQLearning or one like them")

    def learned(self, entry: Entry, shared: Entry, count: Array, arrival: Arrival, steps: Array):
        """The entry, the shared numbers and the count of the pair that led to `arrival`.

        The next action is already chosen, from values and counts before this update.
        """
        xp = namespace(count, arrival.values)
        # An action that s' lacks is not one that is little known.
        counts = xp.where(arrival.values > -xp.inf, arrival.counts, xp.inf)
        successor_count = self.counter.successor(counts, arrival.action)
        successor_count = xp.where(arrival.is_terminal, xp.inf, successor_count)
        count = self.counter.next(count, successor_count, self.learning_rate)
        target = arrival.reward + xp.where(arrival.is_terminal, 0.0, self.discount * xp.max(arrival.values, axis=-1))
        if self.bonus is not None:
            target = target + self.bonus(count, self._count_rate)
        entry, shared = self.learner.learned(entry, shared, target, self.learning_rate, steps)
        return entry, shared, count

    @property
    def _count_rate(self) -> Array:
        own = getattr(self.counter, "learning_rate", None)
        return self.learning_rate if own is None else own
