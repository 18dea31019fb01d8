"""Exploration bonuses, added to the reward that Q learns from.

A bonus is a function of the count *after* the visit: before it, the count may be 0 and the bonus infinite.
Reported returns never include it. After a visit a count is at least about (1 - gamma_E) / 17, in single precision some
1e-9; less than that is rounding error, and is raised to it, so that a bonus is always finite.
"""

from __future__ import annotations

from typing import Any, Protocol

import equinox as eqx

from dorax.core.arrays import Array, as_float, namespace
from dorax.core.checks import check_at_least, check_finite

_LEAST_COUNT = 1e-10
_LEAST_LOG_E = 1e-20


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
        return as_float(self.scale, xp, like=count) / _at_least(count, _LEAST_COUNT, xp)


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
        count = _at_least(count, _LEAST_COUNT, xp)
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
        minus_log_e = _at_least(-xp.log1p(-rate) * count, _LEAST_LOG_E, xp)
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


def _at_least(numbers: Array, least: float, xp: Any) -> Array:
    """Raise numbers to the least that is not a rounding error."""
    return xp.maximum(numbers, as_float(least, xp, like=numbers))
