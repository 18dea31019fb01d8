"""Finding is not learning: which explorers, with a replay and without, keep the way through a locked door."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from dorax import mdps
from dorax.experiments._parallel import World, first_found
from dorax.experiments._parallel_explorers import LADDER, RND_BONUS, TURNS, VISITS, Explorer, explorers
from dorax.experiments._parallel_study import (
    QUICK,
    SIZE,
    condition,
    draw_worlds,
    name_of,
    quick_conditions,
    solved,
    solves,
    solves_more,
    table,
    there,
)
from dorax.mdps import MDP
from dorax.study.experiment import Condition, Experiment, Size, Table
from dorax.study.results import Results
from dorax.study.statistics import median, share

NAME = "key_and_door"
ROWS = 9
REPLAY = 100_000
COMPARED = (TURNS, VISITS, RND_BONUS, LADDER)


def _rooms(seed: int) -> MDP:
    return mdps.key_and_door(ROWS, seed)


WORLD = World(f"key and door, {ROWS} rows", _rooms, 300_000, is_exact=True)


def with_replay(name: str) -> str:
    """Return the name of an explorer whose learner has a replay.

    Args:
        name: name of the explorer.
    """
    return f"{name}, replay"


def agents() -> dict[str, Explorer]:
    """Create the explorers, each with a replay and without."""
    found = explorers()
    chosen = {name: found[name] for name in COMPARED}
    for name in COMPARED:
        explorer = replace(found[name], agent=replace(found[name].agent, replay=REPLAY))
        chosen[with_replay(name)] = replace(explorer, line={**explorer.line, "alpha": 0.5})
    return chosen


def conditions(size: Size) -> list[Condition]:
    """One condition per agent."""
    chosen = agents()
    if not size.is_full:
        return quick_conditions({name: chosen[name] for name in (TURNS, with_replay(TURNS))}, [WORLD.name])
    return [condition(name, explorer, WORLD) for name, explorer in chosen.items()]


def draw(results: Results, figure: Figure) -> None:
    """Draw the share of the best return that the greedy policy gets, by step."""
    draw_worlds(results, figure, agents(), [WORLD.name])


def tables(results: Results) -> Sequence[Table]:
    """Create a table of the runs that find the goal and those that keep it, and one of times and settings."""
    rows: list[list[str]] = []
    for name in there(results, list(agents()), WORLD.name):
        result = results[name_of(name, WORLD.name)]
        found, counts = first_found(result.data("step")), solved(results, result.name)
        is_found = np.isfinite(found)
        interval, middle = share(*counts), float(median(found))
        rows.append(
            [
                name,
                f"{int(is_found.sum())} of {len(found)}",
                f"{middle:.3g}" if np.isfinite(middle) else "never",
                f"{counts[0]} of {counts[1]} [{interval.low:.2f}, {interval.high:.2f}]",
            ]
        )
    header = ["explorer", "runs in which a game reaches the goal", "steps until then (median)", "solved at the end"]
    return [Table("Found and kept", header, rows), table(results, agents(), WORLD.name)]


EXPERIMENT = Experiment(
    figure="beyond the paper",
    title="Finding is not learning: a key, a door, and what keeps the way",
    paper="",
    notes=f"Two rooms of {ROWS} rows with a locked door between them, in other places for every seed: the key has to "
    "be fetched first, and an episode is cut off after 198 steps. The agents of the deep seas, without a replay and "
    f"with one of {REPLAY} steps, from which as many steps are learned again as are new. Each has 24 settings, fitted "
    "here on five tuning seeds. That a game reaches the goal is one thing, that the greedy policy does at the end of "
    "the run another: a run is solved if it gets 95 % of the best return over the last twentieth of the run.",
    conditions=conditions,
    claims=[
        *(solves(f"Most runs end solved by {name}", name, [WORLD.name]) for name in COMPARED),
        *(
            solves_more(
                f"More runs end solved by {name} with a replay than without", with_replay(name), name, [WORLD.name]
            )
            for name in COMPARED
        ),
    ],
    draw=draw,
    order=136,
    size=SIZE,
    quick=QUICK,
    tables=tables,
)
