"""Figure 11: with propagation, visits near the end of an episode count more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from dorax.experiments import _maps
from dorax.study.claims import Claim, Estimate
from dorax.study.experiment import Answer, Condition, Experiment, Finding, Size, Table
from dorax.study.results import Results
from dorax.study.statistics import Interval, mean

NEAR = 0.3  # positions beyond this are near the goal, which is at 0.5


def conditions(size: Size) -> Sequence[Condition]:
    """Both forms with propagation, and without it as a control: the same seeds make the same visits."""
    control = [replace(each, name=plain(each.name)) for each in _maps.conditions(0.0, size)]
    return [*_maps.conditions(0.99, size), *control]


def plain(form: str) -> str:
    """Return the name of the control condition.

    Args:
        form: form of E.

    Returns:
        The name.
    """
    return f"{form}, γ_E = 0"


def visits_by_place(results: Results, form: str) -> np.ndarray:
    """Compute generalized visits per visit in the last ten episodes, near the goal and far from it.

    Args:
        results: results of the experiment.
        form: form of E, which is also the condition's name.

    Returns:
        Runs x 2. Runs that did not get near the goal in these episodes are left out.
    """
    data = results[form].data()
    low, high = _maps.EXTENT[:2]
    position = low + (high - low) * (np.arange(_maps.BINS[0]) + 0.5) / _maps.BINS[0]
    is_near = np.broadcast_to((position > NEAR)[:, None], _maps.BINS)
    found = []
    for visits, counts in zip(data.visits_late.values, data.count_late.values, strict=True):
        places = [(visits > 0) & is_near, (visits > 0) & ~is_near]
        if places[0].any() and places[1].any():
            found.append([counts[place].sum() / visits[place].sum() for place in places])
    return np.asarray(found).reshape(-1, 2)


def favours_the_goal(form: str) -> Claim:
    """Claim that a visit near the goal adds more to the count than a visit far from it, as in the paper.

    Counts can fall, so this is a difference and not a ratio.

    Args:
        form: form of E.

    Returns:
        The claim.
    """

    def estimate(results: Results) -> Estimate:
        rates = visits_by_place(results, form)
        return _near_less_far(rates, f"generalized visits a visit, near the goal less far from it, {form} form")

    return Claim(f"near-terminal states gain more generalized visits than visits, {form} form", estimate, above=0.0)


def owes_it_to_propagation(form: str) -> Claim:
    """Claim the same relative to γ_E = 0, since a counter that saturates favours rarely visited states anyway.

    Args:
        form: form of E.

    Returns:
        The claim.
    """

    def estimate(results: Results) -> Estimate:
        rates, control = (visits_by_place(results, name) for name in (form, plain(form)))
        words = f"generalized visits over those at γ_E = 0, near the goal less far from it, {form} form"
        return _near_less_far(rates / control if len(rates) == len(control) else rates[:0], words)

    return Claim(f"propagation leaves more of a visit near the goal than far from it, {form} form", estimate, above=0.0)


def _near_less_far(rates: np.ndarray, words: str) -> Estimate:
    if len(rates) < 2:
        return Estimate(f"{words}: too few runs got there", Interval(np.nan, np.nan, np.nan), len(rates))
    near, far = rates.mean(axis=0)
    return Estimate(f"{words} ({near:.3g} less {far:.3g})", mean(rates[:, 0] - rates[:, 1]), len(rates))


def draw(results: Results, figure: Figure) -> None:
    """Draw visits and E-values of the last ten episodes in both forms."""
    figure.set_size_inches(12, 3.4)
    panels = figure.subplots(1, 4)
    images = []
    for column, form in enumerate(_maps.FORMS):
        data = results[form].data()
        got_there = np.flatnonzero(data["return"].values[:, -_maps.WINDOW :].sum(axis=1) > 0)
        seed = int(got_there[0]) if got_there.size else 0
        visits, counts = data.visits_late.values[seed], data.count_late.values[seed]
        _maps.draw_map(panels[2 * column], visits, f"visits, last ten episodes, seed {seed}")
        images.append(_maps.draw_map(panels[2 * column + 1], np.where(visits > 0, counts, 0), f"E-values, {form}"))
    for panel in panels:
        panel.axvline(NEAR, color="grey", linewidth=0.8, linestyle=":")
    figure.colorbar(images[0], ax=list(panels), label="share of the largest", shrink=0.9)


def tables(results: Results) -> Sequence[Table]:
    """Create a table of generalized visits per visit."""
    rows = []
    for form in _maps.FORMS:
        for name, discount in ((form, "0.99"), (plain(form), "0")):
            rates = visits_by_place(results, name)
            near, far = rates.mean(axis=0) if len(rates) else (np.nan, np.nan)
            rows.append((form, discount, f"{near:.3g}", f"{far:.3g}", len(rates)))
    header = ("form", "γ_E", "generalized visits per visit, near the goal", "far from it", "runs that reached it")
    return [Table("Means over runs", header, rows)]


EXPERIMENT = Experiment(
    figure="Figure 11",
    title="With propagation, visits near the end count more",
    paper="With γ_E = 0.99, near-terminal states gain more generalized visits than visits, in comparison with states "
    "far from the end.",
    notes="As in Figures 8, 9, 10 and 12, with γ_E = 0.99. Positions above 0.3 are near the goal. The change of C_E "
    "over the last ten episodes is summed over the bins visited in them, near and far, and divided by the number of "
    "visits. This ratio is judged by itself and relative to γ_E = 0, with the same visits. Bins whose count fell are "
    "white. The maps show the first seed that reached the goal in these episodes.",
    conditions=conditions,
    claims=[claim(form) for claim in (favours_the_goal, owes_it_to_propagation) for form in _maps.FORMS],
    draw=draw,
    order=76,
    finding=Finding(
        "Does propagation make visits near the goal count for more?",
        [
            Answer(
                "propagation leaves more of a visit near the goal than far from it, logistic form",
                "{} generalized visits relative to γ_E = 0, near less far",
            )
        ],
    ),
    size=Size(seeds=20),
    quick=Size(seeds=4, fraction=0.03),
    tables=tables,
)
