"""A deep sea of 20 rows with a network, in minutes on two cores: acting by E-values, by visits, and ε-greedy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from matplotlib.figure import Figure

from dorax.agents.explorers.presets import preset
from dorax.agents.parallel import ParallelAgent
from dorax.core import Spread
from dorax.experiments._parallel import LOST, ParallelRun, sea
from dorax.experiments._parallel_explorers import LADDER, TURNS, VISITS, Explorer
from dorax.experiments._parallel_study import (
    QUICK,
    draw_worlds,
    name_of,
    quick_conditions,
    solves,
    solves_more,
    table,
)
from dorax.study import figures
from dorax.study.experiment import Condition, Experiment, Size, Table
from dorax.study.results import Results

# The sea is not padded to the size of larger ones: on a CPU the first layer of the network would take most of the time.
SEA = replace(sea(20), steps=200_000)


def explorers() -> dict[str, Explorer]:
    """Create the agents, with the defaults of their explorers."""
    return {
        TURNS: _explorer(0, "-", "e-values", temperature=0.05, e_discount=0.99),
        VISITS: _explorer(1, "--", "visits", temperature=0.05),
        LADDER: _explorer(7, ":", "epsilon-greedy", epsilon=Spread(0.01, 0.4)),
    }


def _explorer(colour: int, line: str, word: str, **numbers: Any) -> Explorer:
    style = {"color": figures.COLOURS[colour], "linestyle": line}
    return Explorer(ParallelAgent(**preset(word, **numbers)), {}, style, learner={})


def conditions(size: Size) -> list[Condition]:
    """One condition per explorer."""
    chosen = explorers()
    if not size.is_full:
        return quick_conditions(chosen, [SEA.name])
    return [
        Condition(name_of(name, SEA.name), ParallelRun(each.agent, SEA), measure=LOST) for name, each in chosen.items()
    ]


def draw(results: Results, figure: Figure) -> None:
    """Draw the share of the best return that greedy play gets, by step."""
    draw_worlds(results, figure, explorers(), [SEA.name])


def tables(results: Results) -> Sequence[Table]:
    """Create a table of solved runs and times."""
    return [table(results, explorers(), SEA.name)]


EXPERIMENT = Experiment(
    figure="beyond the paper",
    title="A deep sea of 20 rows with a network, on two cores",
    paper="",
    notes="ParallelAgent with its defaults: 64 games, a network of 2 × 256 units, γ = 0.99; a quarter of the games "
    "plays greedily. The explorers, too, have the defaults of their presets: LLL softmax with temperature 0.05 on "
    "E-values (γ_E = 0.99) or on visits, counted in a table, with games in the same state taking turns; and "
    "ε-greedy with ε from 0.01 to 0.4 over the games. Nothing was fitted here, so this shows the agent at work on "
    "any machine, and is no fair comparison with rivals at their best: that is the recorded study deep_seas, in "
    "which every explorer is fitted. The length of a run was chosen so that it is enough for E-values, on other seeds. "
    "Actions are mapped anew for every seed. A run is solved if the greedy "
    "policy, whose return is computed exactly, gets 95 % of the best return over the last twentieth of the run.",
    conditions=conditions,
    claims=[
        solves("With a network, acting by E-values solves most runs of the deep sea of 20", TURNS, [SEA.name]),
        *(
            solves_more(
                f"With a network on the deep sea of 20, more runs end solved by acting by E-values than with {rival}",
                TURNS,
                rival,
                [SEA.name],
            )
            for rival in (VISITS, LADDER)
        ),
    ],
    draw=draw,
    order=128,
    size=Size(seeds=12),
    quick=QUICK,
    tables=tables,
)
