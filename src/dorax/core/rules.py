"""Action rules: choose an action from values and counts.

A rule is called with the values and counts of a state's actions (last axis), the number of steps so far
and a uniform random number, and returns the index of an action. Unavailable actions have value -inf.
The rules that use counts are deterministic except for ties, which the random number breaks uniformly.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol

import equinox as eqx
import numpy as np

from dorax.core.arrays import Array, as_float, draw, namespace
from dorax.core.checks import InvalidInput, check_at_least
from dorax.core.policies import Policy

_LEAST_COUNT = 1e-30


class Rule(Protocol):
    """How an agent chooses actions."""

    def __call__(self, values: Array, counts: Array, steps: Array, uniform: Array, /) -> Array:
        """The index of an action, from the values and counts of all, the steps so far and a uniform number."""
        ...


class Sample(eqx.Module):
    """Sample an action from a policy, a ~ f.

    Args:
        policy: log-probabilities of the actions given their values, such as `Softmax`.
    """

    policy: Policy

    def __check_init__(self) -> None:
        _check_policy(self.policy)

    def __call__(self, values: Array, counts: Array, steps: Array, uniform: Array) -> Array:
        """Return a sampled action; counts and steps are not used."""
        del counts, steps
        xp = namespace(values)
        return draw(xp.exp(self.policy(values)), uniform, xp)


class LLL(eqx.Module):
    """Choose argmax log f - log C: the action whose count is smallest relative to its probability f.

    With generalized counts this is log f - log log E, the rule of the paper's DORA agents. Untried actions
    come first, in the order of their probability.

    Args:
        policy: log-probabilities f of the actions given their values, such as `Softmax`.
    """

    policy: Policy

    def __check_init__(self) -> None:
        _check_policy(self.policy)

    def __call__(self, values: Array, counts: Array, steps: Array, uniform: Array) -> Array:
        """Return the chosen action; steps are not used."""
        del steps
        xp = namespace(values)
        log_f = self.policy(values)
        is_allowed = log_f > -xp.inf
        score = log_f - xp.log(_one_if_untried(counts, xp))
        return _argmax(score, _untried_first(is_allowed, counts, xp), uniform, xp)


class SampledLLL(eqx.Module):
    """Sample an action with probability proportional to (f / C) ** power: LLL with chance in it.

    A high power comes close to LLL. Agents that share their counts and meet in a state go different ways, without
    taking turns. Untried actions come first, drawn in proportion to f ** power.

    Args:
        policy: log-probabilities f of the actions given their values, such as `Softmax`.
        power: 1 for probabilities proportional to f / C, more for a sharper choice.
    """

    policy: Policy
    power: Array = 4.0

    def __check_init__(self) -> None:
        _check_policy(self.policy)
        check_at_least("power", self.power, 0)

    def __call__(self, values: Array, counts: Array, steps: Array, uniform: Array) -> Array:
        """Return a sampled action; steps are not used."""
        del steps
        xp = namespace(values)
        log_f = self.policy(values)
        candidates = _untried_first(log_f > -xp.inf, counts, xp)
        score = xp.where(candidates, log_f - xp.log(_one_if_untried(counts, xp)), -xp.inf)
        ahead = score - score.max(-1, keepdims=True)
        power = as_float(self.power, xp, like=values)[..., None]
        return draw(xp.where(candidates, xp.exp(power * xp.where(candidates, ahead, 0.0)), 0.0), uniform, xp)


class Deficit(eqx.Module):
    """Choose argmin C / sum C - f: the action whose frequency is furthest below its probability f.

    Args:
        policy: log-probabilities f of the actions given their values, such as `Softmax`.
    """

    policy: Policy

    def __check_init__(self) -> None:
        _check_policy(self.policy)

    def __call__(self, values: Array, counts: Array, steps: Array, uniform: Array) -> Array:
        """Return the chosen action; steps are not used."""
        del steps
        xp = namespace(values)
        log_f = self.policy(values)
        total = xp.sum(counts, axis=-1, keepdims=True)
        lag = xp.exp(log_f) - counts / xp.where(total > 0, total, 1.0)
        return _argmax(lag, log_f > -xp.inf, uniform, xp)


class UCB(eqx.Module):
    """Choose argmax Q + scale * sqrt(log t / C), an upper confidence bound; untried actions come first.

    Args:
        scale: multiplier of the confidence width.
    """

    scale: Array = 1.0

    def __check_init__(self) -> None:
        check_at_least("the scale of UCB", self.scale, 0)

    def __call__(self, values: Array, counts: Array, steps: Array, uniform: Array) -> Array:
        """Return the chosen action; `steps` is t."""
        xp = namespace(values)
        log_time = xp.log(xp.maximum(as_float(steps, xp, like=values), xp.ones_like(values[..., 0])))[..., None]
        scale = as_float(self.scale, xp, like=values)[..., None]
        width = scale * xp.sqrt(log_time / _one_if_untried(counts, xp))
        is_allowed = values > -xp.inf
        size = xp.max(xp.where(is_allowed, xp.abs(values) + width, 0.0), axis=-1, keepdims=True)
        return _argmax(values + width, _untried_first(is_allowed, counts, xp), uniform, xp, size)


def _one_if_untried(counts: Array, xp: Any) -> Array:
    """Replace counts of untried actions by 1. They are only compared with each other, so any constant would do.

    Counts next to 0, which function approximators may have, are raised so far that their inverse is finite.
    """
    return xp.where(counts > 0, xp.maximum(counts, as_float(_LEAST_COUNT, xp, like=counts)), 1.0)


def _untried_first(is_allowed: Array, counts: Array, xp: Any) -> Array:
    """Return the untried actions among the allowed ones, or all allowed ones if each has been tried."""
    is_untried = is_allowed & (counts <= 0)
    return xp.where(is_untried.any(-1, keepdims=True), is_untried, is_allowed)


def _argmax(score: Array, is_candidate: Array, uniform: Array, xp: Any, size: Array | float = 1.0) -> Array:
    """Return the candidate with the highest score; `uniform` breaks ties.

    Scores that differ only by rounding are tied: compilers do not round every element of an array in the
    same way. `size` is the magnitude of the terms that a score is the sum of.
    """
    score = xp.where(is_candidate, score, -xp.inf)
    best = score.max(-1, keepdims=True)
    rounding = _rounding(score.dtype) * xp.maximum(xp.abs(best), size)
    return draw(xp.astype(score >= best - rounding, score.dtype), uniform, xp)


@cache
def _rounding(dtype: Any) -> np.ndarray[Any, Any]:
    """Relative difference that may be due to rounding."""
    return np.asarray(8 * np.finfo(dtype).eps, dtype)


def _check_policy(policy: Any) -> None:
    if not callable(policy):
        raise InvalidInput(f"policy is {policy!r}; allowed: EpsilonGreedy, Softmax or a function of the values")
