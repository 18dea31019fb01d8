"""Action rules: how values and counts become an action.

Each rule takes the values and the counts of a state's actions (last axis), the number
of steps so far and one uniform number, and returns the index of an action. Actions
that are not available have value -inf. The counter-based rules are deterministic but
for exact ties, which the uniform number breaks evenly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx

from dorax.core.arrays import Array, as_float, draw, guarded_log, namespace
from dorax.core.checks import check_at_least

Policy = Callable[[Any], Any]


class Sample(eqx.Module):
    """A random action, a ~ f."""

    policy: Policy

    def __call__(self, values: Array, counts: Array, steps: Array, uniform: Array) -> Array:
        del counts, steps
        xp = namespace(values)
        return draw(xp.exp(self.policy(values)), uniform, xp)


class LLL(eqx.Module):
    """The action whose count lags furthest behind f in ratio: argmax log f - log C.

    With generalized counts this is log f - log log E, the rule that DORA acts by.
    Actions never tried come first; among them, the likelier.
    """

    policy: Policy

    def __call__(self, values: Array, counts: Array, steps: Array, uniform: Array) -> Array:
        del steps
        xp = namespace(values)
        log_f = self.policy(values)
        score = log_f - guarded_log(xp.where(counts > 0, counts, 1.0), xp)
        return _best(log_f, counts, score, log_f > -xp.inf, uniform, xp)


class Deficit(eqx.Module):
    """The action whose frequency lags furthest behind f: argmin C / sum C - f."""

    policy: Policy

    def __call__(self, values: Array, counts: Array, steps: Array, uniform: Array) -> Array:
        del steps
        xp = namespace(values)
        log_f = self.policy(values)
        is_allowed = log_f > -xp.inf
        counts = xp.where(is_allowed, counts, 0.0)
        total = xp.sum(counts, axis=-1, keepdims=True)
        lag = xp.exp(log_f) - counts / xp.where(total > 0, total, 1.0)
        return _argmax(xp.where(is_allowed, lag, -xp.inf), uniform, xp)


class UCB(eqx.Module):
    """Upper confidence bounds: argmax Q + scale * sqrt(log t / C), untried actions first."""

    scale: Array = 1.0

    def __check_init__(self) -> None:
        check_at_least("the scale of UCB", self.scale, 0)

    def __call__(self, values: Array, counts: Array, steps: Array, uniform: Array) -> Array:
        xp = namespace(values)
        log_time = xp.log(xp.maximum(as_float(steps, xp, like=values), xp.ones_like(values[..., 0])))[..., None]
        scale = as_float(self.scale, xp, like=values)[..., None]
        width = scale * xp.sqrt(log_time / xp.where(counts > 0, counts, 1.0))
        return _best(values, counts, values + width, values > -xp.inf, uniform, xp)


def _best(first_choice: Array, counts: Array, score: Array, is_allowed: Array, uniform: Array, xp: Any) -> Array:
    """The best `score`; but while allowed actions have count 0, the best `first_choice` among those."""
    is_untried = is_allowed & (counts <= 0)
    any_untried = xp.any(is_untried, axis=-1, keepdims=True)
    merit = xp.where(any_untried, first_choice, score)
    is_candidate = xp.where(any_untried, is_untried, is_allowed)
    return _argmax(xp.where(is_candidate, merit, -xp.inf), uniform, xp)


def _argmax(score: Array, uniform: Array, xp: Any) -> Array:
    """The best score. Scores that differ by rounding alone are tied: compilers do not round
    every element of an array in the same way."""
    best = xp.max(score, axis=-1, keepdims=True)
    rounding = 8 * xp.finfo(score.dtype).eps * xp.maximum(xp.abs(best), xp.ones_like(best))
    is_best = score >= best - rounding
    return draw(xp.astype(is_best, score.dtype), uniform, xp)
