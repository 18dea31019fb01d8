"""Figure 7: LLL with E-values against Delayed Q-learning, on the bridge with rewards in [0, 1]."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from dorax import mdps
from dorax.agents.tabular import DelayedQLearning, QLearning, TabularAgent
from dorax.core import LLL, EpsilonGreedy, EValues, Sample, Softmax
from dorax.engine.training import Training
from dorax.study import figures
from dorax.study.claims import Claim, time_ratio
from dorax.study.experiment import AXES, Answer, Condition, Experiment, Finding, Size
from dorax.study.measures import OWN_Q_ERROR, times_to_threshold
from dorax.study.results import Results
from dorax.study.statistics import bootstrap

E_VALUES = "LLL softmax, E-values"
OPTIMISTIC = "optimistic Q-learning"
PATIENCES = (1, 2, 3, 5, 10, 20, 50)
TEMPERATURES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
LEARNING_RATES = (0.1, 0.3, 0.5, 0.7, 0.9, 0.99)


def delayed(patience: int) -> str:
    """Return the name of Delayed Q-learning's condition.

    Args:
        patience: its parameter m.

    Returns:
        The name.
    """
    return f"delayed Q-learning, m = {patience}"


def conditions(size: Size) -> Sequence[Condition]:
    """LLL with E-values, optimistic Q-learning, and Delayed Q-learning for several m."""

    def training(agent: TabularAgent) -> Training:
        mdp = mdps.bridge(15, normalised=True)
        return Training(agent, mdp, episodes=size.of(10_000), steps=size.of(120_000), lanes=128, states=64)

    greedy = Sample(EpsilonGreedy(0.0))
    dora = TabularAgent(rule=LLL(Softmax(0.1)), counter=EValues(0.9), learning_rate=0.5, discount=0.9)
    optimistic = TabularAgent(rule=greedy, update=QLearning(10.0), learning_rate=0.5, discount=0.9)
    return [
        Condition(E_VALUES, training(dora), {"temperature": TEMPERATURES}),
        Condition(OPTIMISTIC, training(optimistic), {"learning_rate": LEARNING_RATES}),
        *(
            Condition(delayed(m), training(TabularAgent(rule=greedy, update=DelayedQLearning(m, 0.01), discount=0.9)))
            for m in PATIENCES
        ),
    ]


def claims() -> list[Claim]:
    """Create the paper's claims, relative to each agent's initial error; the first also with one error for all."""
    competitive = f"{E_VALUES} is competitive with {delayed(10)}: at most twice its time"
    nearly_optimistic = f"at m = 1 delayed Q-learning nears {OPTIMISTIC}: within a factor of two"
    return [
        claim
        for axis in AXES
        for claim in (
            time_ratio(f"{competitive} (by {axis})", E_VALUES, delayed(10), axis, below=2.0, measure=OWN_Q_ERROR),
            time_ratio(f"{competitive}, to the same error of Q (by {axis})", E_VALUES, delayed(10), axis, below=2.0),
            time_ratio(
                f"a smaller m learns faster: 1 before 10 (by {axis})",
                delayed(10),
                delayed(1),
                axis,
                above=1.0,
                measure=OWN_Q_ERROR,
            ),
            time_ratio(
                f"{nearly_optimistic} (by {axis})",
                delayed(1),
                OPTIMISTIC,
                axis,
                above=0.5,
                below=2.0,
                measure=OWN_Q_ERROR,
            ),
        )
    ]


def draw(results: Results, figure: Figure) -> None:
    """Draw the error of Q, and the time to the threshold by m."""
    figure.set_size_inches(11, 4)
    panels = figure.subplots(1, 3)
    names = [E_VALUES, OPTIMISTIC, delayed(1), delayed(10), delayed(50)]
    styles = {name: {"color": colour} for name, colour in zip(names, figures.COLOURS, strict=False)}
    figures.draw_q_error_by_both_axes(panels[:2], results, names, styles)
    panels[0].set_ylabel("error of Q, share of its maximum")
    for name, colour in ((E_VALUES, figures.COLOURS[0]), (OPTIMISTIC, figures.COLOURS[1])):
        time = times_to_threshold(results[name].data(), "episode", OWN_Q_ERROR).earliest
        panels[2].axhline(float(np.median(time)), color=colour, linewidth=1.2)
    times = [times_to_threshold(results[delayed(m)].data(), "episode", OWN_Q_ERROR) for m in PATIENCES]
    middle, low, high = bootstrap(np.stack([time.earliest for time in times]))
    panels[2].errorbar(PATIENCES, middle, (middle - low, high - middle), color="black", marker="o", markersize=4)
    panels[2].set_xlabel("m, visits before an update is tried")
    panels[2].set_ylabel("episodes to the threshold")
    panels[2].set_xscale("log")
    panels[2].set_yscale("log")
    figures.tidy(panels[2])
    figures.legend_below(figure, panels[0], columns=5)


EXPERIMENT = Experiment(
    figure="Figure 7",
    title="E-values against Delayed Q-learning",
    paper="On a bridge with rewards between 0 and 1, LLL with E-values performs about as well as Delayed Q-learning, "
    "which knows the range of the rewards and whose m has to be chosen far below what its theory requires. With m = 1 "
    "it is close to optimistic Q-learning.",
    notes="Bridge of 15 cells, γ = γ_E = 0.9, m = 10; rewards 1, 0.1 and 0. ε₁ = 0.01 comes from the "
    "reproducibility-challenge replication that the authors forked. As in the paper, each agent's error is relative to "
    "its own initial error, its maximum. With an optimistic start of 10 that makes a lenient threshold, so the first "
    "claim is also judged with the same threshold for all agents, 1 % of the error of Q = 0. 'Competitive' means at "
    "most twice the time. Optimistic Q-learning starts at 1/(1 − γ) and acts greedily. Its learning rate is fitted, "
    "since Delayed Q-learning with m = 1 moves all the way to each target, which is a learning rate of 1.",
    conditions=conditions,
    claims=claims(),
    draw=draw,
    order=60,
    finding=Finding(
        "Do E-values take at most twice the time of Delayed Q-learning (m = 10)?",
        [
            Answer(
                f"{E_VALUES} is competitive with {delayed(10)}: at most twice its time (by step)",
                "{} of its time, by step",
            )
        ],
    ),
)
