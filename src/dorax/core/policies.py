"""Stochastic policies f(a|s): log-probabilities of the actions given their values.

Actions that are not available in a state have value -inf and get log-probability -inf. Any function from
values to log-probabilities can be used as a policy.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, Protocol

import equinox as eqx
import numpy as np

from dorax.core.arrays import Array, as_float, guarded_log, namespace
from dorax.core.checks import check_at_least, check_probability


class Policy(Protocol):
    """A stochastic rule f(a|s)."""

    def __call__(self, values: Array, /) -> Array:
        """The log-probabilities of the actions, given their values."""
        ...


class EpsilonGreedy(eqx.Module):
    """Epsilon-greedy: a uniformly random action with probability epsilon, else a greedy one; ties share equally.

    Args:
        epsilon: probability of a random action.
    """

    epsilon: Array

    def __check_init__(self) -> None:
        check_probability("epsilon", self.epsilon)

    def __call__(self, values: Array) -> Array:
        """Return the log-probability of each action, given the values along the last axis."""
        xp = namespace(values, self.epsilon)
        epsilon = as_float(self.epsilon, xp, like=values)[..., None]
        is_available = xp.astype(values > -xp.inf, values.dtype)
        is_best = xp.astype(values == values.max(-1, keepdims=True), values.dtype)
        greedy = is_best / is_best.sum(-1, keepdims=True)
        random = is_available / is_available.sum(-1, keepdims=True)
        return guarded_log((1 - epsilon) * greedy + epsilon * random, xp)


class Softmax(eqx.Module):
    """Boltzmann exploration: probabilities proportional to exp(value / temperature).

    Args:
        temperature: 0 is the greedy limit, with ties shared equally.
    """

    temperature: Array

    def __check_init__(self) -> None:
        check_at_least("temperature", self.temperature, 0)

    def __call__(self, values: Array) -> Array:
        """Return the log-probability of each action, given the values along the last axis."""
        xp = namespace(values, self.temperature)
        temperature = as_float(self.temperature, xp, like=values)[..., None]
        limits = _limits(values.dtype)
        temperature = xp.maximum(temperature, limits.tiny)
        behind = values - values.max(-1, keepdims=True)
        # Without this bound the quotient overflows for temperatures near 0.
        furthest = limits.min * xp.minimum(temperature, limits.one)
        logits = xp.maximum(behind, furthest) / temperature
        logits = xp.where(behind > -xp.inf, logits, -xp.inf)
        return logits - xp.log(xp.exp(logits).sum(-1, keepdims=True))


class _Limits(NamedTuple):
    """Limits of a floating dtype, as numbers of that dtype."""

    tiny: np.ndarray[Any, Any]
    min: np.ndarray[Any, Any]
    one: np.ndarray[Any, Any]


@cache
def _limits(dtype: Any) -> _Limits:
    found = np.finfo(dtype)
    return _Limits(*(np.asarray(x, dtype) for x in (found.tiny, found.min, 1)))
