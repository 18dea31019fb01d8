"""Claims and their verdicts, which are based on confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from dorax.study.experiment import Axis, Experiment
from dorax.study.measures import Q_ERROR, Measure, times_to_threshold
from dorax.study.results import ConditionResult, LeftOut, Results
from dorax.study.statistics import Interval, median, ratio_of_medians, share

Verdict = Literal["holds", "fails", "unclear"]


@dataclass(frozen=True)
class Estimate:
    """A statistic with its interval.

    Attributes:
        statistic: what was estimated, in words.
        interval: the value and its interval.
        seeds: number of runs.
    """

    statistic: str
    interval: Interval
    seeds: int


@dataclass(frozen=True)
class Claim:
    """A sentence that holds if its statistic lies between two bounds.

    Attributes:
        text: the sentence.
        estimate: computes the statistic from results.
        above: lower bound.
        below: upper bound.
    """

    text: str
    estimate: Callable[[Results], Estimate]
    above: float = -math.inf
    below: float = math.inf

    def verdict(self, interval: Interval) -> Verdict:
        """Judge the claim.

        Args:
            interval: interval of the statistic.

        Returns:
            `holds` if the whole interval lies within the bounds, `fails` if it lies outside, else `unclear`.
        """
        if math.isnan(interval.low) or math.isnan(interval.high):
            return "unclear"
        is_high_enough = math.isinf(self.above) or interval.low > self.above
        is_low_enough = math.isinf(self.below) or interval.high < self.below
        if is_high_enough and is_low_enough:
            return "holds"
        if interval.high <= self.above or interval.low >= self.below:
            return "fails"
        return "unclear"


def judged(name: str, experiment: Experiment, results: Results) -> list[dict[str, Any]]:
    """Judge the claims of an experiment.

    Claims about a condition that a quick run leaves out, or that has no recorded run yet, are skipped.

    Args:
        name: name of the experiment.
        experiment: the experiment.
        results: its results.

    Returns:
        The experiment's rows of claims.json.
    """
    rows: list[dict[str, Any]] = []
    for claim in experiment.claims:
        try:
            rows.append(judge(name, experiment.figure, claim, results))
        except LeftOut:
            if results.size.is_full and not results.missing:
                raise
    return rows


def judge(name: str, figure: str, claim: Claim, results: Results) -> dict[str, Any]:
    """Judge one claim.

    Args:
        name: name of the experiment.
        figure: the figure it reproduces.
        claim: the claim.
        results: results of the experiment.

    Returns:
        A row of claims.json. A bound that the data do not determine is None. If a recorded run may be from earlier
        code, the row also has a `remark`.
    """
    noting = _NotingResults(results.conditions, results.size, results.missing)
    estimate = claim.estimate(noting)
    interval = estimate.interval
    remarks = [f"{each}: {results[each].remark}" for each in noting.used if results[each].remark]
    row = {
        "experiment": name,
        "figure": figure,
        "claim": claim.text,
        "statistic": estimate.statistic,
        "value": _json_number(interval.value),
        "low": _json_number(interval.low),
        "high": _json_number(interval.high),
        "verdict": claim.verdict(interval),
        "seeds": estimate.seeds,
    }
    return row | ({"remark": "; ".join(remarks)} if remarks else {})


class _NotingResults(Results):
    """Results that remember which conditions were used."""

    @cached_property
    def used(self) -> dict[str, None]:
        return {}

    def __getitem__(self, name: str) -> ConditionResult:
        result = super().__getitem__(name)
        self.used[name] = None
        return result


def time_ratio(
    text: str,
    slow: str,
    fast: str,
    axis: Axis,
    *,
    above: float = -math.inf,
    below: float = math.inf,
    measure: Measure = Q_ERROR,
) -> Claim:
    """Claim that the ratio of two conditions' median times to the threshold lies within bounds.

    Args:
        text: the claim in words.
        slow: condition in the numerator.
        fast: condition in the denominator.
        axis: whether time is counted in episodes or in steps.
        above: lower bound.
        below: upper bound.
        measure: what has to reach its threshold.

    Returns:
        The claim.
    """

    def estimate(results: Results) -> Estimate:
        slow_times, fast_times = (times_to_threshold(results[name].data(axis), axis, measure) for name in (slow, fast))
        words = [f"{axis}s until {measure.name}, {slow} over {fast} (medians)"]
        if np.isinf(median(slow_times.latest)):
            words.append("at least, since the median run never got there")
        words += [
            f"{int((~times.is_reached).sum())} of {len(times.time)} runs of {name} never got there"
            for name, times in ((slow, slow_times), (fast, fast_times))
            if not times.is_reached.all()
        ]
        return Estimate("; ".join(words), ratio_of_medians(slow_times, fast_times), len(fast_times.time))

    return Claim(text, estimate, above=above, below=below)


def faster(fast: str, slow: str, axis: Axis, text: str | None = None, measure: Measure = Q_ERROR) -> Claim:
    """Claim that `fast` reaches the threshold before `slow`: the ratio of their median times is above 1.

    Args:
        fast: name of the faster condition.
        slow: name of the slower condition.
        axis: whether time is counted in episodes or in steps.
        text: the claim in words; by default composed from the names.
        measure: what has to reach its threshold.

    Returns:
        The claim.
    """
    text = text or f"{fast} converges before {slow} (by {axis})"
    return time_ratio(text, slow, fast, axis, above=1.0, measure=measure)


def fails_to_converge(name: str, within: int, text: str | None = None, measure: Measure = Q_ERROR) -> Claim:
    """Claim that fewer than half of the runs reach the threshold.

    Args:
        name: name of the condition.
        within: number of episodes.
        text: the claim in words; by default composed from the name.
        measure: what has to reach its threshold.

    Returns:
        The claim.
    """

    def estimate(results: Results) -> Estimate:
        times = times_to_threshold(results[name].data("episode"), "episode", measure)
        runs = len(times.time)
        reached = int(np.sum(times.latest <= within))
        unknown = int(np.sum(~times.is_reached & (times.time < within)))
        low, high = share(reached, runs), share(reached + unknown, runs)
        words = f"share of runs of {name} in which {measure.name} within {within} episodes; fails: below one half"
        return Estimate(words, Interval(low.value, low.low, high.high), runs)

    return Claim(text or f"{name} fails to converge", estimate, below=0.5)


def _json_number(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None
