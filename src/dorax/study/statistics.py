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
    """A value with its 95 % interval.

    Attributes:
        value: the estimate.
        low: lower end; infinite if the data set no bound.
        high: upper end; infinite if the data set no bound.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Times:
    """When each run reached a threshold. A run that never did is censored at its end.

    Attributes:
        time: the time of each run, or its end if it is censored.
        is_reached: whether each run reached the threshold.
    """

    time: Floats
    is_reached: np.ndarray[Any, np.dtype[np.bool_]]

    @property
    def earliest(self) -> Floats:
        """Times, with censored runs counted as if they had reached the threshold when they ended."""
        return self.time

    @property
    def latest(self) -> Floats:
        """Times, with censored runs counted as never reaching the threshold."""
        return np.where(self.is_reached, self.time, np.inf)


def first_times(curves: Floats, steps: Floats, threshold: float) -> Times:
    """Find when each curve first reaches a threshold from below.

    Args:
        curves: seeds x records; NaN where a run has ended.
        steps: the step of each record, seeds x records.
        threshold: value to reach.

    Returns:
        The time of each run.
    """
    is_there = np.asarray(curves >= threshold)
    first = np.take_along_axis(steps, np.argmax(is_there, axis=1)[:, None], axis=1)[:, 0]
    is_reached = np.asarray(is_there.any(axis=1))
    return Times(np.where(is_reached, first, np.nanmax(steps, axis=1)), is_reached)


def median(values: Floats) -> Floats:
    """Compute the median over the last axis, for an even number the upper of the two middle values.

    The mean of the two would be infinite as soon as one is.

    Args:
        values: ... x seeds; may be infinite.

    Returns:
        The medians.
    """
    ordered = np.sort(values, axis=-1)
    return ordered[..., ordered.shape[-1] // 2]


def bootstrap(
    values: Floats, statistic: Callable[[Floats], Floats] = median, resamples: int = _RESAMPLES
) -> tuple[Floats, Floats, Floats]:
    """Compute a statistic over the last axis with its percentile bootstrap interval.

    Args:
        values: ... x seeds.
        statistic: reduces the last axis.
        resamples: number of bootstrap resamples.

    Returns:
        The statistic, and the lower and upper ends of its interval.
    """
    resampled = statistic(values[..., _draws(values.shape[-1], seed=0, resamples=resamples)])
    low, high = _ends(resampled)
    return statistic(values), low, high


def ratio_of_medians(slow: Times, fast: Times) -> Interval:
    """Compute the ratio of two median times, with an interval that allows for censoring.

    The lower end counts censored runs of `slow` at their earliest and those of `fast` at their latest; the upper end
    does the reverse.

    Args:
        slow: times in the numerator.
        fast: times in the denominator.

    Returns:
        The ratio.
    """
    low = _ends(_ratio_draws(slow.earliest, fast.latest))[0]
    high = _ends(_ratio_draws(slow.latest, fast.earliest))[1]
    value = _ratio(median(slow.earliest), median(fast.earliest))
    return Interval(float(value), float(low), float(high))


def share(successes: int, trials: int) -> Interval:
    """Compute a proportion with its exact (Clopper-Pearson) interval.

    Args:
        successes: number of successes.
        trials: number of trials.

    Returns:
        The proportion.
    """
    bounds = stats.binomtest(successes, trials).proportion_ci(_LEVEL)
    return Interval(successes / trials, float(bounds.low), float(bounds.high))


def mean(values: Floats) -> Interval:
    """Compute the mean with its bootstrap interval.

    Args:
        values: one value per seed.

    Returns:
        The mean.
    """
    value, low, high = bootstrap(values, lambda x: np.mean(x, axis=-1))
    return Interval(float(value), float(low), float(high))


def difference_of_means(larger: Floats, smaller: Floats) -> Interval:
    """Compute the difference of the means of two independent groups of runs.

    Args:
        larger: values of the first group.
        smaller: values of the second group, which is subtracted.

    Returns:
        The difference with its bootstrap interval.
    """
    draws = [np.mean(x[_draws(len(x), seed=seed)], axis=-1) for seed, x in ((1, larger), (2, smaller))]
    low, high = _ends(draws[0] - draws[1])
    return Interval(float(np.mean(larger) - np.mean(smaller)), float(low), float(high))


def difference_of_shares(larger: tuple[int, int], smaller: tuple[int, int]) -> Interval:
    """Compute the difference of two proportions with Newcombe's interval (1998, method 10).

    Args:
        larger: successes and trials of the first group.
        smaller: successes and trials of the second group, which is subtracted.

    Returns:
        The difference.
    """
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
    """Return the ends of an interval. They are drawn values, not interpolated, since some may be infinite."""
    tail = (1 - _LEVEL) / 2
    low, high = np.quantile(draws, [tail, 1 - tail], axis=-1, method="inverted_cdf")
    return low, high


def _draws(size: int, seed: int, resamples: int = _RESAMPLES) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.random.default_rng(seed).integers(0, size, (resamples, size))
