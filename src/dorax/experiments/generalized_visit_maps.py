"""Figure 11: maps of visits and of E-values with propagation, and what states near the end gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from dorax.experiments import _maps
from dorax.study.claims import Claim, Estimate, together
from dorax.study.experiment import Answer, Condition, Experiment, Finding, Size, Table
from dorax.study.results import Results
from dorax.study.statistics import UNKNOWN, mean

GOAL = 0.5  # states beyond this position are terminal; the paper calls them terminal or near-terminal
WINDOWS = {"late": "last ten episodes", "total": "whole training"}


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


def gains(results: Results, name: str, window: str) -> np.ndarray:
    """Compute generalized visits per visit in a window, beyond the goal position and before it.

    Args:
        results: results of the experiment.
        name: name of the condition.
        window: `"late"` or `"total"`.

    Returns:
        Runs x 2. Runs that did not reach the goal in the window are left out.
    """
    data = results[name].data()
    low, high = _maps.EXTENT[:2]
    position = low + (high - low) * (np.arange(_maps.BINS[0]) + 0.5) / _maps.BINS[0]
    is_beyond = np.broadcast_to((position > GOAL)[:, None], _maps.BINS)
    found = []
    for visits, counts in zip(data[f"visits_{window}"].values, data[f"count_{window}"].values, strict=True):
        places = [(visits > 0) & is_beyond, (visits > 0) & ~is_beyond]
        if places[0].any():
            found.append([counts[place].sum() / visits[place].sum() for place in places])
    return np.asarray(found).reshape(-1, 2)


def gains_over_control(results: Results, form: str, window: str) -> np.ndarray:
    """Compute the same as a fraction of what the visits add at γ_E = 0.

    Args:
        results: results of the experiment.
        form: form of E.
        window: `"late"` or `"total"`.

    Returns:
        Runs x 2.
    """
    return gains(results, form, window) / gains(results, plain(form), window)


def favours_the_end(form: str, window: str) -> Claim:
    """Claim that a visit of a state beyond the goal position adds more to its count than a visit elsewhere.

    Counts can fall, so this is a difference and not a ratio.

    Args:
        form: form of E; the paper has the logistic one.
        window: `"late"`, as in the paper, or `"total"`.

    Returns:
        The claim.
    """

    def estimate(results: Results) -> Estimate:
        words = f"generalized visits a visit beyond position {GOAL:g}, less those before it, {form} form"
        return _beyond_less_before(gains(results, form, window), words)

    text = f"near-terminal states gain more generalized visits than visits, {WINDOWS[window]}, {form} form"
    return Claim(text, estimate, above=0.0)


def owes_it_to_propagation(window: str) -> Claim:
    """Claim the same relative to γ_E = 0, in both forms. If this does not hold, the control explains the effect.

    Without propagation there is such an effect, too: a counter that saturates favours states that are rarely visited.

    Args:
        window: `"late"`, as in the paper, or `"total"`.

    Returns:
        The claim.
    """

    def claim(form: str) -> Claim:
        def estimate(results: Results) -> Estimate:
            words = f"generalized visits over those at γ_E = 0, beyond {GOAL:g} less before it, {form} form"
            return _beyond_less_before(gains_over_control(results, form, window), words)

        return Claim("", estimate, above=0.0)

    text = f"propagation is the reason: they gain more than from the same visits at γ_E = 0, {WINDOWS[window]}"
    return together(text, {form: claim(form) for form in _maps.FORMS})


def _beyond_less_before(rates: np.ndarray, words: str) -> Estimate:
    if len(rates) < 2:
        return Estimate(f"{words}: too few runs got there", UNKNOWN, len(rates))
    beyond, before = rates.mean(axis=0)
    return Estimate(f"{words} ({beyond:.3g} less {before:.3g})", mean(rates[:, 0] - rates[:, 1]), len(rates))


def draw(results: Results, figure: Figure) -> None:
    """Draw visits and E-values of the last ten episodes, in both forms, with propagation and without it."""
    figure.set_size_inches(13, 3.2)
    panels = figure.subplots(1, 5, sharey=True)
    returns = results[_maps.FORMS[0]].data()["return"].values
    seed = int(np.argmax(returns[:, -_maps.WINDOW :].sum(axis=1) > 0))
    visits = results[_maps.FORMS[0]].data().visits_late.values[seed]
    images = [_maps.draw_map(panels[0], visits, f"visits, seed {seed}")]
    names = [(form, name) for form in _maps.FORMS for name in (form, plain(form))]
    for panel, (form, name) in zip(panels[1:], names, strict=True):
        counts = results[name].data().count_late.values[seed]
        title = name if name != form else f"{form}, γ_E = 0.99"
        images.append(_maps.draw_map(panel, np.where(visits > 0, counts, 0), f"E-values, {title}"))
        panel.set_ylabel("")
    for panel in panels:
        panel.axvline(GOAL, color="grey", linewidth=0.8, linestyle=":")
    figure.colorbar(images[0], ax=list(panels), label="share of the largest", shrink=0.9)


def tables(results: Results) -> Sequence[Table]:
    """Create a table of generalized visits per visit."""
    rows = []
    for window, words in WINDOWS.items():
        for form in _maps.FORMS:
            for name, discount in ((form, "0.99"), (plain(form), "0")):
                rates = gains(results, name, window)
                beyond, before = rates.mean(axis=0) if len(rates) else (np.nan, np.nan)
                rows.append((words, form, discount, f"{beyond:.3g}", f"{before:.3g}", len(rates)))
    header = ("window", "form", "γ_E", f"beyond position {GOAL:g}", "before it", "runs that reached the goal")
    return [Table("Generalized visits per visit, means over runs", header, rows)]


EXPERIMENT = Experiment(
    figure="Figure 11",
    title="With propagation, do near-terminal states gain more generalized visits?",
    paper="With γ_E = 0.99, terminal or near-terminal states (position above 0.5) gain more generalized visits than "
    "visits in the last ten episodes, in comparison with states far from the end.",
    notes="As in Figures 8, 9, 10 and 12, with γ_E = 0.99. Every state with a position above 0.5 is terminal. It is "
    "visited when an episode ends there. No action is taken in it, so nothing is counted for it: what its bins show is "
    "what the tiles generalize from the states just before it. (The authors' code counts the terminal state as well, "
    "with nothing to propagate. There a visit adds a whole visit for every γ_E, and the statement is true by "
    "construction.) The change of C_E is summed over the bins visited in the window and divided by the number of "
    "visits. A map has many bins to a tile, so the unit of this number means nothing, only the comparison. It is "
    "judged by itself and relative to γ_E = 0 with the same visits. Where the first holds and the second does not, "
    "the control explains the effect. In ten episodes counts rise and fall, so the whole training is judged as well; "
    "this was added after seeing the results. Bins whose count fell are white. The maps show the first seed that "
    "reached the goal in the last ten episodes.",
    conditions=conditions,
    claims=[
        *(favours_the_end(form, "late") for form in _maps.FORMS),
        together(
            "near-terminal states gain more generalized visits than visits, whole training",
            {form: favours_the_end(form, "total") for form in _maps.FORMS},
        ),
        *(owes_it_to_propagation(window) for window in WINDOWS),
    ],
    draw=draw,
    order=76,
    finding=Finding(
        "Do maps of E-values look like maps of visits, and do near-terminal states gain more with propagation?",
        [
            Answer(
                "visits and E-values make similar maps, last ten episodes (change)",
                "rank correlation {}",
                label="alike, γ_E = 0",
                experiment="visit_maps",
            ),
            Answer(
                favours_the_end("logistic", "late").text,
                "{} generalized visits a visit, near less far",
                label="near the end, γ_E = 0.99",
            ),
            *(
                Answer(
                    owes_it_to_propagation(window).text,
                    "{} of the gain at γ_E = 0, near less far",
                    label=f"relative to γ_E = 0, {words}",
                    case="logistic",
                )
                for window, words in WINDOWS.items()
            ),
        ],
    ),
    size=_maps.SIZE,
    quick=_maps.QUICK,
    tables=tables,
)
