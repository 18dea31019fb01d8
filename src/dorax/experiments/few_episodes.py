"""How few episodes a network that acts by counts needs on deep seas: with fewer games, a replay, or a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from dorax.experiments._parallel import SEA_STEPS, World, sea
from dorax.experiments._parallel_explorers import TABLE, TURNS, Explorer, explorers, table_agent
from dorax.experiments._parallel_study import (
    QUICK,
    SIZE,
    condition,
    draw_worlds,
    name_of,
    quick_conditions,
    solved,
    solves,
    there,
    times_of,
)
from dorax.experiments.deep_seas import tuned_on_sea
from dorax.study import figures
from dorax.study.experiment import Condition, Experiment, Size, Table
from dorax.study.results import Results
from dorax.study.statistics import median, share

NAME = "few_episodes"
EPISODES = 10_000  # which bsuite allows at every size
VARIANTS: dict[str, dict[str, Any]] = {
    "64 games": {},
    "16 games": {"games": 16},
    "16 games, 8 passes": {"games": 16, "epochs": 8},
    "16 games, replay": {"games": 16, "replay": 200_000, "replayed": 3},
    "4 games, replay": {"games": 4, "replay": 200_000, "replayed": 7},
}


def agents() -> dict[str, Explorer]:
    """Create the variants of the agent that acts by E-values, and a table."""
    found = explorers()[TURNS]
    chosen = {
        name: replace(found, agent=replace(found.agent, **changes), line={"color": figures.COLOURS[i]})
        for i, (name, changes) in enumerate(VARIANTS.items())
    }
    return {**chosen, TABLE: table_agent()}


def world(rows: int) -> World:
    """Create a sea with the number of steps that bsuite allows.

    Args:
        rows: number of rows.
    """
    return replace(sea(rows), steps=EPISODES * rows)


SEAS = {rows: sea(rows).name for rows in SEA_STEPS}


def conditions(size: Size) -> list[Condition]:
    """One condition per variant and sea. Networks have the setting that was fitted with 64 games on the sea of 20."""
    chosen = agents()
    if not size.is_full:
        return quick_conditions(
            {name: chosen[name] for name in ("64 games", "4 games, replay")}, list(SEAS.values())[:2]
        )
    tuned = {name: tuned_on_sea(TURNS, explorers()[TURNS]) for name in VARIANTS}
    tuned[TABLE] = tuned_on_sea(TABLE, chosen[TABLE])
    return [condition(name, chosen[name], world(rows), [tuned[name]]) for rows in SEAS for name in chosen]


def draw(results: Results, figure: Figure) -> None:
    """Draw the share of the best return that the greedy policy gets, by step, on every sea."""
    draw_worlds(results, figure, agents(), list(SEAS.values()))


def tables(results: Results) -> Sequence[Table]:
    """Create a table of the episodes until a sea is solved."""
    rows: list[list[str]] = []
    for name in agents():
        row = [name]
        for size, sea_name in SEAS.items():
            if not there(results, [name], sea_name):
                row.append("not run")
                continue
            counts, times = solved(results, name_of(name, sea_name)), times_of(results, name_of(name, sea_name))
            interval, episodes = share(*counts), float(median(times.latest)) / size
            when = f"{episodes:.0f}" if np.isfinite(episodes) else "never"
            row.append(f"{when} ({counts[0]} of {counts[1]}, {interval.low:.2f} to {interval.high:.2f})")
        rows.append(row)
    caption = "Episodes until solved (median), and runs that end solved with the interval of their share"
    return [Table(caption, ["agent", *SEAS.values()], rows)]


EXPERIMENT = Experiment(
    figure="beyond the paper",
    title="How few episodes does a network that acts by counts need?",
    paper="",
    notes="Deep seas within the 10 000 episodes that bsuite allows at every size; actions are mapped anew for every "
    "seed. The network is that of the deep seas, acting by E-values, at the setting fitted there with 64 games; "
    "with fewer games, with eight passes over each rollout instead of two and with a replay of 200 000 steps it has the"
    " same setting, so these are not the fewest episodes that are possible. The table is the TabularAgent of the deep "
    "seas, which is told the state. A run "
    "is solved if the greedy policy, whose return is computed exactly, gets 95 % of the best return over the last"
    " twentieth of the run.",
    conditions=conditions,
    claims=[
        solves(f"Within {EPISODES} episodes, most runs of each sea are solved by {name}", name, list(SEAS.values()))
        for name in (*VARIANTS, TABLE)
    ],
    draw=draw,
    order=135,
    size=SIZE,
    quick=QUICK,
    tables=tables,
)
