"""One setting of every explorer for all worlds: how much of its performance is fitting."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from dorax.experiments._parallel import World, acrobot, chain, dense_sea, minatar, sea, stochastic_sea
from dorax.experiments._parallel_explorers import LADDER, RIVALS, TURNS, explorers
from dorax.experiments._parallel_study import (
    QUICK,
    SIZE,
    condition,
    draw_worlds,
    quick_conditions,
    solves_more,
    table,
    there,
)
from dorax.experiments.deep_seas import tuned_on_sea
from dorax.experiments.minatar import tuned_on_breakout
from dorax.experiments.parallel_worlds import tuned_on_car
from dorax.study.experiment import Condition, Experiment, Size, Table
from dorax.study.results import Results

NAME = "one_setting"


def worlds() -> list[World]:
    """Create the worlds, on none of which anything was tuned."""
    return [sea(40), dense_sea(20, "strong"), stochastic_sea(20), chain(), acrobot(), minatar("Freeway", 60.0)]


def conditions(size: Size) -> list[Condition]:
    """One condition per explorer and world, at the setting that ranks best on the sea of 20, the car and Breakout."""
    chosen = explorers()
    if not size.is_full:
        return quick_conditions({name: chosen[name] for name in (TURNS, LADDER)}, WORLDS[:2])
    made: list[Condition] = []
    for name, explorer in chosen.items():
        fitted = [tuned_on_sea(name, explorer), tuned_on_car(name, explorer), tuned_on_breakout(name, explorer)]
        made += [condition(name, explorer, world, fitted) for world in worlds()]
    return made


def draw(results: Results, figure: Figure) -> None:
    """Draw the share of the best return that greedy play gets, by step, in every world."""
    draw_worlds(results, figure, explorers(), WORLDS)


def tables(results: Results) -> Sequence[Table]:
    """Create a table for every world."""
    chosen = explorers()
    return [table(results, chosen, world) for world in WORLDS if there(results, list(chosen), world)]


WORLDS = [world.name for world in worlds()]
_SOLVABLE = WORLDS[:-1]  # in Freeway there is no best return to get

EXPERIMENT = Experiment(
    figure="beyond the paper",
    title="One setting of each explorer for all worlds",
    paper="",
    notes="The agents of the deep seas in worlds on which nothing was tuned. Each explorer has one setting for all of "
    "them: the one with the lowest sum of ranks over its tuning runs on the deep sea of 20, the mountain car and "
    "MinAtar Breakout.",
    conditions=conditions,
    claims=[
        solves_more(
            f"With one setting for all worlds, acting by E-values solves more runs of each than {rival}",
            TURNS,
            rival,
            _SOLVABLE,
        )
        for rival in RIVALS
    ],
    draw=draw,
    order=134,
    size=SIZE,
    quick=QUICK,
    tables=tables,
)
