"""MinAtar, where exploration is easy: does acting by counts do harm?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from dorax.experiments._parallel import World, latest, minatar
from dorax.experiments._parallel_explorers import LADDER, TURNS, Explorer, explorers
from dorax.experiments._parallel_study import (
    QUICK,
    SIZE,
    condition,
    draw_worlds,
    name_of,
    quick_conditions,
    table,
    there,
)
from dorax.study.claims import Claim, Estimate
from dorax.study.experiment import Condition, Experiment, Fitted, Size, Table
from dorax.study.results import Results
from dorax.study.statistics import ratio_of_means

NAME = "minatar"
LEAST = 0.9  # of the return without directed exploration


def worlds() -> list[World]:
    """Create the two games, with a high return for each, which curves are relative to."""
    return [minatar("Breakout", 50.0), minatar("Freeway", 60.0)]


def conditions(size: Size) -> list[Condition]:
    """One condition per explorer and game. Settings are fitted on Breakout; Freeway is held out."""
    chosen = explorers()
    if not size.is_full:
        return quick_conditions({name: chosen[name] for name in (TURNS, LADDER)}, WORLDS)
    breakout, freeway = worlds()
    tuned = [condition(name, explorer, breakout) for name, explorer in chosen.items()]
    held_out = [condition(name, each, freeway, [tuned_on_breakout(name, each)]) for name, each in chosen.items()]
    return [*tuned, *held_out]


def tuned_on_breakout(name: str, explorer: Explorer) -> Fitted:
    """Return the tuning runs of an explorer on Breakout.

    Args:
        name: name of the explorer.
        explorer: the explorer.
    """
    return Fitted(NAME, condition(name, explorer, worlds()[0]))


def last_quarter(results: Results, name: str) -> np.ndarray:
    """Compute the mean return of greedy games over the last quarter of a run.

    Args:
        results: results of the experiment.
        name: name of a condition.

    Returns:
        One value per seed.
    """
    curve = latest(results[name].data("step").greedy_return.transpose("seed", "record")).values
    return np.nan_to_num(curve[:, -max(1, curve.shape[1] // 4) :]).mean(axis=1)


def does_no_harm(game: str) -> Claim:
    """Claim that acting by E-values gets at least nine tenths of the return of ε-greedy.

    Args:
        game: name of the world.
    """

    def estimate(results: Results) -> Estimate:
        ours, theirs = (last_quarter(results, name_of(name, game)) for name in (TURNS, LADDER))
        words = f"mean return of greedy games in the last quarter, {TURNS} over {LADDER}"
        return Estimate(words, ratio_of_means(ours, theirs), len(ours))

    return Claim(f"Acting by E-values does no harm on {game}", estimate, above=LEAST)


def draw(results: Results, figure: Figure) -> None:
    """Draw the returns of greedy games by step."""
    draw_worlds(results, figure, explorers(), WORLDS)
    figure.axes[0].set_ylabel("return, share of a high one")


def tables(results: Results) -> Sequence[Table]:
    """Create a table of returns, and one of times and settings for each game."""
    chosen = explorers()
    shown = [world for world in WORLDS if there(results, list(chosen), world)]
    rows = [
        [name, *(f"{last_quarter(results, name_of(name, world)).mean():.1f}" for world in shown)]
        for name in there(results, list(chosen), shown[0])
    ]
    returns = Table("Mean return of greedy games in the last quarter of a run", ["explorer", *shown], rows)
    return [returns, *(table(results, chosen, world) for world in shown)]


WORLDS = [world.name for world in worlds()]

EXPERIMENT = Experiment(
    figure="beyond the paper",
    title="MinAtar: does directed exploration do harm where it is not needed?",
    paper="",
    notes="The agents and the protocol of the deep seas in gymnax's MinAtar Breakout and Freeway, without sticky "
    "actions, with a layer of 16 filters before the hidden layers. Settings are fitted on Breakout. What is "
    "compared is the mean return of the games that play greedily.",
    conditions=conditions,
    claims=[does_no_harm(world) for world in WORLDS],
    draw=draw,
    order=133,
    size=SIZE,
    quick=QUICK,
    tables=tables,
)
