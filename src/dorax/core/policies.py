"""Stochastic rules f(a|s), as log-probabilities of the actions given their values.

An action that the state does not have has value -inf, and gets log-probability -inf.
Any function of that shape is a policy: these two are the usual ones.
"""

from __future__ import annotations

import equinox as eqx

from dorax.core.arrays import Array, as_float, guarded_log, namespace
from dorax.core.checks import check_at_least, check_probability


class EpsilonGreedy(eqx.Module):
    """A uniformly random action with probability epsilon, else one of the best, ties shared."""

    epsilon: Array

    def __check_init__(self) -> None:
        check_probability("epsilon", self.epsilon)

    def __call__(self, values: Array) -> Array:
        xp = namespace(values, self.epsilon)
        epsilon = as_float(self.epsilon, xp, like=values)[..., None]
        is_available = xp.astype(values > -xp.inf, values.dtype)
        is_best = xp.astype(values == xp.max(values, axis=-1, keepdims=True), values.dtype)
        greedy = is_best / xp.sum(is_best, axis=-1, keepdims=True)
        random = is_available / xp.sum(is_available, axis=-1, keepdims=True)
        return guarded_log((1 - epsilon) * greedy + epsilon * random, xp)


class Softmax(eqx.Module):
    """Boltzmann's distribution; temperature 0 is the greedy limit, ties shared."""

    temperature: Array

    def __check_init__(self) -> None:
        check_at_least("temperature", self.temperature, 0)

    def __call__(self, values: Array) -> Array:
        xp = namespace(values, self.temperature)
        temperature = as_float(self.temperature, xp, like=values)[..., None]
        temperature = xp.maximum(temperature, xp.finfo(values.dtype).tiny * xp.ones_like(temperature))
        behind = values - xp.max(values, axis=-1, keepdims=True)
        # A temperature next to 0 may not push the quotient beyond the largest number.
        furthest = xp.finfo(values.dtype).min * xp.minimum(temperature, xp.ones_like(temperature))
        logits = xp.maximum(behind, furthest) / temperature
        logits = xp.where(behind > -xp.inf, logits, -xp.inf)
        return logits - xp.log(xp.sum(xp.exp(logits), axis=-1, keepdims=True))
