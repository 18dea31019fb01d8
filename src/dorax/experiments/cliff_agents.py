"""The eight agents of Figure 4 on cliff walking, a comparison that the paper mentions but does not show."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from dorax import mdps
from dorax.experiments import _table_agents
from dorax.study.experiment import Answer, Condition, Experiment, Finding, Size
from dorax.study.results import Results

RATES = (0.5, 0.1)


def conditions(size: Size) -> Sequence[Condition]:
    """One condition per agent and learning rate."""
    return _table_agents.comparison(mdps.cliff(), episodes=2000, max_steps=30_000, rates=RATES, size=size)


def draw(results: Results, figure: Figure) -> None:
    """Draw the error of Q and the training return."""
    _table_agents.draw_comparison(results, figure, RATES)


EXPERIMENT = Experiment(
    figure="section 3.3, not shown",
    title="The same agents on the cliff",
    paper="On cliff walking the results are similar to those on the bridge.",
    notes="γ = γ_E = 0.9, at most 500 steps per episode (our choice); 2000 episodes or 30 000 steps, whichever comes "
    "first. Every step costs 1, so initial values of 0 are optimistic and even greedy agents explore. By step, the "
    "curves of all agents nearly coincide.",
    conditions=conditions,
    claims=[claim for rate in RATES for claim in _table_agents.counterpart_claims(rate)],
    draw=draw,
    order=40,
    finding=Finding(
        "On the cliff, where a start at 0 is optimistic, does LLL softmax learn faster on E-values than on visits?",
        [
            Answer(
                "LLL softmax, E-values, α = 0.5 converges before LLL softmax, visits, α = 0.5 (by step)",
                "{} times as fast, by step",
            )
        ],
    ),
)
