"""Claims and their verdicts, which are based on confidence intervals.

A claim may have several *cases*, such as the two axes or the two forms of E: it holds if it holds in every case, and
fails if it fails in one. The claims of an experiment are judged together, at a family-wise error rate of 5 %, by Holm's
method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from dorax.study.experiment import AXES, Axis, Experiment
from dorax.study.measures import Q_ERROR, Measure, times_to_threshold
from dorax.study.results import ConditionResult, LeftOut, Results
from dorax.study.statistics import LEVEL, RESAMPLES, Interval, holm, ratio_of_medians, share

Verdict = Literal["holds", "fails", "unclear"]
_SMALLEST_P = 2 / RESAMPLES
_GROUPS = 10  # groups of seeds that are left out in turn, to see whether a verdict depends on a few runs
_AT_EDGE = 0.001, 0.3  # adjusted p-values of verdicts that a few runs may change


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


Estimator = Callable[[Results], Estimate]


@dataclass(frozen=True)
class Claim:
    """A sentence that holds if its statistic lies between two bounds, in each of its cases.

    Attributes:
        text: the sentence.
        estimate: computes the statistic from results; or, for several cases, one such function for each by name.
        above: lower bound.
        below: upper bound.
        is_mathematics: whether nothing is random: the claim is checked by computation, not judged by an interval.
    """

    text: str
    estimate: Estimator | Mapping[str, Estimator]
    above: float = -math.inf
    below: float = math.inf
    is_mathematics: bool = False

    @property
    def cases(self) -> Mapping[str, Estimator]:
        """The cases by name; a claim without cases has one, without a name."""
        return {"": self.estimate} if callable(self.estimate) else self.estimate

    def verdict(self, interval: Interval, level: float = LEVEL) -> Verdict:
        """Judge one case by itself.

        Args:
            interval: interval of the statistic.
            level: confidence level.

        Returns:
            `holds` if the whole interval lies within the bounds, `fails` if it lies outside, else `unclear`.
        """
        low, high = interval.ends(level)
        if math.isnan(low) or math.isnan(high):
            return "unclear"
        is_high_enough = math.isinf(self.above) or low > self.above
        is_low_enough = math.isinf(self.below) or high < self.below
        if is_high_enough and is_low_enough:
            return "holds"
        if high <= self.above or low >= self.below:
            return "fails"
        return "unclear"

    @property
    def bounds(self) -> str:
        """The bounds in words, such as `above 1`."""
        words = [f"{word} {bound:g}" for word, bound in (("above", self.above), ("below", self.below))]
        is_given = [math.isfinite(bound) for bound in (self.above, self.below)]
        return " and ".join(word for word, given in zip(words, is_given, strict=True) if given)


@dataclass(frozen=True)
class Judged:
    """A claim with its estimates and p-value, before claims are judged together.

    Attributes:
        claim: the claim.
        estimates: the estimate of each case.
        results: the results that were used, to judge it again without some runs.
        used: names of the conditions that were used.
    """

    claim: Claim
    estimates: Mapping[str, Estimate]
    results: Results
    used: Sequence[str]

    @cached_property
    def tendency(self) -> tuple[Verdict, float]:
        """The verdict that the data tend to, and its p-value: the smallest error rate at which it is reached."""
        intervals = [estimate.interval for estimate in self.estimates.values()]
        holds = max(_p_value(self.claim, interval, "holds") for interval in intervals)
        fails = len(intervals) * min(_p_value(self.claim, interval, "fails") for interval in intervals)
        return ("holds", holds) if holds <= fails else ("fails", min(fails, 1.0))

    @property
    def decisive(self) -> str:
        """The case that decides: the weakest of a claim that tends to hold, else the one that fails most clearly."""
        tendency = self.tendency[0]
        ranked = {name: _p_value(self.claim, each.interval, tendency) for name, each in self.estimates.items()}
        return (max if tendency == "holds" else min)(ranked, key=lambda name: ranked[name])

    def verdict(self, adjustment: float = 1.0) -> Verdict:
        """Return the verdict.

        Args:
            adjustment: what the p-value is multiplied by, since other claims are judged with this one.
        """
        tendency, p_value = self.tendency
        if self.claim.is_mathematics:
            return tendency if p_value <= len(self.estimates) * _SMALLEST_P else "unclear"
        return tendency if adjustment * p_value <= 1 - LEVEL else "unclear"

    def is_fragile(self, adjustment: float) -> bool:
        """Return whether leaving out a tenth of the seeds, whichever, can change the verdict."""
        if self.claim.is_mathematics or not _AT_EDGE[0] <= adjustment * self.tendency[1] <= _AT_EDGE[1]:
            return False
        verdict = self.verdict(adjustment)
        return any(
            _judged(self.claim, _without(self.results, group)).verdict(adjustment) != verdict
            for group in range(_GROUPS)
        )


def judged(name: str, experiment: Experiment, results: Results) -> list[dict[str, Any]]:
    """Judge the claims of an experiment together.

    Claims about a condition that a quick run leaves out, or that has no recorded run yet, are skipped.

    Args:
        name: name of the experiment.
        experiment: the experiment.
        results: its results.

    Returns:
        The experiment's rows of claims.json.
    """
    found: list[Judged] = []
    for claim in experiment.claims:
        try:
            found.append(_judged(claim, results))
        except LeftOut:
            if results.size.is_full and not results.missing:
                raise
    p_values = np.asarray([each.tendency[1] for each in found if not each.claim.is_mathematics])
    adjusted = iter(holm(p_values))
    rows: list[dict[str, Any]] = []
    for each in found:
        p_value = each.tendency[1]
        adjustment = 1.0 if each.claim.is_mathematics else float(next(adjusted)) / p_value
        rows.append(_row(name, experiment.figure, each, adjustment))
    return rows


def judge(name: str, figure: str, claim: Claim, results: Results) -> dict[str, Any]:
    """Judge one claim by itself.

    Args:
        name: name of the experiment.
        figure: the figure it reproduces.
        claim: the claim.
        results: results of the experiment.

    Returns:
        A row of claims.json.
    """
    return _row(name, figure, _judged(claim, results), 1.0)


def _judged(claim: Claim, results: Results) -> Judged:
    """Estimate every case; a quick run leaves out those whose conditions it does not have."""
    noting = _NotingResults(results.conditions, results.size, results.missing)
    estimates: dict[str, Estimate] = {}
    for case, estimate in claim.cases.items():
        try:
            estimates[case] = estimate(noting)
        except LeftOut:
            if results.size.is_full:
                raise
    if not estimates:
        raise LeftOut(claim.text)
    return Judged(claim, estimates, results, list(noting.used))


def _row(name: str, figure: str, each: Judged, adjustment: float) -> dict[str, Any]:
    """Make a row of claims.json. The number of a claim with cases is that of the case that decides.

    A bound that the data do not determine is None. If a recorded run may be from earlier code, the row has a `remark`.
    """
    claim, case = each.claim, each.decisive
    remarks = [f"{used}: {each.results[used].remark}" for used in each.used if each.results[used].remark]
    row: dict[str, Any] = {
        "experiment": name,
        "figure": figure,
        "claim": claim.text,
        "kind": "mathematics" if claim.is_mathematics else "statistics",
        "holds_if": claim.bounds,
        **_numbers(each.estimates[case]),
        "verdict": each.verdict(adjustment),
    }
    if not claim.is_mathematics:
        row["p_value"] = float(f"{min(adjustment * each.tendency[1], 1.0):.2g}")
    if each.is_fragile(adjustment):
        row["is_fragile"] = True
    if case:
        row["decided_by"] = case
        row["cases"] = [
            {"case": name, **_numbers(estimate), "verdict": claim.verdict(estimate.interval)}
            for name, estimate in each.estimates.items()
        ]
    return row | ({"remark": "; ".join(remarks)} if remarks else {})


def _numbers(estimate: Estimate) -> dict[str, Any]:
    interval = estimate.interval
    return {
        "statistic": estimate.statistic,
        "value": _json_number(interval.value),
        "relation": interval.relation,
        "low": _json_number(interval.low),
        "high": _json_number(interval.high),
        "seeds": estimate.seeds,
    }


def _p_value(claim: Claim, interval: Interval, verdict: Verdict) -> float:
    """Return the smallest error rate at which an interval gives a verdict; 1 if it never does."""
    if claim.verdict(interval, 1 - _SMALLEST_P) == verdict:
        return _SMALLEST_P
    low, high = math.log(_SMALLEST_P), 0.0
    if claim.verdict(interval, 0.0) != verdict:
        return 1.0
    for _ in range(20):  # intervals shrink as the error rate grows
        middle = (low + high) / 2
        low, high = (low, middle) if claim.verdict(interval, 1 - math.exp(middle)) == verdict else (middle, high)
    return math.exp(high)


def _without(results: Results, group: int) -> Results:
    """Leave out every tenth seed, starting with `group`."""

    def reduced(result: ConditionResult) -> ConditionResult:
        by_axis = {
            axis: data.isel(seed=np.flatnonzero(np.arange(data.sizes["seed"]) % _GROUPS != group))
            for axis, data in result.by_axis.items()
        }
        return replace(result, by_axis=by_axis)

    return replace(results, conditions={name: reduced(result) for name, result in results.conditions.items()})


class _NotingResults(Results):
    """Results that remember which conditions were used."""

    @cached_property
    def used(self) -> dict[str, None]:
        return {}

    def __getitem__(self, name: str) -> ConditionResult:
        result = super().__getitem__(name)
        self.used[name] = None
        return result


def by_axes(make: Callable[[Axis], Claim], text: str) -> Claim:
    """Make one claim of two that differ in their axis.

    Args:
        make: makes the claim for an axis.
        text: the claim in words, without the axis.

    Returns:
        The claim, with the cases `by episode` and `by step`.
    """
    return together(text, {f"by {axis}": make(axis) for axis in AXES})


def together(text: str, claims: Mapping[str, Claim]) -> Claim:
    """Make one claim of several that have the same bounds.

    Args:
        text: the claim in words.
        claims: claims without cases, by the name of the case that each becomes.

    Returns:
        The claim.
    """
    first = next(iter(claims.values()))
    if any((each.above, each.below) != (first.above, first.below) for each in claims.values()):
        raise ValueError(f"the cases of “{text}” differ in their bounds")
    return replace(first, text=text, estimate={name: each.cases[""] for name, each in claims.items()})


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

        def ends(level: float) -> tuple[float, float]:
            return low.ends(level)[0], high.ends(level)[1]

        return Estimate(words, Interval(low.value, *ends(LEVEL), at=ends), runs)

    return Claim(text or f"{name} fails to converge", estimate, below=0.5)


def _json_number(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None
