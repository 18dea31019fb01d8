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
    """A value with its 95 % interval. Infinite where the data cannot bound it."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Times:
    """When each run got there; a run that never did is censored at the last time it was watched."""

    time: Floats
    is_reached: np.ndarray[Any, np.dtype[np.bool_]]

    @property
    def earliest(self) -> Floats:
        """Censored runs as if they had got there the moment they were last watched."""
        return self.time

    @property
    def latest(self) -> Floats:
        """Censored runs as if they never got there."""
        return np.where(self.is_reached, self.time, np.inf)


def first_times(curves: Floats, steps: Floats, bar: float) -> Times:
    """When each curve, seeds x records, first reaches a bar; NaN is where a run had ended."""
    is_there = np.asarray(curves >= bar)
    first = np.take_along_axis(steps, np.argmax(is_there, axis=1)[:, None], axis=1)[:, 0]
    is_reached = np.asarray(is_there.any(axis=1))
    return Times(np.where(is_reached, first, np.nanmax(steps, axis=1)), is_reached)


def median(values: Floats) -> Floats:
    """The middle of the last axis, the upper one of two: infinities never meet in a mean."""
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
    """Median time of `slow` over that of `fast`, the interval wide enough for what censoring hides.

    Its low end takes the censored runs of `slow` at their earliest and those of `fast`
    at their latest, its high end the other way round.
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
    """Infinite over a run that was not watched at all; NaN where neither was."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return numerator / denominator


def _ends(draws: Floats) -> tuple[Floats, Floats]:
    """The interval's ends are drawn values themselves, so that infinite ones need no mean."""
    tail = (1 - _LEVEL) / 2
    low, high = np.quantile(draws, [tail, 1 - tail], axis=-1, method="inverted_cdf")
    return low, high


def _draws(size: int, seed: int, resamples: int = _RESAMPLES) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.random.default_rng(seed).integers(0, size, (resamples, size))
