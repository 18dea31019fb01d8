"""Figure 1: generalized counts on a tree whose leaves are visited in turn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dorax.core import next_count
from dorax.study import figures
from dorax.study.claims import Claim, Estimate
from dorax.study.experiment import Condition, Experiment, Progress, Setting, Size
from dorax.study.results import Results
from dorax.study.statistics import Interval

LEAVES = (1, 2, 5, 10, 20, 50)
LEARNING_RATE, E_DISCOUNT = 0.1, 0.9


def count_cycles(
    settings: Sequence[Setting], seeds: Sequence[int], progress: Progress | None, *, leaves: int, cycles: int
) -> xr.Dataset:
    """Compute the count at the root after each cycle through all leaves.

    Args:
        settings: not used.
        seeds: not used; nothing is random.
        progress: progress callback.
        leaves: number of leaves.
        cycles: number of cycles.

    Returns:
        The count after each cycle.
    """
    root, hub = np.float64(0), np.zeros(leaves)
    counts: list[float] = []
    for _ in range(cycles):
        for leaf in range(leaves):
            root = next_count(root, hub[leaf], LEARNING_RATE, E_DISCOUNT)
            hub[leaf] = next_count(hub[leaf], None, LEARNING_RATE, E_DISCOUNT)
        counts.append(float(root))
    if progress is not None:
        progress(1.0, leaves * cycles)
    return xr.Dataset(
        {"count": (("setting", "seed", "cycle"), np.asarray(counts)[None, None])},
        coords={"setting": [""], "seed": [0], "cycle": np.arange(1, cycles + 1)},
    )


def name_of(leaves: int) -> str:
    """Return the name of a condition.

    Args:
        leaves: number of leaves.

    Returns:
        The name.
    """
    return f"k = {leaves}"


def conditions(size: Size) -> Sequence[Condition]:
    """One condition per number of leaves."""
    return [Condition(name_of(k), partial(count_cycles, leaves=k, cycles=size.of(100, least=20))) for k in LEAVES]


def visits_per_cycle(results: Results, *, leaves: Sequence[int]) -> Estimate:
    """Estimate the growth of the count per cycle over the second half of the cycles.

    Args:
        results: results of the experiment.
        leaves: the trees, by their number of leaves.

    Returns:
        The median over the trees, with their range as interval.
    """
    slopes: list[float] = []
    for k in leaves:
        count = results[name_of(k)].data()["count"].values[0]
        half = len(count) // 2
        slopes.append(float((count[-1] - count[half]) / (len(count) - 1 - half)))
    words = f"generalized visits a cycle, k = {', '.join(map(str, leaves))} (median and range)"
    return Estimate(words, Interval(float(np.median(slopes)), min(slopes), max(slopes)), 1)


def about_one(text: str, leaves: Sequence[int]) -> Claim:
    """Claim that each cycle adds about one generalized visit.

    Args:
        text: the claim in words.
        leaves: the trees, by their number of leaves.

    Returns:
        The claim.
    """
    return Claim(text, partial(visits_per_cycle, leaves=leaves), above=0.9, below=1.1)


def draw(results: Results, figure: Figure) -> None:
    """Draw the count at the root over cycles."""
    figure.set_size_inches(6.5, 4)
    axes = figure.subplots()
    for result, colour in zip(results, figures.palette(len(LEAVES)), strict=True):
        count = result.data()["count"]
        axes.plot(count.cycle, count.values[0], color=colour, label=result.name)
    cycles = results[name_of(LEAVES[0])].data().cycle
    axes.plot(cycles, cycles, color="grey", linestyle=":", label="one a cycle")
    axes.set_xlabel("cycles through all leaves")
    axes.set_ylabel("generalized count of (root, start)")
    figures.tidy(axes)
    axes.legend(frameon=False, fontsize=8)


EXPERIMENT = Experiment(
    figure="Figure 1",
    title="A cycle through all leaves is one generalized visit",
    paper="In a tree with k leaves that are visited in turn, the generalized count of the only action at the root "
    "grows by about one for each cycle of k visits, for any k.",
    notes=f"γ_E = {E_DISCOUNT} as in the paper; α = {LEARNING_RATE} is our choice. Nothing is random; the interval is "
    "the range over the trees. The count lags behind by a constant that depends on γ_E and k, so the claim is judged "
    "by the slope over the second half of the cycles, and 'about one' means between 0.9 and 1.1. With a single leaf, "
    "root and leaf are visited equally often, their E-values decay at the same rate, and the count of the root lags "
    "behind logarithmically: its slope slowly approaches one from below.",
    conditions=conditions,
    claims=[
        about_one("each cycle of k visits adds about one generalized visit, for k of 2 and more", LEAVES[1:]),
    ],
    draw=draw,
    order=10,
    size=Size(seeds=1),
    quick=Size(seeds=1, fraction=0.2),
)
