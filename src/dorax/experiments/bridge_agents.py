"""Figure 4: eight agents on the long bridge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from dorax import mdps
from dorax.experiments import _table_agents
from dorax.study import figures
from dorax.study.claims import fails_to_converge
from dorax.study.experiment import Answer, Condition, Experiment, Finding, Size
from dorax.study.results import Results

RATES = (0.5, 0.1)


UNFITTED = "UCB, visits, scale 1"


def conditions(size: Size) -> Sequence[Condition]:
    """One condition per agent and learning rate, and UCB with scale 1, which is not fitted."""
    mdp = mdps.bridge(15)
    fitted = _table_agents.comparison(mdp, episodes=12_000, max_steps=40_000, rates=RATES, size=size)
    ucb = {_table_agents.at("UCB, visits", rate): _table_agents.at(UNFITTED, rate) for rate in RATES}
    return [*fitted, *(Condition(ucb[each.name], each.run, {"scale": (1.0,)}) for each in fitted if each.name in ucb)]


def draw(results: Results, figure: Figure) -> None:
    """Draw the error of Q and the training return."""
    _table_agents.draw_comparison(results, figure, RATES)


def draw_hero(results: Results, figure: Figure) -> None:
    """Draw the error of Q by step for softmax: sampled, and determinized with visits and with E-values."""
    figure.set_size_inches(6.5, 3.6)
    axes = figure.subplots()
    rate = RATES[0]
    for name, words in {
        "LLL softmax, E-values": "counts that look ahead (E-values)",
        "LLL softmax, visits": "visit counts",
        "softmax": "drawn at random (softmax)",
    }.items():
        agent = next(agent for agent in _table_agents.table_agents() if agent.name == name)
        data = results[_table_agents.at(name, rate)].data("step")
        relative = data.assign(q_error=np.maximum(data.q_error / data.q_error_at_start, 1e-4))
        figures.draw_curve(axes, relative, "step", label=words, **_table_agents.style(agent))
    figures.label_axes(axes, "step", "error of Q, share of its start")
    axes.legend(frameon=False, fontsize=9)


EXPERIMENT = Experiment(
    figure="Figure 4",
    title="E-value agents are the first to cross the long bridge",
    paper="On a bridge of fifteen cells, agents with E-values converge before their counterparts that count visits or "
    "sample; ε-greedy, LLL ε-greedy on visits and UCB on visits do not converge at all.",
    notes="γ = γ_E = 0.9, at most 100 steps per episode. α = 0.5 and 3000 episodes come from the "
    "reproducibility-challenge replication that the authors forked; α = 0.1 is our addition. Runs here have 12 000 "
    "episodes or 40 000 steps, whichever comes first, because 3000 episodes of ε-greedy have too few steps for a "
    "comparison by step. The paper fits ε and temperature; here the scale of UCB is fitted as well. UCB with the "
    "paper's scale of 1 is judged separately: whether UCB on visits converges depends on the scale. UCB uses a square "
    "root, as usual; the replication has a square.",
    conditions=conditions,
    claims=[
        *(claim for rate in RATES for claim in _table_agents.counterpart_claims(rate)),
        *(
            fails_to_converge(_table_agents.at(name, rate), within=3000)
            for rate in RATES
            for name in ("ε-greedy", "LLL ε-greedy, visits", "UCB, visits", UNFITTED)
        ),
    ],
    draw=draw,
    hero=draw_hero,
    order=30,
    finding=Finding(
        "On a long bridge, does LLL softmax learn faster on E-values than on visits?",
        [
            Answer(
                "LLL softmax, E-values, α = 0.5 converges before LLL softmax, visits, α = 0.5 (by step)",
                "{} times as fast, by step",
            )
        ],
    ),
)
