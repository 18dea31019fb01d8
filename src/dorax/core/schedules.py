"""Schedules: numbers that change with the steps taken so far."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np

from dorax.core.arrays import Array, as_float, namespace
from dorax.core.checks import InvalidInput, check_at_least

Part = TypeVar("Part")


class LinearSchedule(eqx.Module):
    """A number that changes linearly from `start` to `end` over so many `steps`, and then stays.

    A policy takes one wherever it takes a number: `EpsilonGreedy(LinearSchedule(1.0, 0.1, 500_000))`.

    Args:
        start: the number at step 0.
        end: the number from step `steps` on.
        steps: the length of the change.
    """

    start: Array
    end: Array
    steps: Array

    def __check_init__(self) -> None:
        check_at_least("the start of a schedule", self.start, 0)
        check_at_least("the end of a schedule", self.end, 0)
        check_at_least("the steps of a schedule", self.steps, 1)

    @property
    def ends(self) -> tuple[Array, Array]:
        """The two numbers that all others lie between."""
        return self.start, self.end

    def __call__(self, step: Array) -> Array:
        """Return the number after so many steps."""
        xp = namespace(step, self.start, self.end, self.steps)
        share = xp.minimum(as_float(step, xp) / self.steps, 1.0)
        return self.start + share * (self.end - self.start)


class PiecewiseSchedule(eqx.Module):
    """A number that changes linearly between given points, and stays before the first and after the last.

    Args:
        steps: steps of the points, increasing.
        values: the number at each point.
    """

    steps: tuple[float, ...] = eqx.field(static=True)
    values: tuple[float, ...] = eqx.field(static=True)

    def __check_init__(self) -> None:
        check_at_least("a step of a schedule", self.steps, 0)
        check_at_least("a value of a schedule", self.values, 0)
        if len(self.steps) != len(self.values) or not self.steps:
            raise InvalidInput(
                f"a schedule has {len(self.steps)} steps and {len(self.values)} values; allowed: equally many"
            )
        if any(later <= earlier for earlier, later in pairwise(self.steps)):
            raise InvalidInput(f"the steps of a schedule are {self.steps}; allowed: increasing numbers")

    @property
    def ends(self) -> tuple[float, ...]:
        """The numbers that all others lie between."""
        return self.values

    def __call__(self, step: Array) -> Array:
        """Return the number after so many steps."""
        if isinstance(step, int | float):
            return float(np.interp(step, self.steps, self.values))
        xp = namespace(step)
        return xp.interp(as_float(step, xp), xp.asarray(self.steps), xp.asarray(self.values))


def at_step(part: Part, step: Array) -> Part:
    """Replace every schedule of a rule, or of another part of an agent, by its number.

    Args:
        part: the rule.
        step: steps so far.

    Returns:
        The same part without schedules.
    """

    def number(leaf: Any) -> Any:
        return leaf(step) if _is_schedule(leaf) else leaf

    return jax.tree.map(number, part, is_leaf=_is_schedule)


def has_schedule(part: Any) -> bool:
    """Whether any number of a rule, or of another part of an agent, changes with the steps.

    Args:
        part: the rule.
    """
    return any(_is_schedule(leaf) for leaf in jax.tree.leaves(part, is_leaf=_is_schedule))


def _is_schedule(leaf: Any) -> bool:
    return isinstance(leaf, LinearSchedule | PiecewiseSchedule)
