"""Networks that play many games in other worlds: noisy seas, random moves, a chain, a car and a pendulum."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from dorax.experiments._parallel import STRENGTHS, World, acrobot, car, chain, dense_sea, stochastic_sea
from dorax.experiments._parallel_explorers import (
    LADDER,
    LEARNED,
    LEARNED_VISITS,
    RIVALS,
    TURNS,
    VISITS,
    Explorer,
    explorers,
    learned_features,
)
from dorax.experiments._parallel_study import (
    QUICK,
    SIZE,
    condition,
    draw_worlds,
    quick_conditions,
    range_tables,
    solves,
    solves_more,
    table,
    there,
)
from dorax.experiments.deep_seas import tuned_on_sea
from dorax.study.experiment import Condition, Experiment, Fitted, Size, Table
from dorax.study.results import Results

NAME = "parallel_worlds"
CAR = car()


def worlds() -> list[World]:
    """Create the worlds: those whose settings are fitted on the deep sea of 20, the car, and Acrobot."""
    return [dense_sea(20, "weak"), dense_sea(20, "strong"), stochastic_sea(20), chain(), CAR, acrobot()]


def conditions(size: Size) -> list[Condition]:
    """One condition per explorer and world."""
    chosen = explorers()
    if not size.is_full:
        return quick_conditions({name: chosen[name] for name in (TURNS, LADDER)}, WORLDS[:2])
    made: list[Condition] = []
    for world in worlds():
        for name, explorer in chosen.items():
            fitted = [tuned_on_sea(name, explorer)]
            on_car = tuned_on_car(name, explorer)
            if world == CAR:
                made.append(on_car.condition)
            else:
                made.append(condition(name, explorer, world, [on_car] if world == acrobot() else fitted))
    for name, explorer in learned_features().items():
        without = TURNS if name == LEARNED else VISITS
        fitted = [tuned_on_sea(without, chosen[without])]
        made += [condition(name, explorer, dense_sea(20, strength), fitted) for strength in STRENGTHS]
    return made


def tuned_on_car(name: str, explorer: Explorer) -> Fitted:
    """Return the tuning runs of an explorer on the mountain car.

    Args:
        name: name of the explorer.
        explorer: the explorer.
    """
    on_sea = tuned_on_sea(name, explorer)
    return Fitted(NAME, condition(name, explorer, CAR, ties=[on_sea, *on_sea.condition.ties]))


def shown_explorers() -> dict[str, Explorer]:
    """Return all explorers, those of the noisy seas alone included."""
    return {**explorers(), **learned_features()}


def draw(results: Results, figure: Figure) -> None:
    """Draw the share of the best return that greedy play gets, by step, in every world."""
    draw_worlds(results, figure, shown_explorers(), WORLDS)


def tables(results: Results) -> Sequence[Table]:
    """Create a table for every world, and one of the settings that work on the car."""
    chosen = shown_explorers()
    shown = [world for world in WORLDS if there(results, list(chosen), world)]
    return [*(table(results, chosen, world) for world in shown), *range_tables(results, chosen, CAR.name)]


WORLDS = [world.name for world in worlds()]

EXPERIMENT = Experiment(
    figure="beyond the paper",
    title="Noise, random moves, a chain, a car and a pendulum: networks that act by counts, and other explorers",
    paper="",
    notes="The agents and the protocol of the deep seas. The deep sea of 20 is seen through a random linear map beside "
    "16 inputs of noise, with a quarter of the signal's variance and with as much; with random moves and noisy "
    "rewards; the chain of 100 states is that of OPIQ (Rashid et al., 2020). These four use the settings fitted "
    "on the plain sea of 20 and are held out otherwise. The sparse mountain car has episodes of 500 steps and "
    "tuning runs of its own, which choose the settings for the sparse Acrobot, too. Counts are over prototypes, a"
    " dictionary of observations whose threshold sets itself; on the noisy seas also over prototypes of learned "
    "features, with the settings of those without; how these features learn was chosen on recorded transitions of such "
    "seas, so for them the noisy seas are not held out. Where returns are not computed exactly, they are those of the "
    "games that play greedily.",
    conditions=conditions,
    claims=[
        solves("Acting by E-values solves most runs in each of these worlds", TURNS, WORLDS),
        solves_more(
            "Through noise as large as the signal, E-values over learned features solve more runs than over prototypes",
            LEARNED,
            TURNS,
            [dense_sea(20, "strong").name],
        ),
        solves_more(
            "Over learned features, E-values solve more runs of the noisy seas than visits",
            LEARNED,
            LEARNED_VISITS,
            [dense_sea(20, strength).name for strength in STRENGTHS],
        ),
        *(
            solves_more(
                f"In each of these worlds, more runs end solved by acting by E-values than with {rival}",
                TURNS,
                rival,
                WORLDS,
            )
            for rival in RIVALS
        ),
    ],
    draw=draw,
    order=132,
    size=SIZE,
    quick=QUICK,
    tables=tables,
)
