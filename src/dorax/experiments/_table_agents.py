"""Agents, grids, claims and figures for the comparisons on finite MDPs."""

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
LIMITS = {"epsilon": (0.0, 1.0), "temperature": (0.0,), "scale": (0.0,)}  # ends of the possible range
LANES, STATES = 128, 64  # tuning and reporting, bridge and cliff share one compiled program

_RULES = {
    "ε-greedy": (Sample(EpsilonGreedy(0.1)), LLL(EpsilonGreedy(0.1)), {"epsilon": EPSILONS}),
    "softmax": (Sample(Softmax(1.0)), LLL(Softmax(1.0)), {"temperature": TEMPERATURES}),
}
_COLOURS = {"ε-greedy": figures.COLOURS[1], "softmax": figures.COLOURS[0], "UCB": figures.COLOURS[2]}


@dataclass(frozen=True)
class TableAgent:
    """One of the agents that are compared.

    Attributes:
        name: name of the agent.
        family: `"ε-greedy"`, `"softmax"` or `"UCB"`.
        counts: what it counts: `"nothing"`, `"visits"` or `"E-values"`.
        agent: the agent.
        grid: values to fit.
    """

    name: str
    family: str
    counts: str
    agent: TabularAgent
    grid: Mapping[str, Sequence[float]]


def table_agents(discount: float = 0.9, e_discount: float = 0.9, learning_rate: float = 0.5) -> list[TableAgent]:
    """Create the eight agents of the paper's comparison.

    Args:
        discount: the paper's gamma.
        e_discount: the paper's gamma_E.
        learning_rate: the paper's alpha.

    Returns:
        The agents.
    """

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
    """Return the line style of an agent: colour by family, dashes by what it counts.

    Args:
        each: the agent.

    Returns:
        Options of the line.
    """
    line = {"nothing": ":", "visits": "--", "E-values": "-"}[each.counts]
    return {"color": _COLOURS[each.family], "linestyle": line}


def at(name: str, learning_rate: float) -> str:
    """Return the name of an agent's condition at a learning rate.

    Args:
        name: name of the agent.
        learning_rate: the learning rate.

    Returns:
        The name.
    """
    return f"{name}, α = {learning_rate:g}"


def comparison(mdp: MDP, episodes: int, max_steps: int, rates: Sequence[float], size: Size) -> list[Condition]:
    """Create one condition per agent and learning rate.

    Args:
        mdp: the MDP.
        episodes: training episodes at full size.
        max_steps: training steps at full size.
        rates: learning rates; a quick run has only the first.
        size: how much to run.

    Returns:
        The conditions.
    """
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
    """Claim that each E-value agent converges before its counterparts that count visits or sample.

    Args:
        rate: the learning rate.

    Returns:
        The claims.
    """
    pairs = [
        ("LLL ε-greedy, E-values", "LLL ε-greedy, visits"),
        ("LLL ε-greedy, E-values", "ε-greedy"),
        ("LLL softmax, E-values", "LLL softmax, visits"),
        ("LLL softmax, E-values", "softmax"),
        ("UCB, E-values", "UCB, visits"),
    ]
    return [faster(at(fast, rate), at(slow, rate), axis) for fast, slow in pairs for axis in AXES]


def draw_comparison(results: Results, figure: Figure, rates: Sequence[float]) -> None:
    """Draw one row per learning rate: the error of Q by episode and by step, and the training return by episode.

    Args:
        results: results of the experiment.
        figure: where to draw.
        rates: the learning rates.
    """
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
    """Draw the mean training return, averaged over the last quarter of the episodes so far.

    Args:
        axes: where to draw.
        results: results of the experiment.
        name: name of the condition.
        **line: options of the line.
    """
    data = results[name].data("episode")
    returns = data["return"].values.astype(float)
    finished = int(np.isfinite(returns).sum(axis=1).min())
    total = np.concatenate([np.zeros((len(returns), 1)), returns.cumsum(axis=1)], axis=1)
    episodes = np.unique(np.geomspace(min(10, finished), max(finished, 1), 100).astype(int))
    since = episodes - np.maximum(episodes // 4, 1)
    smooth = (total[:, episodes] - total[:, since]) / (episodes - since)
    axes.plot(episodes, smooth.mean(axis=0), linewidth=1.6, **line)
    figures.label_axes(axes, "episode", "return of training episodes", log_y=False)
