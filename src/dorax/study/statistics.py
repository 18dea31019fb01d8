"""Statistics over seeds: pure functions on arrays whose last axis is the seed."""

# scipy: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy import stats

Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]

RESAMPLES = 20_000  # enough to judge a claim among dozens of others: the smallest p-value is 2 / RESAMPLES
_FEW_RESAMPLES = 4000  # for curves
LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A value with its 95 % interval.

    Attributes:
        value: the estimate.
        low: lower end; infinite if the data set no bound.
        high: upper end; infinite if the data set no bound.
        relation: `"≥"` or `"≤"` if censored runs make the value a bound of the statistic.
        at: computes the ends of the interval at another level; None if they are the same at every level.
    """

    value: float
    low: float
    high: float
    relation: Literal["=", "≥", "≤"] = "="
    at: Callable[[float], tuple[float, float]] | None = field(default=None, compare=False, repr=False)

    def ends(self, level: float) -> tuple[float, float]:
        """Compute the ends of the interval at a confidence level.

        Args:
            level: the level, between 0 and 1.

        Returns:
            The lower and the upper end.
        """
        return (self.low, self.high) if self.at is None else self.at(level)


UNKNOWN = Interval(float("nan"), float("nan"), float("nan"))  # there are too few data for an estimate


def exactly(value: float) -> Interval:
    """Return the interval of a number that is known exactly, such as a worst case or a computed limit.

    Args:
        value: the number.
    """
    return Interval(value, value, value)


def from_draws(
    value: float, draws: Floats, upper_draws: Floats | None = None, relation: Literal["=", "≥", "≤"] = "="
) -> Interval:
    """Compute a percentile interval from bootstrap draws.

    Args:
        value: the estimate.
        draws: draws of the statistic.
        upper_draws: draws for the upper end, if they differ from those for the lower end.
        relation: see `Interval`.

    Returns:
        The interval. Its ends are drawn values, not interpolated, since some may be infinite.
    """
    lower = np.sort(draws, axis=None)
    upper = lower if upper_draws is None else np.sort(upper_draws, axis=None)

    def ends(level: float) -> tuple[float, float]:
        tail = (1 - level) / 2
        return float(_quantile(lower, tail)), float(_quantile(upper, 1 - tail))

    return Interval(float(value), *ends(LEVEL), relation, ends)


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
    values: Floats, statistic: Callable[[Floats], Floats] = median, resamples: int = _FEW_RESAMPLES
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
    lower, upper = _ratio_draws(slow.earliest, fast.latest), _ratio_draws(slow.latest, fast.earliest)
    is_slow_known, is_fast_known = (bool(np.isfinite(median(times.latest))) for times in (slow, fast))
    if not is_slow_known and not is_fast_known:
        return from_draws(float("nan"), lower, upper)
    relation = "=" if is_slow_known and is_fast_known else "≤" if is_slow_known else "≥"
    return from_draws(float(_ratio(median(slow.earliest), median(fast.earliest))), lower, upper, relation)


def median_of_ratios(slow: Times, fast: Times) -> Interval:
    """Compute the median ratio of times of pairs, such as two agents on the same problems, with a bootstrap interval.

    Censored runs are treated as in `ratio_of_medians`. A pair of censored runs may have any ratio.

    Args:
        slow: times in the numerators.
        fast: times in the denominators, in the same order.

    Returns:
        The median ratio.
    """
    low, high = _ratio(slow.earliest, fast.latest), _ratio(slow.latest, fast.earliest)
    draws = _draws(len(low), seed=0)
    lowest, highest = float(median(low)), float(median(high))
    value, relation = (lowest, "≥") if np.isinf(highest) else (highest, "≤")
    if lowest == highest:
        relation = "="
    is_known = np.isfinite(highest) or lowest > 0
    return from_draws(value if is_known else float("nan"), median(low[draws]), median(high[draws]), relation)


def share(successes: int, trials: int) -> Interval:
    """Compute a proportion with its exact (Clopper-Pearson) interval.

    Args:
        successes: number of successes.
        trials: number of trials.

    Returns:
        The proportion.
    """

    def ends(level: float) -> tuple[float, float]:
        bounds = stats.binomtest(successes, trials).proportion_ci(level)
        return float(bounds.low), float(bounds.high)

    return Interval(successes / trials, *ends(LEVEL), at=ends)


def mean(values: Floats) -> Interval:
    """Compute the mean with its bootstrap interval.

    Args:
        values: one value per seed.

    Returns:
        The mean.
    """
    return from_draws(float(np.mean(values)), np.mean(values[_draws(len(values), seed=0)], axis=-1))


def difference_of_means(larger: Floats, smaller: Floats) -> Interval:
    """Compute the difference of the means of two independent groups of runs.

    Args:
        larger: values of the first group.
        smaller: values of the second group, which is subtracted.

    Returns:
        The difference with its bootstrap interval.
    """
    return mean_of_differences([(larger, smaller)])


def ratio_of_means(numerator: Floats, denominator: Floats) -> Interval:
    """Compute the ratio of the means of two independent groups of runs.

    Args:
        numerator: values of the first group.
        denominator: values of the second group, positive on average.

    Returns:
        The ratio with its bootstrap interval.
    """
    draws = [np.mean(values[_draws(len(values), seed)], axis=-1) for seed, values in ((1, numerator), (2, denominator))]
    value = float(_ratio(np.asarray(np.mean(numerator)), np.asarray(np.mean(denominator))))
    return from_draws(value, np.nan_to_num(_ratio(*draws), nan=0.0))


def mean_of_differences(pairs: Sequence[tuple[Floats, Floats]]) -> Interval:
    """Compute the difference of the means of two groups of runs, averaged over several tasks of equal weight.

    Args:
        pairs: for each task, the values of both groups; the second is subtracted. All groups are independent.

    Returns:
        The mean difference with its bootstrap interval: runs are resampled within each group.
    """
    draws = [
        np.mean(values[_draws(len(values), seed=2 * task + group + 1)], axis=-1) * (1 if group == 0 else -1)
        for task, pair in enumerate(pairs)
        for group, values in enumerate(pair)
    ]
    value = np.mean([np.mean(larger) - np.mean(smaller) for larger, smaller in pairs])
    return from_draws(float(value), np.sum(draws, axis=0) / len(pairs))


def difference_of_shares(larger: tuple[int, int], smaller: tuple[int, int]) -> Interval:
    """Compute the difference of two proportions with Newcombe's interval (1998, method 10).

    Args:
        larger: successes and trials of the first group.
        smaller: successes and trials of the second group, which is subtracted.

    Returns:
        The difference.
    """
    shares = [successes / trials for successes, trials in (larger, smaller)]
    value = shares[0] - shares[1]

    def ends(level: float) -> tuple[float, float]:
        bounds = [stats.binomtest(*counts).proportion_ci(level, "wilson") for counts in (larger, smaller)]
        low = value - np.hypot(shares[0] - bounds[0].low, bounds[1].high - shares[1])
        high = value + np.hypot(bounds[0].high - shares[0], shares[1] - bounds[1].low)
        return float(low), float(high)

    return Interval(value, *ends(LEVEL), at=ends)


def holm(p_values: Floats) -> Floats:
    """Adjust p-values for multiple tests by Holm's step-down method (1979).

    Args:
        p_values: one p-value per test.

    Returns:
        Adjusted p-values: tests with one of at most 5 % have a family-wise error rate of at most 5 %.
    """
    order = np.argsort(p_values)
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return adjusted


def _ratio_draws(slow: Floats, fast: Floats) -> Floats:
    numerator = median(slow[_draws(len(slow), seed=1)])
    denominator = median(fast[_draws(len(fast), seed=2)])
    return _ratio(numerator, denominator)


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; infinite where the denominator is 0, NaN where both are."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return numerator / denominator


def _ends(draws: Floats) -> tuple[Floats, Floats]:
    """Return the ends of an interval along the last axis."""
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(draws, [tail, 1 - tail], axis=-1, method="inverted_cdf")
    return low, high


def _quantile(ordered: Floats, share: float) -> float:
    """Return a quantile of sorted draws, without interpolation."""
    return float(ordered[min(max(int(np.ceil(share * len(ordered))) - 1, 0), len(ordered) - 1)])


def _draws(size: int, seed: int, resamples: int = RESAMPLES) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.random.default_rng(seed).integers(0, size, (resamples, size))
