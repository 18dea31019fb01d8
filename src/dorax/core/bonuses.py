"""Exploration bonuses, added to the reward that Q learns from.

A bonus is a function of the count *after* the visit: before it, the count may be 0 and the bonus infinite.
Reported returns never include it.
"""

from __future__ import annotations

from typing import Protocol

import equinox as eqx

from dorax.core.arrays import Array, as_float, namespace
from dorax.core.checks import check_at_least, check_finite


class Bonus(Protocol):
    """What an agent adds to the reward of a step."""

    def __call__(self, count: Array, learning_rate: Array, /) -> Array:
        """The bonus of a pair's count after this visit; `learning_rate` is the counter's, alpha_E."""
        ...


class InverseCount(eqx.Module):
    """The bonus scale / c, which the paper uses on finite MDPs.

    Args:
        scale: bonus multiplier.
    """

    scale: Array = 1.0

    def __check_init__(self) -> None:
        check_finite("the scale of the bonus", self.scale)

    def __call__(self, count: Array, learning_rate: Array) -> Array:
        """Return the bonus for counts after the visit; `learning_rate` is that of the counter."""
        del learning_rate
        xp = namespace(count)
        return as_float(self.scale, xp, like=count) / count


class InverseRootCount(eqx.Module):
    """The bonus scale / sqrt(c + floor), common in count-based exploration.

    Args:
        scale: bonus multiplier.
        floor: keeps the bonus finite where a count can be 0.
    """

    scale: Array = 1.0
    floor: Array = 0.0

    def __check_init__(self) -> None:
        check_finite("the scale of the bonus", self.scale)
        check_at_least("the floor of the bonus", self.floor, 0)

    def __call__(self, count: Array, learning_rate: Array) -> Array:
        """Return the bonus for counts after the visit; `learning_rate` is that of the counter."""
        del learning_rate
        xp = namespace(count)
        return as_float(self.scale, xp, like=count) / xp.sqrt(count + as_float(self.floor, xp, like=count))


class InverseRootLogE(eqx.Module):
    """The bonus scale / sqrt(-log E + floor), which the paper uses with networks; -log E = -log(1 - alpha_E) c.

    Args:
        scale: bonus multiplier.
        floor: keeps the bonus finite where E can be 1; 0.01 in the authors' code.
    """

    scale: Array = 1.0
    floor: Array = 0.0

    def __check_init__(self) -> None:
        check_finite("the scale of the bonus", self.scale)
        check_at_least("the floor of the bonus", self.floor, 0)

    def __call__(self, count: Array, learning_rate: Array) -> Array:
        """Return the bonus for counts after the visit; `learning_rate` is that of the counter."""
        xp = namespace(count)
        rate = as_float(learning_rate, xp, like=count)
        minus_log_e = -xp.log1p(-rate) * count
        return as_float(self.scale, xp, like=count) / xp.sqrt(minus_log_e + as_float(self.floor, xp, like=count))


class ConstantBonus(eqx.Module):
    """The same bonus for every visit: a control that tells what a bonus directs from what it merely pays.

    Args:
        scale: the bonus. With an `AtariAgent` it needs no counter and may follow a schedule.
    """

    scale: Array = 1.0

    def __check_init__(self) -> None:
        check_finite("the scale of the bonus", self.scale)

    def __call__(self, count: Array, learning_rate: Array) -> Array:
        """Return the bonus, whatever the count."""
        del learning_rate
        xp = namespace(count)
        return xp.zeros_like(count) + as_float(self.scale, xp, like=count)
