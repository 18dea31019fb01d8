"""What in acting by counts solves a deep sea: E-values, the sharp choice, turns, greedy games, or many games at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from matplotlib.figure import Figure

from dorax.experiments import deep_seas
from dorax.experiments._parallel import sea
from dorax.experiments._parallel_explorers import DRAWS, TURNS, VISITS, Explorer, explorers
from dorax.experiments._parallel_study import (
    QUICK,
    SIZE,
    condition,
    draw_worlds,
    on_small_seas,
    quick_conditions,
    solves_more,
    table,
    there,
)
from dorax.study.claims import Claim
from dorax.study.experiment import Condition, Experiment, Fitted, Size, Table
from dorax.study.results import Results

NAME = "deep_sea_parts"
WORLDS = {rows: sea(rows) for rows in (20, 40)}
VISIT_DRAWS = "visits, independent draws"
SINGLE = "E-values, a single game"
REPLAYED = "E-values, no greedy games, replay"  # which differs from a single game in nothing but the games
REPLAY = 100_000  # of the single game, whose rollouts have little to learn from
UPDATES = 4  # replayed steps for each new one


def without_greedy(name: str) -> str:
    """Return the name of an explorer without games that play greedily.

    Args:
        name: name of the explorer.
    """
    return f"{name}, no greedy games"


def parts() -> dict[str, Explorer]:
    """Create the agents: every combination of the parts, and a single game."""
    found = explorers()
    turns, draws, visits = found[TURNS], found[DRAWS], found[VISITS]
    visit_draws = replace(draws, agent=replace(draws.agent, counter=visits.agent.counter))
    dashed, faint = {"linestyle": "--"}, {"alpha": 0.5}
    chosen = {
        TURNS: turns,
        DRAWS: draws,
        VISITS: visits,
        VISIT_DRAWS: replace(visit_draws, line={**draws.line, **dashed}),
    }
    for name, explorer in list(chosen.items()):
        agent = replace(explorer.agent, greedy_share=0.0)
        chosen[without_greedy(name)] = replace(explorer, agent=agent, line={**explorer.line, **faint})
    many = replace(turns.agent, greedy_share=0.0, replay=REPLAY, replayed=UPDATES)
    chosen[REPLAYED] = replace(turns, agent=many, line={"color": "black"})
    chosen[SINGLE] = replace(turns, agent=replace(many, games=1), line={"color": "black", "linestyle": ":"})
    return chosen


def conditions(size: Size) -> list[Condition]:
    """One condition per agent and sea."""
    chosen = parts()
    if not size.is_full:
        return quick_conditions(
            {name: chosen[name] for name in (TURNS, without_greedy(TURNS))}, [WORLDS[20].name, WORLDS[40].name]
        )
    made: list[Condition] = []
    for rows, world in WORLDS.items():
        for name, explorer in chosen.items():
            tuned, priority = _tuned(name, explorer, len(made)), len(made)
            is_own = rows == 20 and tuned.experiment == NAME
            made.append(tuned.condition if is_own else condition(name, explorer, world, [tuned], priority=priority))
    return made


def _tuned(name: str, explorer: Explorer, priority: int) -> Fitted:
    """Return the tuning runs of an agent on the sea of 20: of agents of the deep seas, those that were made there."""
    if name in explorers():
        return deep_seas.tuned_on_sea(name, explorer)
    ties = on_small_seas(NAME, name, explorer)
    return Fitted(NAME, condition(name, explorer, WORLDS[20], ties=ties, priority=priority))


def draw(results: Results, figure: Figure) -> None:
    """Draw the share of the best return that the greedy policy gets, by step, on both seas."""
    draw_worlds(results, figure, parts(), _NAMES)


def tables(results: Results) -> Sequence[Table]:
    """Create a table for each sea."""
    chosen = parts()
    return [table(results, chosen, world) for world in _NAMES if there(results, list(chosen), world)]


_NAMES = [world.name for world in WORLDS.values()]
_more = partial(solves_more, worlds=_NAMES)

CLAIMS: list[Claim] = [
    _more("In turns, E-values solve more runs than visits", TURNS, VISITS),
    _more("With independent sharp draws, E-values solve more runs than visits", DRAWS, VISIT_DRAWS),
    _more("On E-values, games that take turns solve more runs than independent sharp draws", TURNS, DRAWS),
    _more("On E-values, a quarter of greedy games solves more runs than none", TURNS, without_greedy(TURNS)),
    _more(
        "Without greedy games, E-values in turns solve more runs than visits",
        without_greedy(TURNS),
        without_greedy(VISITS),
    ),
    _more(
        "Without greedy games, E-values with independent draws solve more runs than visits",
        without_greedy(DRAWS),
        without_greedy(VISIT_DRAWS),
    ),
    _more("With the same replay and no greedy games, 64 games on E-values solve more runs than one", REPLAYED, SINGLE),
]

EXPERIMENT = Experiment(
    figure="beyond the paper",
    title="Which part of acting by counts solves a deep sea?",
    paper="",
    notes="The agents of the deep seas, taken apart: LLL in turns or independent draws with probability proportional to"
    " (f / C)^k, with k fitted; on E-values (γ_E = 0.99) or on visits; with a quarter of the games playing "
    f"greedily or none; and a single game, which learns from a replay of {REPLAY} steps, {UPDATES} steps for each "
    "new one, beside 64 games that do the same. Each has 24 settings, fitted on five tuning seeds of the sea of 20, or "
    "of 10 or 5 where none gets the treasure; the sea of 40 is held out. A "
    "run is solved if the greedy policy, whose return is computed exactly, gets 95 % of the best return over the "
    "last twentieth of the run.",
    conditions=conditions,
    claims=CLAIMS,
    draw=draw,
    order=131,
    size=SIZE,
    quick=QUICK,
    tables=tables,
)
