"""Agents, grids, claims and figures for the comparisons on finite MDPs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dorax.agents.tabular import HoeffdingQLearning, NoveltyQLearning, QLearning, TabularAgent
from dorax.core import LLL, UCB, EpsilonGreedy, EValues, InverseCount, Sample, Softmax, Visits
from dorax.engine.training import Training
from dorax.mdps import MDP
from dorax.study import figures
from dorax.study.claims import Claim, faster, together
from dorax.study.experiment import AXES, Axis, Condition, Size, Table
from dorax.study.results import Results

EPSILONS = (0.0, 0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)
TEMPERATURES = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 5.0, 10.0, 30.0, 100.0)
SCALES = (0.0, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
WIDTHS = (0.0, 1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1, 1.0)
LIMITS = {"epsilon": (0.0, 1.0), "temperature": (0.0,), "scale": (0.0,)}  # ends of the possible range
OPTIMISTIC, NOVELTY, UCB_H = "optimistic Q-learning", "novelty Q-learning", "UCB-H"
NOVELTY_DISCOUNTS = (0.8, 0.9)
LANES, STATES = 128, 64  # tuning and reporting, bridge and cliff share one compiled program

_RULES = {
    "ε-greedy": (Sample(EpsilonGreedy(0.1)), LLL(EpsilonGreedy(0.1)), {"epsilon": EPSILONS}),
    "softmax": (Sample(Softmax(1.0)), LLL(Softmax(1.0)), {"temperature": TEMPERATURES}),
}
_COLOURS = {
    "ε-greedy": figures.COLOURS[1],
    "softmax": figures.COLOURS[0],
    "UCB": figures.COLOURS[2],
    OPTIMISTIC: figures.COLOURS[3],
    NOVELTY: figures.COLOURS[4],
    UCB_H: figures.COLOURS[6],
}


@dataclass(frozen=True)
class World:
    """An MDP, and what agents that have to be told something about it are told.

    Attributes:
        mdp: the MDP.
        largest_return: largest possible return.
        initial_values: grid of the initial values of optimistic Q-learning.
        novelty_scales: grid of the scale of the bonus of novelty Q-learning.
    """

    mdp: MDP
    largest_return: float
    initial_values: Sequence[float]
    novelty_scales: Sequence[float]


@dataclass(frozen=True)
class TableAgent:
    """One of the agents that are compared.

    Attributes:
        name: name of the agent.
        family: `"ε-greedy"`, `"softmax"`, `"UCB"` or the name of another agent.
        counts: what it counts, for the style of its line: `"nothing"`, `"visits"`, `"E-values"`, or `"other"`.
        agent: the agent.
        grid: values to fit.
        told: what it is told about the problem.
    """

    name: str
    family: str
    counts: str
    agent: TabularAgent
    grid: Mapping[str, Sequence[float]]
    told: str = "nothing"


def table_agents(
    world: World, discount: float = 0.9, e_discount: float = 0.9, learning_rate: float = 0.5
) -> list[TableAgent]:
    """Create the eight agents of the paper's comparison, and three rivals that explore by optimism or novelty.

    Args:
        world: the MDP, and what agents are told about it.
        discount: the paper's gamma.
        e_discount: the paper's gamma_E.
        learning_rate: the paper's alpha.

    Returns:
        The agents.
    """

    plain = QLearning()

    def agent(rule: Any, counter: Any, bonus: Any = None, update: Any = plain) -> TabularAgent:
        return TabularAgent(rule, counter, bonus, update, learning_rate, discount)

    found: list[TableAgent] = []
    for family, (sample, lll, grid) in _RULES.items():
        found += [
            TableAgent(family, family, "nothing", agent(sample, Visits()), grid),
            TableAgent(f"LLL {family}, visits", family, "visits", agent(lll, Visits()), grid),
            TableAgent(f"LLL {family}, E-values", family, "E-values", agent(lll, EValues(e_discount)), grid),
        ]
    scales, greedy, largest = {"scale": SCALES}, Sample(EpsilonGreedy(0.0)), world.largest_return
    hoeffding = HoeffdingQLearning(1 / (1 - discount), largest, 0.01)
    for_novelty = {"bonus.scale": world.novelty_scales, "novelty_discount": NOVELTY_DISCOUNTS}
    return [
        *found,
        TableAgent("UCB, visits", "UCB", "visits", agent(UCB(1.0), Visits()), scales),
        TableAgent("UCB, E-values", "UCB", "E-values", agent(UCB(1.0), EValues(e_discount)), scales),
        TableAgent(
            OPTIMISTIC,
            OPTIMISTIC,
            "other",
            agent(greedy, Visits(), update=QLearning(largest)),
            {"initial_value": world.initial_values},
            f"the largest return, {largest:g}; its initial value is fitted around that",
        ),
        TableAgent(
            NOVELTY,
            NOVELTY,
            "other",
            agent(greedy, Visits(), InverseCount(1.0), NoveltyQLearning(0.9)),
            for_novelty,
        ),
        TableAgent(
            UCB_H,
            UCB_H,
            "other",
            agent(greedy, Visits(), update=hoeffding),
            {"scale": WIDTHS},
            f"the largest return, {largest:g}, and the horizon, {1 / (1 - discount):g} steps",
        ),
    ]


def style(each: TableAgent) -> dict[str, Any]:
    """Return the line style of an agent: colour by family, dashes by what it counts.

    Args:
        each: the agent.

    Returns:
        Options of the line.
    """
    line = {"nothing": ":", "visits": "--", "E-values": "-", "other": "-."}[each.counts]
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


def comparison(world: World, episodes: int, max_steps: int, rates: Sequence[float], size: Size) -> list[Condition]:
    """Create one condition per agent and learning rate.

    Args:
        world: the MDP, and what agents are told about it.
        episodes: training episodes at full size.
        max_steps: training steps at full size.
        rates: learning rates.
        size: how much to run.

    Returns:
        The conditions.
    """
    return [
        Condition(
            at(each.name, rate),
            Training(
                each.agent,
                world.mdp,
                episodes=size.of(episodes),
                steps=size.of(max_steps, least=2000),
                lanes=LANES,
                states=STATES,
            ),
            each.grid,
            LIMITS,
        )
        for rate in rates
        for each in table_agents(world, learning_rate=rate)
    ]


def converges_before(
    text: str, pairs: Mapping[str, tuple[str, str]], rates: Sequence[float], axes: Sequence[Axis] = AXES
) -> Claim:
    """Claim that agents converge before others, at every learning rate.

    Args:
        text: the claim in words.
        pairs: for each case by name, the faster and the slower agent; the name may be empty if there is only one.
        rates: learning rates, which are cases too.
        axes: axes, which are cases too.

    Returns:
        The claim.
    """
    cases: dict[str, Claim] = {}
    for name, (fast, slow) in pairs.items():
        for rate in rates:
            for axis in axes:
                words = [name, f"α = {rate:g}", f"by {axis}" if len(axes) > 1 else ""]
                cases[", ".join(word for word in words if word)] = faster(at(fast, rate), at(slow, rate), axis)
    return together(text, cases)


def against_visits(*rules: str) -> dict[str, tuple[str, str]]:
    """Pair the E-value agents of some rules with those that count visits.

    Args:
        *rules: the rules; a single one is not named.

    Returns:
        The pairs by rule.
    """
    return {rule if len(rules) > 1 else "": (f"{rule}, E-values", f"{rule}, visits") for rule in rules}


SAMPLED = {policy: (f"LLL {policy}, E-values", policy) for policy in _RULES}  # the same policy, not determinized


def rival_claims(rates: Sequence[float]) -> list[Claim]:
    """Claim that LLL softmax on E-values converges before each of the rivals that explore by optimism or novelty.

    Args:
        rates: learning rates, the larger first.

    Returns:
        The claims.
    """
    ours = "LLL softmax, E-values"
    # UCB-H has learning rates of its own.
    against = {OPTIMISTIC: rates, NOVELTY: rates, UCB_H: rates[:1]}
    return [
        converges_before(f"LLL softmax on E-values converges before {rival}", {"": (ours, rival)}, of)
        for rival, of in against.items()
    ]


def tables(world: World) -> Sequence[Table]:
    """Create a table of what each agent is told about the problem, and of what is fitted.

    Args:
        world: the MDP, and what agents are told about it.

    Returns:
        The table.
    """
    rows = [
        (each.name, each.told, " × ".join(f"{len(values)} values of {name}" for name, values in each.grid.items()))
        for each in table_agents(world)
    ]
    return [Table("What each agent is told, and what is fitted", ("agent", "told", "fitted"), rows)]


def draw_comparison(results: Results, figure: Figure, world: World, rates: Sequence[float]) -> None:
    """Draw one row per learning rate: the error of Q by episode and by step, and the training return by episode.

    Args:
        results: results of the experiment.
        figure: where to draw.
        world: the MDP, and what agents are told about it.
        rates: the learning rates.
    """
    figure.set_size_inches(11, 3.4 * len(rates) + 0.6)
    rows = figure.subplots(len(rates), 3, squeeze=False)
    for row, rate in zip(rows, rates, strict=True):
        styles = {at(each.name, rate): style(each) for each in table_agents(world)}
        figures.draw_q_error_by_both_axes(row[:2], results, list(styles), styles, is_of_zero=True)
        for each in table_agents(world):
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
