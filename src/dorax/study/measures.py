"""Measures of learning curves: when they get there, and the area beneath them."""

# xarray: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dorax.study.experiment import Axis
from dorax.study.statistics import Floats, Times

THRESHOLD = 0.01  # of the error of knowing nothing, which is where Q = 0 starts


def times_to_threshold(data: xr.Dataset, axis: Axis, bar: str = "q_error_of_zero") -> Times:
    """Episodes or steps until q_error first ends an episode at or below a share of `bar`.

    Usually that is the error of Q = 0: each agent's own start would be lower for some than for others.
    """
    is_there = np.asarray(data.q_error <= THRESHOLD * data[bar])
    first = np.asarray(np.argmax(is_there, axis=-1))
    is_reached = np.asarray(is_there.any(axis=-1))
    watched = np.sum(np.isfinite(data.q_error.values), axis=-1)
    if axis == "episode":
        return Times(np.where(is_reached, first + 1.0, watched), is_reached)
    steps = np.take_along_axis(data.steps.values, first[..., None], axis=-1)[..., 0]
    return Times(np.where(is_reached, steps, data.total_steps.values * 1.0), is_reached)


def area_under_curve(data: xr.Dataset, axis: Axis) -> Floats:
    """The mean of q_error over its start, along an axis; a run that has ended keeps its last error."""
    error = data.q_error.copy(data=held(data.q_error.values)).fillna(data.q_error_at_start) / data.q_error_at_start
    if axis == "episode":
        return np.asarray(error.mean("episode"))
    horizon = float(data.total_steps.max())
    length = data.length.fillna(0.0)
    rest = horizon - length.sum("episode")
    return np.asarray(((error * length).sum("episode") + error.isel(episode=-1) * rest) / horizon)


def held(curves: Floats) -> Floats:
    """Curves along the last axis that keep their last value where they have ended (in NaN)."""
    last = np.maximum(np.sum(np.isfinite(curves), axis=-1, keepdims=True) - 1, 0)
    return np.where(np.isfinite(curves), curves, np.take_along_axis(curves, last, axis=-1))


def summary(data: xr.Dataset) -> xr.Dataset:
    """What fitting needs of a tuning run, setting x seed: times, whether reached, areas."""
    dims = ("setting", "seed")
    columns: dict[str, Any] = {}
    for axis in ("episode", "step"):
        times = times_to_threshold(data, axis)
        columns[f"time_by_{axis}"] = (dims, times.time)
        columns[f"reached_by_{axis}"] = (dims, times.is_reached)
        columns[f"area_by_{axis}"] = (dims, area_under_curve(data, axis))
    return xr.Dataset(columns, coords={"setting": data.setting, "seed": data.seed})
