"""Exploration bonuses: what is added to the reward that Q learns from.

A bonus is a function of the count *after* this visit was counted: before it, the count
may be 0 and the bonus infinite. It never enters a reported return.
"""

from __future__ import annotations

import equinox as eqx

from dorax.core.arrays import Array, as_float, namespace
from dorax.core.checks import check_at_least, check_finite


class InverseCount(eqx.Module):
    """scale / c, the paper's bonus on finite MDPs."""

    scale: Array = 1.0

    def __check_init__(self) -> None:
        check_finite("the scale of the bonus", self.scale)

    def __call__(self, count: Array, learning_rate: Array) -> Array:
        del learning_rate
        xp = namespace(count)
        return as_float(self.scale, xp, like=count) / count


class InverseRootCount(eqx.Module):
    """scale / sqrt(c + floor), the usual bonus of count-based exploration.

    Args:
        scale: the bonus of one visit.
        floor: keeps the bonus finite where a count can be 0.
    """

    scale: Array = 1.0
    floor: Array = 0.0

    def __check_init__(self) -> None:
        check_finite("the scale of the bonus", self.scale)
        check_at_least("the floor of the bonus", self.floor, 0)

    def __call__(self, count: Array, learning_rate: Array) -> Array:
        del learning_rate
        xp = namespace(count)
        return as_float(self.scale, xp, like=count) / xp.sqrt(count + as_float(self.floor, xp, like=count))


class InverseRootLogE(eqx.Module):
    """scale / sqrt(-log E + floor), the paper's bonus with networks: -log E = -log(1 - alpha_E) c.

    Args:
        scale: the bonus where E = 1/e.
        floor: keeps the bonus finite where E can be 1; 0.01 in the authors' code.
    """

    scale: Array = 1.0
    floor: Array = 0.0

    def __check_init__(self) -> None:
        check_finite("the scale of the bonus", self.scale)
        check_at_least("the floor of the bonus", self.floor, 0)

    def __call__(self, count: Array, learning_rate: Array) -> Array:
        xp = namespace(count)
        rate = as_float(learning_rate, xp, like=count)
        minus_log_e = -xp.log1p(-rate) * count
        return as_float(self.scale, xp, like=count) / xp.sqrt(minus_log_e + as_float(self.floor, xp, like=count))
