"""Exploration bonuses: what is added to the reward that Q learns from.

A bonus is a function of the count *after* this visit was counted: before it, the count
may be 0 and the bonus infinite. It never enters a reported return.
"""

from __future__ import annotations

from typing import Protocol

import equinox as eqx

from dorax.core.arrays import Array, as_float, namespace
from dorax.core.checks import check_finite


class Bonus(Protocol):
    """What an agent adds to the reward of a step."""

    def __call__(self, count: Array, learning_rate: Array, /) -> Array:
        """The bonus of a pair's count after this visit; `learning_rate` is the counter's, alpha_E."""
        ...


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
    """scale / sqrt(c), the usual bonus of count-based exploration."""

    scale: Array = 1.0

    def __check_init__(self) -> None:
        check_finite("the scale of the bonus", self.scale)

    def __call__(self, count: Array, learning_rate: Array) -> Array:
        del learning_rate
        xp = namespace(count)
        return as_float(self.scale, xp, like=count) / xp.sqrt(count)


class InverseRootLogE(eqx.Module):
    """scale / sqrt(-log E), the paper's bonus with networks: -log E = -log(1 - alpha_E) c."""

    scale: Array = 1.0

    def __check_init__(self) -> None:
        check_finite("the scale of the bonus", self.scale)

    def __call__(self, count: Array, learning_rate: Array) -> Array:
        xp = namespace(count)
        rate = as_float(learning_rate, xp, like=count)
        return as_float(self.scale, xp, like=count) / xp.sqrt(-xp.log1p(-rate) * count)
