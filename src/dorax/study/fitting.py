"""Fitting: choose the best setting of a grid, on seeds that are never reported."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from dorax.study.experiment import Axis, Condition, Grid
from dorax.study.measures import Measure
from dorax.study.statistics import median

Score = tuple[float, float, float]  # median time, share of runs that reached the threshold, area


@dataclass(frozen=True)
class Choice:
    """The setting chosen for an axis.

    Attributes:
        setting: the chosen values by name.
        scores: for every setting, its median time to the threshold, the share of runs that reached it, and its area
            under the curve.
        at_edge: names of values at the edge of their grid.
        is_by_area: whether the choice was made by area.
    """

    setting: dict[str, float]
    scores: list[tuple[dict[str, float], float, float, float]]  # setting, median time, share reached, area
    at_edge: list[str]
    is_by_area: bool = False


def settings_of(grid: Grid) -> list[dict[str, float]]:
    """List the settings of a grid.

    Args:
        grid: values by name, for all their combinations; or the settings themselves.

    Returns:
        The settings; for an empty grid, one empty setting.
    """
    if not isinstance(grid, Mapping):
        return [dict(setting) for setting in grid]
    return [dict(zip(grid, point, strict=True)) for point in itertools.product(*grid.values())]


def choose(
    tuned: Sequence[tuple[Condition, xr.Dataset]], axis: Axis, ties: Sequence[tuple[Condition, xr.Dataset]] = ()
) -> Choice:
    """Choose the best setting of a grid.

    The best setting has the shortest median time to the threshold; ties go to the most runs that reach it, then to the
    smallest area. A measure that is fitted by area uses the area alone. Of several conditions, each ranks the settings
    in this way, and the lowest sum of ranks wins; ties go to the setting that is best for the first condition, then to
    the one that is best for the conditions that break ties.

    Args:
        tuned: conditions with the same grid, each with the `measures.summary` of its tuning runs.
        axis: whether time is counted in episodes or in steps.
        ties: conditions with the same grid that break ties, the first one first.

    Returns:
        The choice. Of several conditions, scores are means.
    """
    each = [_scored(condition, summary, axis) for condition, summary in tuned]
    places, others = _places(tuned, axis), [_ranks_of(one, axis) for one in ties]
    best = min(range(len(places)), key=lambda i: (*places[i], *(ranks[i] for ranks in others)))
    condition = tuned[0][0]
    settings = settings_of(condition.grid)
    chosen = settings[best]
    at_edge = [
        name
        for name in chosen
        if len(values := {setting[name] for setting in settings}) > 1
        and chosen[name] in (min(values), max(values))
        and chosen[name] not in condition.limits.get(name, ())
    ]
    means = np.mean(each, axis=0).tolist()
    scores = [(setting, time, reached, area) for setting, (time, reached, area) in zip(settings, means, strict=True)]
    return Choice(chosen, scores, at_edge, condition.measure.fitted_by == "area")


def is_tied(tuned: Sequence[tuple[Condition, xr.Dataset]], axis: Axis) -> bool:
    """Return whether tuning runs do not tell the best settings apart.

    Args:
        tuned: conditions with the same grid, each with the `measures.summary` of its tuning runs.
        axis: whether time is counted in episodes or in steps.
    """
    places = _places(tuned, axis)
    return places.count(min(places)) > 1


def _places(tuned: Sequence[tuple[Condition, xr.Dataset]], axis: Axis) -> list[tuple[int, int]]:
    """Return, for every setting, the sum of its ranks and its rank in the first condition."""
    ranks = [_ranks_of(one, axis) for one in tuned]
    return [(sum(places), places[0]) for places in zip(*ranks, strict=True)]


def _ranks_of(tuned: tuple[Condition, xr.Dataset], axis: Axis) -> list[int]:
    condition, summary = tuned
    return _ranks(_scored(condition, summary, axis), condition.measure)


def _scored(condition: Condition, summary: xr.Dataset, axis: Axis) -> list[Score]:
    """Compute the median time, the share of runs that reached the threshold, and the area, for every setting."""
    is_reached = summary[f"reached_by_{axis}"].values
    time = median(np.where(is_reached, summary[f"time_by_{axis}"].values, np.inf))
    # Ten digits: the rest is rounding error, which differs between machines.
    area = [float(f"{mean:.10g}") for mean in summary[f"area_by_{axis}"].values.mean(axis=1)]
    return [(float(t), float(r), a) for t, r, a in zip(time, is_reached.mean(axis=1), area, strict=True)]


def _ranks(scores: Sequence[Score], measure: Measure) -> list[int]:
    """Return the place of every setting; equal settings share the best of their places."""
    is_by_area = measure.fitted_by == "area"
    keys = [(area,) if is_by_area else (time, -reached, area) for time, reached, area in scores]
    return [sorted(keys).index(key) for key in keys]
