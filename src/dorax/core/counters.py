"""Counters: what one more visit does to the count of a state-action pair."""

from __future__ import annotations

from typing import Literal

import equinox as eqx

from dorax.core.arrays import Array, namespace
from dorax.core.checks import InvalidInput, check_discount, check_rate
from dorax.core.counts import next_count


class Visits(eqx.Module):
    """Plain visits."""

    def successor(self, counts: Array, action: Array) -> Array:
        return counts[..., 0]

    def next(self, count: Array, successor_count: Array, learning_rate: Array) -> Array:
        del successor_count, learning_rate
        return count + 1


class EValues(eqx.Module):
    """Generalized visits: E-values, in the logarithm that makes them counts.

    `discount` is the paper's gamma_E; `learning_rate` its alpha_E, which is the agent's
    own learning rate unless given. The successor is the action that will be taken
    (`"sarsa"`) or the least known one (`"max"`, for E by Q-learning: an ablation).
    """

    discount: Array = 0.9
    learning_rate: Array | None = None
    successor_rule: Literal["sarsa", "max"] = eqx.field(default="sarsa", static=True)

    def __check_init__(self) -> None:
        check_discount("the exploration discount", self.discount)
        if self.learning_rate is not None:
            check_rate("the exploration learning rate", self.learning_rate)
        if self.successor_rule not in ("sarsa", "max"):
            raise InvalidInput(f"successor_rule is {self.successor_rule!r}; allowed: 'sarsa', 'max'")

    def successor(self, counts: Array, action: Array) -> Array:
        """The count that s' passes on, given the counts of its actions and the next action."""
        xp = namespace(counts)
        if self.successor_rule == "max":
            return xp.min(counts, axis=-1)
        return xp.take_along_axis(counts, xp.asarray(action)[..., None], axis=-1)[..., 0]

    def next(self, count: Array, successor_count: Array, learning_rate: Array) -> Array:
        """The count after one more visit; `learning_rate` is the agent's, used unless ours is given."""
        rate = learning_rate if self.learning_rate is None else self.learning_rate
        return next_count(count, successor_count, rate, self.discount)
