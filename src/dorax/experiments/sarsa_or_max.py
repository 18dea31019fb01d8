"""Section 2.2: why E is learned by SARSA, and what E-values cost."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dorax import mdps
from dorax.agents.tabular import TabularAgent
from dorax.core import LLL, Counter, EValues, Sample, Softmax, Visits
from dorax.engine.training import Training
from dorax.study import figures
from dorax.study.claims import Claim, Estimate, by_axes, faster
from dorax.study.experiment import Answer, Condition, Experiment, Finding, Progress, Setting, Size
from dorax.study.results import Results
from dorax.study.statistics import Times, exactly, ratio_of_medians

SARSA, MAX, COST = "E by SARSA", "E by max", "cost of a step"
REPEATED: dict[Literal["sarsa", "max"], str] = {"sarsa": "repeated path, SARSA", "max": "repeated path, max"}
TEMPERATURES = (0.3, 1.0, 3.0, 5.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 10_000.0)


def repeat_one_path(
    settings: Sequence[Setting],
    seeds: Sequence[int],
    progress: Progress | None,
    *,
    successor_rule: Literal["sarsa", "max"],
    times: int,
) -> xr.Dataset:
    """Compute the count at the root of a tree with two leaves when the same leaf is taken every time.

    Args:
        settings: not used.
        seeds: not used; nothing is random.
        progress: progress callback.
        successor_rule: successor rule of E.
        times: number of repetitions.

    Returns:
        The count after each repetition.
    """
    counter = EValues(0.9, successor_rule=successor_rule)
    root, hub = np.float64(0), np.zeros(2)
    counts: list[float] = []
    for _ in range(times):
        root = counter.next(root, counter.successor(hub, 0), 0.1)
        hub[0] = counter.next(hub[0], np.inf, 0.1)
        counts.append(float(root))
    if progress is not None:
        progress(1.0, times)
    return xr.Dataset(
        {"count": (("setting", "seed", "repetition"), np.asarray(counts)[None, None])},
        coords={"setting": [""], "seed": [0]},
    )


@dataclass(frozen=True)
class Stopwatch:
    """Time per step with E-values and with visits, measured alternately.

    Both agents sample their actions independently of the counts, so they take the same steps.

    Args:
        agent: the agent with E-values.
        plain: the agent with visits.
        steps: steps of each lane per turn.
        turns: number of turns.
    """

    agent: TabularAgent
    plain: TabularAgent
    steps: int
    turns: int

    def __call__(self, settings: Sequence[Setting], seeds: Sequence[int], progress: Progress | None) -> xr.Dataset:
        """Measure both agents; see `Condition.run`."""
        seconds = np.zeros((2, self.turns))
        for turn in range(-1, self.turns):  # turn -1 compiles and is not timed
            for row, agent in enumerate((self.agent, self.plain)):
                training = Training(agent, mdps.bridge(15), episodes=self.steps, steps=self.steps)
                began = time.perf_counter()
                steps = float(training([{}], range(50)).total_steps.sum())
                if turn >= 0:
                    seconds[row, turn] = (time.perf_counter() - began) / steps
            if progress is not None:
                progress((turn + 2) / (self.turns + 1), 0)
        dims = ("setting", "seed")
        columns = {"with_e_values": (dims, seconds[:1]), "with_visits": (dims, seconds[1:])}
        return xr.Dataset(columns, coords={"setting": [""], "seed": range(self.turns)})


FASTER = "E by SARSA converges before E by max"


def agent(counter: Counter) -> TabularAgent:
    """Create the agent that is compared.

    Args:
        counter: its counter.

    Returns:
        The agent.
    """
    return TabularAgent(rule=LLL(Softmax(1.0)), counter=counter, learning_rate=0.5, discount=0.9)


def drawing(counter: Counter) -> TabularAgent:
    """Create an agent that samples actions, for timing.

    Args:
        counter: its counter.

    Returns:
        The agent.
    """
    return TabularAgent(rule=Sample(Softmax(3.0)), counter=counter, learning_rate=0.5, discount=0.9)


def conditions(size: Size) -> Sequence[Condition]:
    """E by SARSA and by max on the bridge, the repeated path, and the timing."""

    def training(counter: Counter) -> Training:
        steps = size.of(120_000)
        return Training(agent(counter), mdps.bridge(15), size.of(12_000), steps=steps, lanes=128, states=64)

    grid = {"temperature": TEMPERATURES}
    return [
        Condition(SARSA, training(EValues(0.9)), grid),
        Condition(MAX, training(EValues(0.9, successor_rule="max")), grid),
        *(
            Condition(name, partial(repeat_one_path, successor_rule=rule, times=size.of(200, least=100)))
            for rule, name in REPEATED.items()
        ),
        Condition(COST, Stopwatch(drawing(EValues(0.9)), drawing(Visits()), size.of(20_000, least=1000), turns=9)),
    ]


def growth(results: Results, name: str) -> Estimate:
    """Estimate the growth of the count per repetition over the second half of the repetitions.

    Args:
        results: results of the experiment.
        name: name of the condition.

    Returns:
        The estimate.
    """
    count = results[name].data()["count"].values[0]
    half = len(count) // 2
    slope = float((count[-1] - count[half]) / (len(count) - 1 - half))
    return Estimate(f"growth of the count a repetition, {name}, second half", exactly(slope), 1)


def cost(results: Results) -> Estimate:
    """Estimate the time of a step with E-values relative to one with visits.

    Args:
        results: results of the experiment.

    Returns:
        The estimate.
    """
    data = results[COST].data()
    ratio = ratio_of_medians(
        *(Times(x, np.ones(len(x), bool)) for x in (data.with_e_values.values, data.with_visits.values))
    )
    words = "time of a step with E-values over one with visits, same steps (medians over timing turns)"
    return Estimate(words, ratio, data.seed.size)


def draw(results: Results, figure: Figure) -> None:
    """Draw the error of Q, and the count of a repeated path."""
    figure.set_size_inches(11, 3.8)
    panels = figure.subplots(1, 3)
    styles = {SARSA: {"color": figures.COLOURS[0]}, MAX: {"color": figures.COLOURS[1]}}
    figures.draw_q_error_by_both_axes(panels[:2], results, [SARSA, MAX], styles)
    for rule, name in zip((SARSA, MAX), REPEATED.values(), strict=True):
        panels[2].plot(results[name].data()["count"].values[0], label=rule, **styles[rule])
    panels[2].set_xlabel("repetitions of one path")
    panels[2].set_ylabel("generalized count of its first step")
    figures.tidy(panels[2])
    figures.legend_below(figure, panels[0], columns=2)


EXPERIMENT = Experiment(
    figure="section 2.2",
    title="E-values by SARSA or by max, and what they cost",
    paper="E is learned from the action that is taken next, not from the least known one. Otherwise the count of a "
    "repeated path would stop growing while it passes an untried action. The extra work is that of a second value "
    "update.",
    notes="Bridge of 15 cells, LLL softmax, γ = γ_E = 0.9, α = 0.5. Right: the count of a path that passes an action "
    "which is never taken. With max it stays bounded. The cost was measured on this machine, alternating between both "
    "agents; one more value update would at most double the time of a step.",
    conditions=conditions,
    claims=[
        by_axes(lambda axis: faster(SARSA, MAX, axis), FASTER),
        Claim(
            "by SARSA a repeated path becomes known",
            lambda r: growth(r, REPEATED["sarsa"]),
            above=0.5,
            is_mathematics=True,
        ),
        Claim(
            "by max a repeated path does not become known",
            lambda r: growth(r, REPEATED["max"]),
            below=0.01,
            is_mathematics=True,
        ),
        Claim("learning E-values beside Q takes less than twice the time of a step without", cost, below=2.0),
    ],
    draw=draw,
    order=15,
    finding=Finding(
        "Must E be learned by SARSA rather than by max?",
        [Answer(FASTER, "{} times as fast, by step", case="by step")],
    ),
)
