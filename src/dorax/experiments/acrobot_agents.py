"""The agents of the mountain car experiment on a sparse Acrobot, a second environment that is hard to explore."""

from __future__ import annotations

from collections.abc import Sequence

from dorax.envs import SparseAcrobot
from dorax.experiments import _continuous_agents
from dorax.study.experiment import Condition, Experiment, Size

EPISODES = 300


def conditions(size: Size) -> Sequence[Condition]:
    """One condition per agent."""
    return _continuous_agents.comparison(
        _continuous_agents.by_tiles((6, 6, 7, 7)), SparseAcrobot("angles"), EPISODES, size, lanes=64
    )


EXPERIMENT = Experiment(
    figure="beyond the paper",
    title="The same agents on a sparse Acrobot",
    paper="Not in the paper: a second problem with continuous states where random actions rarely find the reward.",
    notes="Gymnasium's Acrobot with reward 1 at the goal height and 0 otherwise, 500 steps per episode, 300 episodes; "
    "8 tilings of 6 × 6 × 7 × 7 tiles over angles and velocities. Everything else is as on the mountain car.",
    conditions=conditions,
    claims=[
        *_continuous_agents.claims(EPISODES, soon=100),
        *_continuous_agents.fitted_claims(),
        *_continuous_agents.rival_claims(),
    ],
    draw=_continuous_agents.draw,
    order=90,
    size=Size(seeds=32, tuning_seeds=8),
    tables=_continuous_agents.tables,
)
