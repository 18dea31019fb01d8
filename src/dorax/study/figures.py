"""Drawing functions that the experiments share."""

# matplotlib and xarray: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dorax.files import replacing
from dorax.study.experiment import AXES, Axis, Experiment
from dorax.study.measures import WINDOW, held
from dorax.study.results import Results
from dorax.study.statistics import Floats, bootstrap, median

# Okabe and Ito's palette, which colour-blind readers can distinguish.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
_POINTS = 160


def new_figure(width: float = 9.0, height: float = 4.0) -> Figure:
    """Create an empty figure.

    Args:
        width: width in inches.
        height: height in inches.

    Returns:
        The figure.
    """
    return Figure(figsize=(width, height), layout="constrained")


def write(figure: Figure, folder: Path, name: str) -> None:
    """Write a figure as PNG, SVG and PDF, with live text. The same numbers give the same bytes.

    Args:
        figure: the figure.
        folder: where to write the files.
        name: file name without suffix.
    """
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # keep this layout for all formats
    _save(figure, folder, name, ("svg", "pdf", "png"))


def write_panels(figure: Figure, folder: Path, name: str) -> list[tuple[str, str]]:
    """Write every panel of a figure as an SVG and a PDF of its own; the figure can then no longer be used.

    Args:
        figure: the figure, after `write`.
        folder: where to write the files.
        name: start of the file names, which go on with `-1`, `-2`, ...

    Returns:
        Title and file name without suffix of each panel; none if the figure has only one.
    """
    bars = [axes for axes in figure.axes if hasattr(axes, "_colorbar")]
    panels = [axes for axes in figure.axes if axes not in bars and axes.axison]
    for stale in folder.glob(f"{name}-*"):
        stale.unlink()
    if len(panels) < 2:
        return []
    legend = _legend(figure)
    for container in (figure, *figure.subfigs):
        for artist in container.get_children():
            artist.set_visible(artist in figure.subfigs)
    figure.set_size_inches(5.2, 3.9)
    written: list[tuple[str, str]] = []
    for i, panel in enumerate(panels, start=1):
        shown = [panel, *(bars if panel.images else [])]
        _set_apart(panel, panels, bars, legend)
        for axes in shown:
            axes.set_visible(True)
        _save(figure, folder, f"{name}-{i}", ("svg", "pdf"), bbox_inches="tight")
        for axes in shown:
            axes.set_visible(False)
        written.append((" ".join(panel.get_title().split()), f"{name}-{i}"))
    return written


def _legend(figure: Figure) -> tuple[list[Any], list[str]]:
    """Return handles and labels of the legend that the panels share; empty if there is none."""
    legends = [legend for part in (figure, *figure.subfigs) for legend in part.legends]
    handles = [handle for legend in legends for handle in legend.legend_handles if handle is not None]
    return handles, [text.get_text() for legend in legends for text in legend.get_texts()]


def _set_apart(panel: Axes, panels: Sequence[Axes], bars: Sequence[Axes], legend: tuple[list[Any], list[str]]) -> None:
    """Let a panel fill the figure, with the labels and the legend that it shared."""
    panel.set_position((0.14, 0.15, 0.8, 0.75))
    for bar in bars:
        bar.set_position((0.96, 0.15, 0.04, 0.75))
    shared = {"x": panel.get_shared_x_axes(), "y": panel.get_shared_y_axes()}
    for name, axis in (("x", panel.xaxis), ("y", panel.yaxis)):
        siblings = [axes for axes in panels if shared[name].joined(panel, axes)]
        labels = [getattr(axes, f"get_{name}label")() for axes in siblings]
        if len(siblings) > 1:
            axis.set_label_text(next(filter(None, [axis.get_label_text(), *labels]), ""))
            axis.set_tick_params(which="both", labelleft=True, labelbottom=True)
    if legend[0] and panel.get_legend() is None:
        panel.legend(*legend, loc="upper left", bbox_to_anchor=(1.02, 1.0), fontsize=8, frameon=False)


def _save(figure: Figure, folder: Path, name: str, kinds: Sequence[str], **options: Any) -> None:
    settings: Any = {"svg.hashsalt": name, "svg.fonttype": "none", "pdf.fonttype": 42}
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
    with matplotlib.rc_context(settings):
        for kind in kinds:
            with replacing(folder / f"{name}.{kind}") as unfinished:
                figure.savefig(unfinished, format=kind, dpi=160, metadata=metadata[kind], **options)


def drawn(experiment: Experiment, results: Results) -> Figure:
    """Draw the figure of an experiment.

    Args:
        experiment: the experiment.
        results: its results.

    Returns:
        The figure.
    """
    figure = new_figure()
    experiment.draw(results, figure)
    return figure


def palette(values: int) -> list[Any]:
    """Return colours for an ordered quantity, dark to light.

    Args:
        values: number of colours.

    Returns:
        The colours.
    """
    return [matplotlib.colormaps["viridis"](x) for x in np.linspace(0.0, 0.9, max(values, 2))][:values]


