"""Fitting: choose the best setting of a grid, on seeds that are never reported."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from dorax.study.experiment import Axis, Condition, Grid
from dorax.study.statistics import median


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


def choose(condition: Condition, summary: xr.Dataset, axis: Axis) -> Choice:
    """Choose the best setting of a condition's grid.

    The best setting has the shortest median time to the threshold; ties go to the most runs that reach it, then to the
    smallest area. A measure that is fitted by area uses the area alone.

    Args:
        condition: has the grid, its limits and the measure.
        summary: `measures.summary` of the tuning runs.
        axis: whether time is counted in episodes or in steps.

    Returns:
        The choice.
    """
    is_reached = summary[f"reached_by_{axis}"].values
    time = median(np.where(is_reached, summary[f"time_by_{axis}"].values, np.inf))
    reached = is_reached.mean(axis=1)
    # Ten digits: the rest is rounding error, which differs between machines.
    area = [float(f"{mean:.10g}") for mean in summary[f"area_by_{axis}"].values.mean(axis=1)]
    settings = settings_of(condition.grid)
    is_by_area = condition.measure.fitted_by == "area"
    best = min(range(len(settings)), key=lambda i: (area[i],) if is_by_area else (time[i], -reached[i], area[i]))
    chosen = settings[best]
    at_edge = [
        name
        for name in chosen
        if len(values := {setting[name] for setting in settings}) > 1
        and chosen[name] in (min(values), max(values))
        and chosen[name] not in condition.limits.get(name, ())
    ]
    scores = [(settings[i], float(time[i]), float(reached[i]), area[i]) for i in range(len(settings))]
    return Choice(chosen, scores, at_edge, is_by_area)
