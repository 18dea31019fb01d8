"""What a run of many games came to: returns of greedy play over the steps, in words and as a figure."""

# matplotlib and xarray: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dorax.study.figures import COLOURS, new_figure
from dorax.study.statistics import Floats

_SHOWN = 10  # times at which the return is printed


def returns_of(data: xr.Dataset, kind: str = "greedy") -> Floats:
    """Return the mean returns of a run's records, without gaps.

    Args:
        data: dataset of the run.
        kind: "greedy" or "exploring" games.

    Returns:
        Returns, seeds x records. A record in which no episode ended has the return of the last one before it; NaN if
        there is none.
    """
    values = np.asarray(data[f"{kind}_return"].values, float)
    last = np.maximum.accumulate(np.where(np.isnan(values), 0, np.arange(values.shape[-1])), axis=-1)
    return np.take_along_axis(values, last, axis=-1)


def first_at(data: xr.Dataset, target: float) -> Floats:
    """Return the steps at which each seed first reached a return in greedy play; infinite if it never did.

    Args:
        data: dataset of the run.
        target: the return.
    """
    with np.errstate(invalid="ignore"):
        reached = returns_of(data, _kind(data)) >= target
    steps = np.asarray(data.record_step.values, float)
    return np.where(reached.any(axis=-1), steps[np.arange(len(steps)), reached.argmax(axis=-1)], np.inf)


def summary(data: xr.Dataset, target: float | None) -> list[str]:
    """Describe a run in a few lines.

    Args:
        data: dataset of the run.
        target: return that counts as solved; None if that is not known.

    Returns:
        The lines.
    """
    kind, seeds = _kind(data), data.sizes["seed"]
    returns, steps = returns_of(data, kind), data.record_step.values[0]
    shown = np.unique(np.linspace(0, len(steps) - 1, _SHOWN + 1).round().astype(int)[1:])
    lines = [f"return of {kind} games, {_counted(seeds, 'seed')}:"]
    lines += [f"{steps[i]:>14,.0f} steps {_mean(returns[:, i]):>9}" for i in shown]
    if target is not None:
        first = first_at(data, target)
        solved = np.isfinite(first)
        when = f", first after {np.median(first[solved]):,.0f} steps (median)" if solved.any() else ""
        lines.append(f"solved (a return of {target:.3g}) by {solved.sum()} of {_counted(seeds, 'seed')}{when}")
        lines.append(f"solved at the end: {(returns[:, -1] >= target).sum()} of {_counted(seeds, 'seed')}")
    return lines


def drawn(data: xr.Dataset, target: float | None, title: str) -> Figure:
    """Draw the returns of a run: thin lines for seeds, thick ones for their mean.

    Args:
        data: dataset of the run.
        target: return that counts as solved; None if that is not known.
        title: title of the figure.

    Returns:
        The figure.
    """
    figure = new_figure(6.0)
    axes = figure.subplots()
    steps = data.record_step.values[0]
    for kind, colour in (("exploring", COLOURS[1]), ("greedy", COLOURS[0])):
        returns = returns_of(data, kind)
        if np.isnan(returns).all():
            continue
        if len(returns) > 1:
            axes.plot(steps, returns.T, color=colour, linewidth=0.6, alpha=0.4)
        axes.plot(steps, returns.mean(axis=0), color=colour, label=f"{kind} games")
    if target is not None:
        axes.axhline(target, color="#999999", linestyle=":", label="solved")
    axes.set(xlabel="steps of a learner, all games together", ylabel="return of an episode", title=title)
    axes.legend(frameon=False)
    return figure


def _kind(data: xr.Dataset) -> str:
    """Return the games that are reported: greedy ones, if there are any."""
    return "exploring" if np.isnan(data["greedy_return"].values).all() else "greedy"


def _mean(returns: Floats) -> str:
    return "no episode" if np.isnan(returns).all() else f"{np.nanmean(returns):.3g}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
