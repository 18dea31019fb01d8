"""What the studies of agents with many games share: conditions, claims, curves and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dorax import mdps
from dorax.agents.parallel import ParallelAgent
from dorax.agents.tabular import TabularAgent
from dorax.engine.training import train
from dorax.experiments._parallel import LOST, ParallelRun, World, is_solved, lost, sea
from dorax.experiments._parallel_explorers import Explorer
from dorax.study import figures
from dorax.study.claims import Claim, Estimate, Estimator
from dorax.study.experiment import Condition, Fitted, RecordedTogether, Setting, Size, Table
from dorax.study.measures import times_to_threshold
from dorax.study.results import Results
from dorax.study.statistics import Times, difference_of_shares, mean, median, ratio_of_medians, share

SIZE = Size(seeds=20, tuning_seeds=5)
QUICK = Size(seeds=2, tuning_seeds=2, fraction=0.005)
QUICK_SEA, QUICK_STEPS = 4, 1500
SMALL_SEAS = (10, 5)  # rows, where tuning runs on larger seas leave a tie
NEARLY_ALL = 0.95  # of the runs: 19 of 20
WORKS = 0.8  # share of tuning runs that have to reach the threshold where a setting is said to work


def name_of(explorer: str, world: str) -> str:
    """Return the name of a condition.

    Args:
        explorer: name of the explorer.
        world: name of the world.
    """
    return f"{explorer}, {world}"


def condition(
    name: str,
    explorer: Explorer,
    world: World,
    fitted: Sequence[Fitted] = (),
    ties: Sequence[Fitted] = (),
    priority: int = 0,
) -> Condition:
    """Make the condition of one explorer in one world.

    Args:
        name: name of the explorer.
        explorer: the explorer.
        world: the world.
        fitted: tuning runs of other worlds that choose its setting; by default it has its own.
        ties: tuning runs that decide where these are all equal.
        priority: conditions with lower numbers run first, tuning included.
    """
    needs_gpu = not isinstance(explorer.agent, TabularAgent)
    return Condition(
        name_of(name, world.name),
        ParallelRun(explorer.agent, world),
        {} if fitted else explorer.grid,
        measure=LOST,
        recorded=RecordedTogether(partial(fingerprint, explorer.agent), priority=priority, needs_gpu=needs_gpu),
        fitted=fitted,
        ties=ties,
    )


def on_small_seas(experiment: str, name: str, explorer: Explorer) -> list[Fitted]:
    """Return the tuning runs on seas that more explorers can solve, the larger one first.

    Where none of an explorer's tuning runs on a larger sea is solved, they would leave its setting to chance.

    Args:
        experiment: name of the experiment that has the runs.
        name: name of the explorer.
        explorer: the explorer.
    """
    return [Fitted(experiment, condition(name, explorer, sea(rows))) for rows in SMALL_SEAS]


def quick_conditions(chosen: dict[str, Explorer], worlds: Sequence[str]) -> list[Condition]:
    """Make conditions of a quick run: small agents on a small sea in place of every world, and nothing to fit.

    Args:
        chosen: the explorers by name.
        worlds: names of the worlds.
    """
    made: list[Condition] = []
    for name, explorer in chosen.items():
        for world in worlds:
            run = ParallelRun(small(explorer.agent), replace(sea(QUICK_SEA), name=world, steps=QUICK_STEPS))
            made.append(Condition(name_of(name, world), run, measure=LOST))
    return made


def small(agent: ParallelAgent | TabularAgent) -> ParallelAgent | TabularAgent:
    """Return an agent that differs in its size alone, for short runs.

    Args:
        agent: the agent.
    """
    if isinstance(agent, TabularAgent):
        return agent
    games = min(agent.games, 8)
    heads = None if agent.heads is None else games - round(agent.greedy_share * games)
    return replace(agent, games=games, heads=heads, width=16)


def fingerprint(agent: ParallelAgent | TabularAgent, setting: Setting) -> dict[str, Any]:
    """Run a small copy of an agent for a short time on the CPU.

    Args:
        agent: the agent.
        setting: its fitted numbers.

    Returns:
        What it has learned about some states.
    """
    result = train(small(agent), mdps.deep_sea(5, seed=1), steps=2000, seeds=[1], settings=[setting])
    learner = result.learner(1)
    return {"values": [float(value) for state in (0, 6, 12, 24) for value in learner.q(state)]}


def times_of(results: Results, name: str) -> Times:
    """Return the steps until greedy play first gets 95 % of the best return.

    Args:
        results: results of an experiment.
        name: name of a condition.
    """
    return times_to_threshold(results[name].data("step"), "step", LOST)


def solved(results: Results, name: str) -> tuple[int, int]:
    """Return the number of runs that end with greedy play near the best return, and the number of runs.

    Args:
        results: results of an experiment.
        name: name of a condition.
    """
    flags = is_solved(results[name].data("step"))
    return int(flags.sum()), len(flags)


def solves(text: str, explorer: str, worlds: Sequence[str]) -> Claim:
    """Claim that most runs of an explorer end with greedy play near the best return, in each of some worlds.

    Args:
        text: the claim in words.
        explorer: name of the explorer.
        worlds: names of the worlds, which are the cases.
    """

    def estimate(world: str, results: Results) -> Estimate:
        counts = solved(results, name_of(explorer, world))
        words = f"share of runs of {explorer} that end solved ({counts[0]} of {counts[1]})"
        return Estimate(words, share(*counts), counts[1])

    return Claim(text, _by_world(estimate, worlds), above=0.5)


def solves_more(text: str, often: str, seldom: str, worlds: Sequence[str]) -> Claim:
    """Claim that more runs of one explorer end solved than of another, in each of some worlds.

    Args:
        text: the claim in words.
        often: name of the better explorer.
        seldom: name of the worse explorer.
        worlds: names of the worlds, which are the cases.
    """

    def estimate(world: str, results: Results) -> Estimate:
        counts = [solved(results, name_of(name, world)) for name in (often, seldom)]
        pairs = zip((often, seldom), counts, strict=True)
        words = ", ".join(f"{n} of {trials} runs of {name}" for name, (n, trials) in pairs)
        return Estimate(
            f"difference of the shares that end solved: {words}", difference_of_shares(*counts), counts[0][1]
        )

    return Claim(text, _by_world(estimate, worlds), above=0.0)


def sooner(text: str, fast: str, slow: str, worlds: Sequence[str]) -> Claim:
    """Claim that one explorer gets to 95 % of the best return before another, in each of some worlds.

    Args:
        text: the claim in words.
        fast: name of the faster explorer.
        slow: name of the slower explorer.
        worlds: names of the worlds, which are the cases.
    """

    def estimate(world: str, results: Results) -> Estimate:
        late, soon = (times_of(results, name_of(name, world)) for name in (slow, fast))
        words = f"steps until {LOST.name}, {slow} over {fast} (medians)"
        return Estimate(words, ratio_of_medians(late, soon), len(soon.time))

    return Claim(text, _by_world(estimate, worlds), above=1.0)


def _by_world(estimate: Any, worlds: Sequence[str]) -> dict[str, Estimator]:
    return {world: partial(estimate, world) for world in worlds}


def there(results: Results, names: Sequence[str], world: str) -> list[str]:
    """Return which explorers have runs in a world.

    Args:
        results: results of an experiment.
        names: names of the explorers.
        world: name of the world.
    """
    return [name for name in names if name_of(name, world) in results.conditions]


def draw_worlds(results: Results, figure: Figure, chosen: dict[str, Explorer], worlds: Sequence[str]) -> None:
    """Draw a panel for every world: the share of the best return that greedy play gets, by step.

    Args:
        results: results of an experiment.
        figure: the figure.
        chosen: the explorers by name.
        worlds: names of the worlds.
    """
    shown = [world for world in worlds if there(results, list(chosen), world)]
    columns = min(3, len(shown))
    figure.set_size_inches(4 * columns, 3.4 * -(-len(shown) // columns) + 0.6)
    panels = figure.subplots(-(-len(shown) // columns), columns, squeeze=False, sharey=True)
    for panel, world in zip(panels.flat, shown, strict=False):
        draw_curves(results, panel, chosen, world)
    for panel in panels.flat[len(shown) :]:
        panel.set_axis_off()
    for row in panels:
        row[0].set_ylabel("share of the best return")
    figures.legend_below(figure, panels[0][0], columns=5)


def draw_curves(results: Results, panel: Axes, chosen: dict[str, Explorer], world: str) -> None:
    """Draw the share of the best return that greedy play gets in one world.

    Args:
        results: results of an experiment.
        panel: where to draw.
        chosen: the explorers by name.
        world: name of the world.
    """
    for name in there(results, list(chosen), world):
        data = results[name_of(name, world)].data("step")
        reached = 1 - lost(data).values.T
        steps = data.record_step.transpose("seed", "record").values[0]
        figures.draw_band(panel, steps, reached, figures.mean_over_seeds, label=name, **chosen[name].line)
    panel.set(title="", xlabel="steps of all games", ylim=(-0.03, 1.03))
    panel.set_title(world, loc="left", fontsize=10)
    figures.tidy(panel)


def table(results: Results, chosen: dict[str, Explorer], world: str) -> Table:
    """Make the table of a world: solved runs, times and fitted settings of every explorer.

    Args:
        results: results of an experiment.
        chosen: the explorers by name.
        world: name of the world.
    """
    rows: list[list[str]] = []
    for name in there(results, list(chosen), world):
        result = results[name_of(name, world)]
        counts, times = solved(results, result.name), times_of(results, result.name)
        interval, middle = share(*counts), float(median(np.where(times.is_reached, times.time, np.inf)))
        lost_on_average = mean(lost(result.data("step")).values.mean(axis=-1))
        rows.append(
            [
                name,
                f"{counts[0]} of {counts[1]} [{interval.low:.2f}, {interval.high:.2f}]",
                "yes" if counts[0] >= NEARLY_ALL * counts[1] else "no",
                f"{middle:.3g}" if np.isfinite(middle) else "never",
                f"{lost_on_average.value:.2f} [{lost_on_average.low:.2f}, {lost_on_average.high:.2f}]",
                f"{result.data('step').attrs['seconds']:.0f}",
                ", ".join(f"{key} {value:g}" for key, value in _chosen(result.choices).items()) or "not fitted",
                chosen[name].told or "–",
            ]
        )
    header = [
        "explorer",
        "solved at the end",
        "at least 19 of 20",
        "steps until solved (median)",
        "lost over training",
        "seconds for all runs, compilation included",
    ]
    return Table(world, [*header, "settings", "is told"], rows)


def range_tables(results: Results, chosen: dict[str, Explorer], world: str) -> list[Table]:
    """Make a table of how wide the range of an explorer's own numbers is that works, in its tuning runs.

    A setting works in a run in which greedy play gets 95 % of the best return at some time.

    Args:
        results: results of the experiment that was tuned in this world.
        chosen: the explorers by name.
        world: name of the world.

    Returns:
        The table, or none if nothing was tuned there.
    """
    rows: list[list[str]] = []
    for name in there(results, list(chosen), world):
        choices = results[name_of(name, world)].choices
        if not choices:
            continue
        scores, own = choices["step"].scores, chosen[name].own
        working = [setting for setting, _, reached, _ in scores if reached >= WORKS]
        for number, values in own.items():
            found = sorted({setting[number] for setting in working})
            rows.append(
                [
                    name,
                    number,
                    f"{min(values):g} to {max(values):g}",
                    ", ".join(f"{value:g}" for value in found) or "none",
                    f"{len(working)} of {len(scores)}",
                ]
            )
    header = ["explorer", "number", "tried", f"values that work in {WORKS:.0%} of tuning runs", "settings that do"]
    return [Table(f"Settings that work: {world}", header, rows)] if rows else []


def _chosen(choices: Any) -> Setting:
    return choices["step"].setting if choices else {}
