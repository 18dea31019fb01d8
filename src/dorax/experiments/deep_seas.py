"""Deep seas of 20 to 50 rows with networks that play many games: acting by counts, and its rivals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from dorax.experiments._parallel import SEA_STEPS, sea
from dorax.experiments._parallel_explorers import (
    LADDER,
    RIVALS,
    TABLE,
    TURNS,
    Explorer,
    explorers,
    table_agent,
)
from dorax.experiments._parallel_study import (
    QUICK,
    SIZE,
    condition,
    draw_curves,
    name_of,
    on_small_seas,
    quick_conditions,
    range_tables,
    solved,
    solves,
    solves_more,
    sooner,
    table,
    there,
    times_of,
)
from dorax.study import figures
from dorax.study.experiment import Condition, Experiment, Fitted, Size, Table
from dorax.study.results import Results
from dorax.study.statistics import bootstrap, median, share

NAME = "deep_seas"
TUNED = sea(20)
SEAS = {size: sea(size).name for size in SEA_STEPS}


def conditions(size: Size) -> list[Condition]:
    """One condition per agent and sea. Settings are fitted on the sea of 20; the larger ones are held out."""
    chosen = agents()
    if not size.is_full:
        return quick_conditions({name: chosen[name] for name in (TURNS, LADDER)}, list(SEAS.values())[:2])
    made: list[Condition] = []
    for rows in SEAS:
        for name, explorer in chosen.items():
            tuned, priority = tuned_on_sea(name, explorer, len(made)), len(made)
            made.append(
                tuned.condition if rows == 20 else condition(name, explorer, sea(rows), [tuned], priority=priority)
            )
    return made


def agents() -> dict[str, Explorer]:
    """Return the explorers and, as the limit, a table that plays a single game."""
    return {**explorers(), TABLE: table_agent()}


def tuned_on_sea(name: str, explorer: Explorer, priority: int = 0) -> Fitted:
    """Return the tuning runs of an explorer on the sea of 20.

    Args:
        name: name of the explorer.
        explorer: the explorer.
        priority: when it runs.
    """
    ties = on_small_seas(NAME, name, explorer)
    return Fitted(NAME, condition(name, explorer, TUNED, ties=ties, priority=priority))


def draw(results: Results, figure: Figure) -> None:
    """Draw learning on the sea of 20 and, against the number of rows, the share of runs that end solved and the steps
    until they are."""
    figure.set_size_inches(14, 4.4)
    curves, left, right = figure.subplots(1, 3)
    chosen = agents()
    draw_curves(results, curves, chosen, TUNED.name)
    curves.set(ylabel="share of the best return")
    for place, (name, explorer) in enumerate(chosen.items()):
        rows = np.asarray([each for each, world in SEAS.items() if there(results, [name], world)])
        if not len(rows):
            continue
        is_solid = explorer.line.get("linestyle", "-") == "-"
        line = {"marker": "o", "markersize": 5, "markerfacecolor": None if is_solid else "white", **explorer.line}
        shares = [share(*solved(results, name_of(name, SEAS[each]))) for each in rows]
        x = rows + 0.35 * (place - 5)
        ends = [[each.value - each.low for each in shares], [each.high - each.value for each in shares]]
        left.errorbar(x, [each.value for each in shares], ends, **line)
        times = [times_of(results, name_of(name, SEAS[each])).latest for each in rows]
        middle, low, high = (np.stack(each) for each in zip(*(bootstrap(each, median) for each in times), strict=True))
        is_known = np.isfinite(middle)
        x, middle, low, high = (each[is_known] for each in (x, middle, low, high))
        right.errorbar(x, middle, [middle - low, np.where(np.isfinite(high), high, middle) - middle], **line)
    left.set(ylabel="share of runs that end solved", ylim=(-0.03, 1.03))
    right.set(ylabel="steps until solved (median)", yscale="log", ylim=(3e4, 6e6))
    for panel in (left, right):
        panel.set(xlabel="rows", xlim=(min(SEAS) - 5, max(SEAS) + 5), xticks=list(SEAS))
        figures.tidy(panel)
    figures.legend_below(figure, curves, columns=5)


def tables(results: Results) -> Sequence[Table]:
    """Create a table for every sea, and one of the settings that work."""
    chosen = agents()
    shown = [world for world in SEAS.values() if there(results, list(chosen), world)]
    return [*range_tables(results, chosen, TUNED.name), *(table(results, chosen, world) for world in shown)]


_LARGER = [world for world in SEAS.values() if world != TUNED.name]
_ON = {"On the deep sea of 20, where all were fitted,": [TUNED.name], "On each larger sea, held out,": _LARGER}

EXPERIMENT = Experiment(
    figure="beyond the paper",
    title="Deep seas of up to 50 rows: networks that act by counts, and other explorers",
    paper="",
    notes="Every agent is the same learner: 64 games, Q-learning without a target network from λ-returns of rollouts of"
    " 32 steps (Gallici et al., 2024), networks of 2 × 256 units, γ = 0.99. A quarter of the games plays "
    "greedily, for every explorer. They differ in how they explore: LLL on E-values (γ_E = 0.99) or on visits, "
    "games in the same state taking turns; independent sharp draws; E-values of a network with a random start; "
    "bonuses of scale / √c; RND and NovelD; a count bonus of hashed codes; an ensemble with random priors, one "
    "head for every game that explores; and a ladder of ε over the games. RND, NovelD and the count bonus have "
    "values of their own, which episode ends do not cut off; E-values carry novelty back by themselves, and as a "
    "bonus they are part of the reward, as in the paper, which in trials did better than values of their own. Each "
    "explorer has 24 settings: six of its own numbers, with two learning rates and two λ; RND and NovelD, which have "
    "twelve of their own, every other combination. They are fitted on five tuning seeds of the sea of 20 by the greedy "
    "return over training; where no tuning run ever gets the treasure, seas of 10 and of 5 decide. A TabularAgent with "
    "LLL softmax on E-values, which is told the state and plays a single game, is the limit. Actions are mapped "
    "anew for every seed. A run is solved if the greedy policy, whose return is computed exactly, gets 95 % of the "
    "best return over the last twentieth of the run. States are told apart by their one-hot observation; the noisy "
    "seas of another experiment take that away.",
    conditions=conditions,
    claims=[
        *(solves(f"{where} acting by E-values solves most runs", TURNS, worlds) for where, worlds in _ON.items()),
        *(
            solves_more(f"{where} more runs end solved by acting by E-values than with {rival}", TURNS, rival, worlds)
            for where, worlds in _ON.items()
            for rival in RIVALS
        ),
        *(
            sooner(
                f"On the deep sea of 20, acting by E-values gets there sooner than {rival}", TURNS, rival, [TUNED.name]
            )
            for rival in RIVALS
        ),
    ],
    draw=draw,
    order=130,
    size=SIZE,
    quick=QUICK,
    tables=tables,
)
