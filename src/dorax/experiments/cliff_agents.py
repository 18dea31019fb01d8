"""The agents of Figure 4 on cliff walking, a comparison that the paper mentions but does not show."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from dorax import mdps
from dorax.experiments import _table_agents
from dorax.study.experiment import AXES, Answer, Condition, Experiment, Finding, Size, Table
from dorax.study.results import Results

RATES = (0.5, 0.1)
WORLD = _table_agents.World(
    mdps.cliff(),
    largest_return=-1.0,
    initial_values=(-20.0, -10.0, -8.0, -6.0, -5.0, -4.0, -3.0, -2.0, -1.0, 0.0),
    novelty_scales=(0.1, 1.0, 10.0, 30.0, 100.0),
)
BY_STEP = "by step, LLL softmax converges earlier on E-values than on visits"


def conditions(size: Size) -> Sequence[Condition]:
    """One condition per agent and learning rate."""
    return _table_agents.comparison(WORLD, episodes=2000, max_steps=30_000, rates=RATES, size=size)


def draw(results: Results, figure: Figure) -> None:
    """Draw the error of Q and the training return."""
    _table_agents.draw_comparison(results, figure, WORLD, RATES)


def tables(results: Results) -> Sequence[Table]:
    """Say what each agent is told."""
    del results
    return _table_agents.tables(WORLD)


EXPERIMENT = Experiment(
    figure="section 3.3, not shown",
    title="The same agents on the cliff",
    paper="On cliff walking the results are similar to those on the bridge.",
    notes="γ = γ_E = 0.9, at most 500 steps per episode (our choice); 2000 episodes or 30 000 steps, whichever comes "
    "first. Every step costs 1, so initial values of 0 are optimistic and even greedy agents explore. By step, the "
    "curves of all agents that start at 0 nearly coincide. Rivals and fitting are as on the bridge. The largest return "
    "is −1, one step; the initial value of optimistic Q-learning is fitted from −20 to 0, and lower than that of the "
    "others the better, up to a point. "
    "The claim about UCB-H was limited to α = 0.5 after a first look, because UCB-H has a learning rate of its own; "
    "it fails at α = 0.1, too.",
    conditions=conditions,
    claims=[
        _table_agents.converges_before(BY_STEP, _table_agents.against_visits("LLL softmax"), RATES, ["step"]),
        _table_agents.converges_before(
            "by step, LLL ε-greedy and UCB converge earlier on E-values than on visits",
            _table_agents.against_visits("LLL ε-greedy", "UCB"),
            RATES,
            ["step"],
        ),
        _table_agents.converges_before(
            "by episode, LLL and UCB converge earlier on E-values than on visits",
            _table_agents.against_visits("LLL softmax", "LLL ε-greedy", "UCB"),
            RATES,
            ["episode"],
        ),
        *(
            _table_agents.converges_before(
                f"by {axis}, LLL on E-values converges before sampling from the same policy",
                _table_agents.SAMPLED,
                RATES,
                [axis],
            )
            for axis in AXES
        ),
        *_table_agents.rival_claims(RATES),
    ],
    draw=draw,
    order=40,
    finding=Finding(
        "On the cliff, where a start at 0 is optimistic, does LLL softmax learn faster on E-values than on visits?",
        [Answer(BY_STEP, "{} times as fast, by step", case="α = 0.5")],
    ),
    tables=tables,
)
