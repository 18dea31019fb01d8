"""The table-based agents that the paper compares: their grids, claims and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dorax.agents.tabular import TabularAgent
from dorax.core import LLL, UCB, EpsilonGreedy, EValues, Sample, Softmax, Visits
from dorax.engine.training import Training
from dorax.mdps import MDP
from dorax.study import figures
from dorax.study.claims import Claim, faster
from dorax.study.experiment import AXES, Condition, Size
from dorax.study.results import Results

EPSILONS = (0.0, 0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)
TEMPERATURES = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 5.0, 10.0, 30.0, 100.0)
SCALES = (0.0, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
LIMITS = {"epsilon": (0.0, 1.0), "temperature": (0.0,), "scale": (0.0,)}  # nothing lies beyond
LANES, STATES = 128, 64  # so that tuning and reporting, bridge and cliff share one compiled program

_RULES = {
    "ε-greedy": (Sample(EpsilonGreedy(0.1)), LLL(EpsilonGreedy(0.1)), {"epsilon": EPSILONS}),
    "softmax": (Sample(Softmax(1.0)), LLL(Softmax(1.0)), {"temperature": TEMPERATURES}),
}
_COLOURS = {"ε-greedy": figures.COLOURS[1], "softmax": figures.COLOURS[0], "UCB": figures.COLOURS[2]}


@dataclass(frozen=True)
class TableAgent:
    """An agent by its name, its family and what it counts."""

    name: str
    family: str
    counts: str
    agent: TabularAgent
    grid: Mapping[str, Sequence[float]]


def table_agents(discount: float = 0.9, e_discount: float = 0.9, learning_rate: float = 0.5) -> list[TableAgent]:
    """The eight agents of the paper's comparison."""

    def agent(rule: Any, counter: Any) -> TabularAgent:
        return TabularAgent(rule=rule, counter=counter, learning_rate=learning_rate, discount=discount)

    found: list[TableAgent] = []
    for family, (sample, lll, grid) in _RULES.items():
        found += [
            TableAgent(family, family, "nothing", agent(sample, Visits()), grid),
            TableAgent(f"LLL {family}, visits", family, "visits", agent(lll, Visits()), grid),
            TableAgent(f"LLL {family}, E-values", family, "E-values", agent(lll, EValues(e_discount)), grid),
        ]
    scales = {"scale": SCALES}
    return [
        *found,
        TableAgent("UCB, visits", "UCB", "visits", agent(UCB(1.0), Visits()), scales),
        TableAgent("UCB, E-values", "UCB", "E-values", agent(UCB(1.0), EValues(e_discount)), scales),
    ]


def style(each: TableAgent) -> dict[str, Any]:
    """Colour by family, line by what is counted."""
    line = {"nothing": ":", "visits": "--", "E-values": "-"}[each.counts]
    return {"color": _COLOURS[each.family], "linestyle": line}


def at(name: str, learning_rate: float) -> str:
    """The name of an agent's condition at a learning rate."""
    return f"{name}, α = {learning_rate:g}"


def comparison(mdp: MDP, episodes: int, max_steps: int, rates: Sequence[float], size: Size) -> list[Condition]:
    """One condition per agent and learning rate; a quick run has only the first rate."""
    return [
        Condition(
            at(each.name, rate),
            Training(
                each.agent,
                mdp,
                episodes=size.of(episodes),
                steps=size.of(max_steps, least=2000),
                lanes=LANES,
                states=STATES,
            ),
            each.grid,
            LIMITS,
        )
        for rate in (rates if size.is_full else rates[:1])
        for each in table_agents(learning_rate=rate)
    ]


def counterpart_claims(rate: float) -> list[Claim]:
    """Each E-value agent against its own counter-based and stochastic equivalents."""
    pairs = [
        ("LLL ε-greedy, E-values", "LLL ε-greedy, visits"),
        ("LLL ε-greedy, E-values", "ε-greedy"),
        ("LLL softmax, E-values", "LLL softmax, visits"),
        ("LLL softmax, E-values", "softmax"),
        ("UCB, E-values", "UCB, visits"),
    ]
    return [faster(at(fast, rate), at(slow, rate), axis) for fast, slow in pairs for axis in AXES]


def draw_comparison(results: Results, figure: Figure, rates: Sequence[float]) -> None:
    """A row a learning rate: error of Q by episode and by step, and the return of training by episode."""
    rates = rates if results.size.is_full else rates[:1]
    figure.set_size_inches(11, 3.4 * len(rates) + 0.6)
    rows = figure.subplots(len(rates), 3, squeeze=False)
    for row, rate in zip(rows, rates, strict=True):
        names = [at(each.name, rate) for each in table_agents()]
        styles = {at(each.name, rate): style(each) for each in table_agents()}
        figures.draw_q_error_by_both_axes(row[:2], results, names, styles)
        for each in table_agents():
            draw_return(row[2], results, at(each.name, rate), label=each.name, **style(each))
        row[0].set_title(f"α = {rate:g}", loc="left", fontsize=10)
    figures.legend_below(figure, rows[0][2])


def draw_return(axes: Axes, results: Results, name: str, **line: Any) -> None:
    """The mean return of training episodes, each point an average over the last quarter of the episodes so far."""
    data = results[name].data("episode")
    returns = data["return"].values.astype(float)
    finished = int(np.isfinite(returns).sum(axis=1).min())
    total = np.concatenate([np.zeros((len(returns), 1)), returns.cumsum(axis=1)], axis=1)
    episodes = np.unique(np.geomspace(min(10, finished), max(finished, 1), 100).astype(int))
    since = episodes - np.maximum(episodes // 4, 1)
    smooth = (total[:, episodes] - total[:, since]) / (episodes - since)
    axes.plot(episodes, smooth.mean(axis=0), linewidth=1.6, **line)
    figures.label_axes(axes, "episode", "return of training episodes", log_y=False)
