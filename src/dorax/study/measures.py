"""Measures of learning curves: the time to a threshold, and the area under the curve."""

# xarray: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import xarray as xr

from dorax.study.statistics import Floats, Times

Axis = Literal["episode", "step"]
AXES: tuple[Axis, ...] = ("episode", "step")

THRESHOLD = 0.01  # relative to the error of Q = 0
WINDOW = 20  # episodes over which success is counted
FAILURES_ALLOWED = 0.1  # of them


@dataclass(frozen=True)
class Measure:
    """A curve that falls from about 1 as an agent learns, and the threshold it has to reach.

    Attributes:
        name: what has to be reached, in words.
        curve: computes the curve from a dataset. Its last dimension is `episode`, or `record` for evenly spaced records
            with their steps in `record_step`; records have no episodes, so both axes then count steps.
        threshold: value to reach.
        fitted_by: fit settings by the time to the threshold or, for curves that may rise again, by the area under them.
    """

    name: str
    curve: Callable[[xr.Dataset], xr.DataArray]
    threshold: float
    fitted_by: Literal["time", "area"] = "time"


def error_of_q(data: xr.Dataset) -> xr.DataArray:
    """Compute the error of Q relative to that of Q = 0, which is the same for all agents.

    Args:
        data: runs of one condition.

    Returns:
        The relative error by episode.
    """
    return data.q_error / data.q_error_of_zero


def error_of_q_since_start(data: xr.Dataset) -> xr.DataArray:
    """Compute the error of Q relative to the agent's own error at the start.

    Args:
        data: runs of one condition.

    Returns:
        The relative error by episode.
    """
    return data.q_error / data.q_error_at_start


def recent_failures(data: xr.Dataset) -> xr.DataArray:
    """Compute the share of the last `WINDOW` episodes without any reward.

    Args:
        data: runs of one condition.

    Returns:
        The share by episode. Episodes before the first count as failures.
    """
    returns = data["return"]
    failed = np.where(np.isnan(returns.values), np.nan, np.asarray(returns.values <= 0, float))
    total = np.cumsum(np.concatenate([np.ones((*failed.shape[:-1], WINDOW)), failed], axis=-1), axis=-1)
    return returns.copy(data=(total[..., WINDOW:] - total[..., :-WINDOW]) / WINDOW)


Q_ERROR = Measure("the error of Q is below 1 % of that of Q = 0", error_of_q, THRESHOLD)
OWN_Q_ERROR = Measure("the error of Q is below 1 % of its start", error_of_q_since_start, THRESHOLD)
SUCCESS = Measure(f"{1 - FAILURES_ALLOWED:.0%} of {WINDOW} episodes succeed", recent_failures, FAILURES_ALLOWED, "area")


def times_to_threshold(data: xr.Dataset, axis: Axis, measure: Measure = Q_ERROR) -> Times:
    """Find when a measure is first at or below its threshold.

    Args:
        data: runs of one condition.
        axis: count episodes or steps.
        measure: the measure.

    Returns:
        The time of each run.
    """
    values = measure.curve(data)
    curve = values.values
    is_there = np.asarray(curve <= measure.threshold)
    first = np.asarray(np.argmax(is_there, axis=-1))
    is_reached = np.asarray(is_there.any(axis=-1))
    watched = np.sum(np.isfinite(curve), axis=-1)
    if values.dims[-1] == "record":
        return Times(_at(data.record_step.values, np.where(is_reached, first, watched - 1)), is_reached)
    if axis == "episode":
        return Times(np.where(is_reached, first + 1.0, watched), is_reached)
    return Times(np.where(is_reached, _at(data.steps.values, first), data.total_steps.values * 1.0), is_reached)


def area_under_curve(data: xr.Dataset, axis: Axis, measure: Measure = Q_ERROR) -> Floats:
    """Compute the mean of a measure along an axis. A run that has ended keeps its last value.

    Args:
        data: runs of one condition.
        axis: average over episodes or steps.
        measure: the measure.

    Returns:
        The mean for each run.
    """
    curve = measure.curve(data)
    error = curve.copy(data=held(curve.values)).fillna(1.0)
    if curve.dims[-1] == "record":
        return np.asarray(error.mean("record"))
    if axis == "episode":
        return np.asarray(error.mean("episode"))
    horizon = float(data.total_steps.max())
    length = data.length.fillna(0.0)
    rest = horizon - length.sum("episode")
    return np.asarray(((error * length).sum("episode") + error.isel(episode=-1) * rest) / horizon)


def held(curves: Floats) -> Floats:
    """Fill curves with their last value where they have ended.

    Args:
        curves: curves along the last axis; NaN where they have ended.

    Returns:
        Curves without NaN.
    """
    last = np.maximum(np.sum(np.isfinite(curves), axis=-1, keepdims=True) - 1, 0)
    return np.where(np.isfinite(curves), curves, np.take_along_axis(curves, last, axis=-1))


def _at(values: Floats, index: Any) -> Floats:
    """Select one entry of the last axis per row."""
    return np.take_along_axis(values, index[..., None], axis=-1)[..., 0]


def summary(data: xr.Dataset, measure: Measure = Q_ERROR) -> xr.Dataset:
    """Summarise tuning runs for fitting.

    Args:
        data: runs of one condition, setting x seed.
        measure: the measure to fit by.

    Returns:
        For each setting, seed and axis: the time to the threshold, whether it was reached, and the area.
    """
    dims = ("setting", "seed")
    columns: dict[str, Any] = {}
    for axis in AXES:
        times = times_to_threshold(data, axis, measure)
        columns[f"time_by_{axis}"] = (dims, times.time)
        columns[f"reached_by_{axis}"] = (dims, times.is_reached)
        columns[f"area_by_{axis}"] = (dims, area_under_curve(data, axis, measure))
    return xr.Dataset(columns, coords={"setting": data.setting, "seed": data.seed})
