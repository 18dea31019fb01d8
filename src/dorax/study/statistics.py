"""Statistics over seeds: pure functions on arrays whose last axis is the seed."""

# scipy: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]

_RESAMPLES = 4000
_LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A value with its 95 % interval. An end is infinite where the data set no bound."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Times:
    """When each run reached a threshold; a run that never did is censored at its end."""

    time: Floats
    is_reached: np.ndarray[Any, np.dtype[np.bool_]]

    @property
    def earliest(self) -> Floats:
        """Times with censored runs counted as reaching the threshold when they ended."""
        return self.time

    @property
    def latest(self) -> Floats:
        """Times with censored runs counted as never reaching the threshold."""
        return np.where(self.is_reached, self.time, np.inf)


def first_times(curves: Floats, steps: Floats, threshold: float) -> Times:
    """When each curve, seeds x records, first reaches a threshold; NaN where a run has ended."""
    is_there = np.asarray(curves >= threshold)
    first = np.take_along_axis(steps, np.argmax(is_there, axis=1)[:, None], axis=1)[:, 0]
    is_reached = np.asarray(is_there.any(axis=1))
    return Times(np.where(is_reached, first, np.nanmax(steps, axis=1)), is_reached)


def median(values: Floats) -> Floats:
    """The median of the last axis, the upper one of two: a mean with an infinite value would say nothing."""
    ordered = np.sort(values, axis=-1)
    return ordered[..., ordered.shape[-1] // 2]


def bootstrap(
    values: Floats, statistic: Callable[[Floats], Floats] = median, resamples: int = _RESAMPLES
) -> tuple[Floats, Floats, Floats]:
    """The statistic over the last axis, and the ends of its percentile bootstrap interval."""
    resampled = statistic(values[..., _draws(values.shape[-1], seed=0, resamples=resamples)])
    low, high = _ends(resampled)
    return statistic(values), low, high


def ratio_of_medians(slow: Times, fast: Times) -> Interval:
    """Median time of `slow` over that of `fast`, with an interval that allows for censoring.

    The low end counts censored runs of `slow` at their earliest and those of `fast` at their
    latest; the high end the other way round.
    """
    low = _ends(_ratio_draws(slow.earliest, fast.latest))[0]
    high = _ends(_ratio_draws(slow.latest, fast.earliest))[1]
    value = _ratio(median(slow.earliest), median(fast.earliest))
    return Interval(float(value), float(low), float(high))


def share(successes: int, trials: int) -> Interval:
    """A proportion with its exact (Clopper-Pearson) interval."""
    bounds = stats.binomtest(successes, trials).proportion_ci(_LEVEL)
    return Interval(successes / trials, float(bounds.low), float(bounds.high))


def mean(values: Floats) -> Interval:
    value, low, high = bootstrap(values, lambda x: np.mean(x, axis=-1))
    return Interval(float(value), float(low), float(high))


def difference_of_means(larger: Floats, smaller: Floats) -> Interval:
    """Mean of `larger` less that of `smaller`, two independent groups of runs."""
    draws = [np.mean(x[_draws(len(x), seed=seed)], axis=-1) for seed, x in ((1, larger), (2, smaller))]
    low, high = _ends(draws[0] - draws[1])
    return Interval(float(np.mean(larger) - np.mean(smaller)), float(low), float(high))


def difference_of_shares(larger: tuple[int, int], smaller: tuple[int, int]) -> Interval:
    """The share of `larger`, so many of so many, less that of `smaller`, with Newcombe's interval (1998, method 10)."""
    shares = [successes / trials for successes, trials in (larger, smaller)]
    bounds = [stats.binomtest(*counts).proportion_ci(_LEVEL, "wilson") for counts in (larger, smaller)]
    value = shares[0] - shares[1]
    low = value - np.hypot(shares[0] - bounds[0].low, bounds[1].high - shares[1])
    high = value + np.hypot(bounds[0].high - shares[0], shares[1] - bounds[1].low)
    return Interval(value, float(low), float(high))


def _ratio_draws(slow: Floats, fast: Floats) -> Floats:
    numerator = median(slow[_draws(len(slow), seed=1)])
    denominator = median(fast[_draws(len(fast), seed=2)])
    return _ratio(numerator, denominator)


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; infinite where the denominator is 0, NaN where both are."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return numerator / denominator


def _ends(draws: Floats) -> tuple[Floats, Floats]:
    """The ends of an interval. They are drawn values, not interpolated: some may be infinite."""
    tail = (1 - _LEVEL) / 2
    low, high = np.quantile(draws, [tail, 1 - tail], axis=-1, method="inverted_cdf")
    return low, high


def _draws(size: int, seed: int, resamples: int = _RESAMPLES) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.random.default_rng(seed).integers(0, size, (resamples, size))