def learning_curve(data: xr.Dataset, axis: Axis, variable: str = "q_error") -> tuple[Floats, Floats]:
    """Sample learning curves at logarithmically spaced points.

    The curves end where the shortest run ends. By step, a run has the value of the last episode it had finished.

    Args:
        data: runs of one condition.
        axis: episodes or steps.
        variable: name of the variable.

    Returns:
        The points, and the values there, points x seeds.
    """
    values = data[variable].transpose("seed", "episode").values
    if axis == "episode":
        episodes = max(1, int(np.isfinite(values).sum(axis=1).min()))
        x = np.unique(np.geomspace(1, episodes, _POINTS).astype(int))
        return x.astype(float), values[:, x - 1].T
    steps = data.steps.transpose("seed", "episode").values
    first, last = np.nan_to_num(steps[:, 0], nan=1.0).max(), data.total_steps.values.min()
    x = np.geomspace(first, max(last, first + 1), _POINTS)
    index = np.stack([np.searchsorted(row[np.isfinite(row)], x, side="right") - 1 for row in steps])
    return x, np.take_along_axis(held(values), np.maximum(index, 0), axis=1).T


def draw_curve(
    axes: Axes,
    data: xr.Dataset,
    axis: Axis,
    variable: str = "q_error",
    statistic: Callable[[Floats], Floats] = median,
    **style: Any,
) -> None:
    """Draw a statistic over seeds with its bootstrap interval.

    Args:
        axes: where to draw.
        data: runs of one condition.
        axis: episodes or steps.
        variable: name of the variable.
        statistic: reduces the last axis; the median by default.
        **style: options of the line.
    """
    x, values = learning_curve(data, axis, variable)
    draw_band(axes, x, values, statistic, **style)


def draw_band(axes: Axes, x: Floats, values: Floats, statistic: Callable[[Floats], Floats], **style: Any) -> None:
    """Draw a statistic with its bootstrap interval as a band.

    Args:
        axes: where to draw.
        x: the points.
        values: points x seeds.
        statistic: reduces the last axis.
        **style: options of the line.
    """
    middle, low, high = bootstrap(values, statistic, resamples=400)  # fewer resamples: bands are only drawn
    line = axes.plot(x, middle, linewidth=1.6, **style)[0]
    axes.fill_between(x, low, high, color=line.get_color(), alpha=0.18, linewidth=0)


def mean_over_seeds(values: Floats) -> Floats:
    """Return the mean over the last axis.

    Args:
        values: ... x seeds.
    """
    return np.mean(values, axis=-1)


def trailing_mean(values: Floats, window: int = WINDOW) -> Floats:
    """Compute the mean of the last `window` values along the last axis.

    Args:
        values: the values; NaN stays NaN.
        window: number of values; at the start, as many as there are.

    Returns:
        An array of the same shape.
    """
    total = np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1)
    end = np.arange(1, values.shape[-1] + 1)
    start = np.maximum(end - window, 0)
    return (total[..., end] - total[..., start]) / (end - start)


def label_axes(axes: Axes, axis: Axis, ylabel: str, log_y: bool = True) -> None:
    """Label the axes and make them logarithmic.

    Args:
        axes: the axes.
        axis: what the x-axis counts, episodes or steps.
        ylabel: label of the y-axis.
        log_y: whether the y-axis is logarithmic as well.
    """
    axes.set_xscale("log")
    if log_y:
        axes.set_yscale("log")
    axes.set_xlabel(f"{axis}s")
    axes.set_ylabel(ylabel)
    tidy(axes)


def tidy(axes: Axes) -> None:
    """Remove the frame and add a light grid.

    Args:
        axes: the axes.
    """
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, linewidth=0.5)


def draw_q_error_by_both_axes(
    panels: Sequence[Axes],
    results: Results,
    names: Sequence[str],
    styles: dict[str, Any],
    floor: float = 1e-4,
    is_of_zero: bool = False,
) -> None:
    """Draw the relative error of Q, by episode on the first panel and by step on the second.

    Args:
        panels: two axes.
        results: results of the experiment.
        names: names of the conditions to draw.
        styles: options of each condition's line.
        floor: smallest value to draw.
        is_of_zero: whether the error is relative to that of Q = 0 instead of that at the start of a run.
    """
    whole, words = ("q_error_of_zero", "that of Q = 0") if is_of_zero else ("q_error_at_start", "its start")
    for panel, axis in zip(panels, AXES, strict=True):
        for name in names:
            data = results[name].data(axis)
            relative = data.assign(q_error=np.maximum(data.q_error / data[whole], floor))
            draw_curve(panel, relative, axis, label=name, **styles[name])
        panel.axhline(0.01, color="grey", linewidth=0.8, linestyle=":")
        label_axes(panel, axis, f"error of Q, share of {words}")


def legend_below(figure: Figure, panel: Axes, columns: int = 4) -> None:
    """Add a legend below all panels.

    Args:
        figure: the figure.
        panel: the panel whose lines the legend lists.
        columns: number of columns.
    """
    handles, labels = panel.get_legend_handles_labels()
    legend = figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8, frameon=False)
    for mark in legend.legend_handles:
        if mark is not None:
            mark.set_alpha(1)  # opaque also where points are drawn transparent
