"""Figures 8, 9, 10 and 12: maps of visits and of E-values without propagation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from dorax.experiments import _maps
from dorax.study import figures
from dorax.study.claims import Claim, Estimate, together
from dorax.study.experiment import Condition, Experiment, Size, Table
from dorax.study.results import Results
from dorax.study.statistics import mean

WINDOWS = {"total": "whole training", "early": "first ten episodes", "late": "last ten episodes (change)"}
ALIKE = 0.7  # a rank correlation above this is commonly called strong
SEED = 0  # the seed whose maps are drawn


def conditions(size: Size) -> Sequence[Condition]:
    """One condition per form of E."""
    return _maps.conditions(0.0, size)


def alike(window: str) -> Claim:
    """Claim that maps of visits and of E-values are similar in a window, in both forms of E.

    Args:
        window: `"early"`, `"late"` or `"total"`.

    Returns:
        The claim.
    """

    def claim(form: str) -> Claim:
        def estimate(results: Results) -> Estimate:
            values = _maps.rank_correlations(results[form].data(), window)
            words = f"mean over seeds of the rank correlation over visited bins, {WINDOWS[window]}, {form} form"
            return Estimate(words, mean(values), results.size.seeds)

        return Claim("", estimate, above=ALIKE)

    text = f"visits and E-values make similar maps, {WINDOWS[window]}"
    return together(text, {form: claim(form) for form in _maps.FORMS})


def correlated() -> Claim:
    """Claim that visits and E-values of a state are correlated over training, in both forms of E."""

    def claim(form: str) -> Claim:
        def estimate(results: Results) -> Estimate:
            medians = np.nanmedian(results[form].data().correlation.values.reshape(results.size.seeds, -1), axis=1)
            words = f"median over states of the correlation over training, mean over seeds, {form} form"
            return Estimate(words, mean(medians), results.size.seeds)

        return Claim("", estimate, above=ALIKE)

    text = "over training, visits and E-values of a state are strongly correlated"
    return together(text, {form: claim(form) for form in _maps.FORMS})


def tables(results: Results) -> Sequence[Table]:
    """Compare the number of parameters with the number of bins. Both were chosen, so this is not a claim."""
    weights, entries = int(results["count"].data().attrs["parameters"]), int(np.prod(_maps.BINS)) * 3
    header = ("weights of E", "bins × actions", "ratio")
    return [Table("Parameters against bins", header, [(weights, entries, f"{weights / entries:.2f}")])]


def draw(results: Results, figure: Figure) -> None:
    """Draw maps of one seed, one row per window, with correlations of all seeds below."""
    figure.set_size_inches(12, 11)
    grid = figure.add_gridspec(4, 4)
    images = []
    for row, (window, words) in enumerate(WINDOWS.items()):
        for column, form in enumerate(_maps.FORMS):
            data = results[form].data()
            rank = _maps.rank_correlations(data, window)[SEED]
            visits, counts = (data[f"{kind}_{window}"].values[SEED] for kind in ("visits", "count"))
            left, right = (figure.add_subplot(grid[row, 2 * column + i]) for i in range(2))
            _maps.draw_map(left, visits, f"visits, {words}")
            title = f"E-values, {form}; ρ = {rank:.2f}"
            images.append(_maps.draw_map(right, np.where(visits > 0, counts, 0), title))
    figure.colorbar(images[0], ax=figure.axes, label="share of the largest", shrink=0.6)
    for column, (form, colour) in enumerate(zip(_maps.FORMS, figures.COLOURS, strict=False)):
        panel = figure.add_subplot(grid[3, 2 * column : 2 * column + 2])
        values = results[form].data().correlation.values
        panel.hist(values[np.isfinite(values)], bins=np.linspace(-1, 1, 41).tolist(), color=colour)
        panel.set_title(f"correlation of visits and E-values over training, by state, {form}", fontsize=9, loc="left")
        panel.set_xlabel("correlation")
        panel.set_ylabel("states (all seeds)")
        figures.tidy(panel)


EXPERIMENT = Experiment(
    figure="Figures 8, 9, 10 and 12",
    title="Without propagation, do maps of E-values look like maps of visits?",
    paper="States that were visited more often have a higher C_E: over the whole training, in its first ten episodes "
    "and in the change over its last ten; over training the two are strongly correlated, with far fewer parameters "
    "than bins.",
    notes=f"Sparse mountain car, γ_E = 0. The agent is ε-greedy with ε = {_maps.EPSILON:g}, the default of the "
    f"authors' linear code, and ignores E; {_maps.EPISODES} episodes, {_maps.BINS[0]} × {_maps.BINS[1]} bins, a "
    f"snapshot every {_maps.WINDOW} episodes. Visits are of every state of an episode, from its start to its last one. "
    f"Maps show seed {SEED}, each relative to its maximum, over the bins visited in the window; numbers are over all "
    f"seeds. “Similar” means a rank correlation ρ above {ALIKE:g}. The correlation over training is computed for every "
    "visited bin. Two numbers that only grow are easily correlated, so read it with the late maps, which compare "
    "increments.",
    conditions=conditions,
    claims=[*(alike(window) for window in WINDOWS), correlated()],
    draw=draw,
    order=75,
    size=_maps.SIZE,
    quick=_maps.QUICK,
    tables=tables,
)
