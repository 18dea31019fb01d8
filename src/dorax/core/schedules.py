"""Schedules: numbers that change with the steps taken so far."""

from __future__ import annotations

from typing import Any, TypeVar

import equinox as eqx
import jax

from dorax.core.arrays import Array, as_float, namespace
from dorax.core.checks import check_at_least

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
        """The number after so many steps."""
        xp = namespace(step, self.start, self.end, self.steps)
        share = xp.minimum(as_float(step, xp) / self.steps, 1.0)
        return self.start + share * (self.end - self.start)


def at_step(part: Part, step: Array) -> Part:
    """A rule, or another part of an agent, with every schedule replaced by its number after so many steps."""

    def now(leaf: Any) -> Any:
        return leaf(step) if _is_schedule(leaf) else leaf

    return jax.tree.map(now, part, is_leaf=_is_schedule)


def has_schedule(part: Any) -> bool:
    """Whether any number of a rule, or of another part of an agent, changes with the steps."""
    return any(_is_schedule(leaf) for leaf in jax.tree.leaves(part, is_leaf=_is_schedule))


def _is_schedule(leaf: Any) -> bool:
    return isinstance(leaf, LinearSchedule)
