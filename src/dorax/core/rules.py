"""Action rules: how values and counts become an action.

Each rule takes the values and the counts of a state's actions (last axis), the number
of steps so far and one uniform number, and returns the index of an action. Actions
that are not available have value -inf. The counter-based rules are deterministic but
for exact ties, which the uniform number breaks evenly.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol

import equinox as eqx
import numpy as np

from dorax.core.arrays import Array, as_float, draw, namespace
from dorax.core.checks import InvalidInput, check_at_least
from dorax.core.policies import Policy


class Rule(Protocol):
    """How an agent chooses actions."""

    def __call__(self, values: Array, counts: Array, steps: Array, uniform: Array, /) -> Array:
        """The index of an action, from the values and counts of all, the steps so far and a uniform number."""
        ...


class Sample(eqx.Module):
    """A random action, a ~ f."""

    policy: Policy

    def __check_init__(self) -> None:
        _check_policy(self.policy)

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

    def __check_init__(self) -> None:
        _check_policy(self.policy)

    def __call__(self, values: Array, counts: Array, steps: Array, uniform: Array) -> Array:
        del steps
        xp = namespace(values)
        log_f = self.policy(values)
        is_allowed = log_f > -xp.inf
        score = log_f - xp.log(_one_if_untried(counts, xp))
        return _argmax(score, _untried_first(is_allowed, counts, xp), uniform, xp)


class Deficit(eqx.Module):
    """The action whose frequency lags furthest behind f: argmin C / sum C - f."""

    policy: Policy

    def __check_init__(self) -> None:
        _check_policy(self.policy)

    def __call__(self, values: Array, counts: Array, steps: Array, uniform: Array) -> Array:
        del steps
        xp = namespace(values)
        log_f = self.policy(values)
        total = xp.sum(counts, axis=-1, keepdims=True)
        lag = xp.exp(log_f) - counts / xp.where(total > 0, total, 1.0)
        return _argmax(lag, log_f > -xp.inf, uniform, xp)


class UCB(eqx.Module):
    """Upper confidence bounds: argmax Q + scale * sqrt(log t / C), untried actions first."""

    scale: Array = 1.0

    def __check_init__(self) -> None:
        check_at_least("the scale of UCB", self.scale, 0)

    def __call__(self, values: Array, counts: Array, steps: Array, uniform: Array) -> Array:
        xp = namespace(values)
        log_time = xp.log(xp.maximum(as_float(steps, xp, like=values), xp.ones_like(values[..., 0])))[..., None]
        scale = as_float(self.scale, xp, like=values)[..., None]
        width = scale * xp.sqrt(log_time / _one_if_untried(counts, xp))
        is_allowed = values > -xp.inf
        size = xp.max(xp.where(is_allowed, xp.abs(values) + width, 0.0), axis=-1, keepdims=True)
        return _argmax(values + width, _untried_first(is_allowed, counts, xp), uniform, xp, size)


def _one_if_untried(counts: Array, xp: Any) -> Array:
    """Counts to divide by: untried actions, which are compared among themselves alone, get the same one."""
    return xp.where(counts > 0, counts, 1.0)


def _untried_first(is_allowed: Array, counts: Array, xp: Any) -> Array:
    """The allowed actions; while some of them are untried, those alone."""
    is_untried = is_allowed & (counts <= 0)
    return xp.where(is_untried.any(-1, keepdims=True), is_untried, is_allowed)


def _argmax(score: Array, is_candidate: Array, uniform: Array, xp: Any, size: Array | float = 1.0) -> Array:
    """The candidate of best score, ties broken by `uniform`.

    Scores that differ by rounding alone are tied: compilers do not round every element
    of an array in the same way. `size` is that of the numbers that a score is made from.
    """
    score = xp.where(is_candidate, score, -xp.inf)
    best = score.max(-1, keepdims=True)
    rounding = _rounding(score.dtype) * xp.maximum(xp.abs(best), size)
    return draw(xp.astype(score >= best - rounding, score.dtype), uniform, xp)


@cache
def _rounding(dtype: Any) -> np.ndarray[Any, Any]:
    """A relative difference that may be rounding."""
    return np.asarray(8 * np.finfo(dtype).eps, dtype)


def _check_policy(policy: Any) -> None:
    if not callable(policy):
        raise InvalidInput(f"policy is {policy!r}; allowed: EpsilonGreedy, Softmax or a function of the values")
