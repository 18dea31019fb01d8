"""Figure 13: agents with tile coding on the sparse mountain car."""

from __future__ import annotations

from collections.abc import Sequence

from dorax.envs import SparseMountainCar
from dorax.experiments import _continuous_agents
from dorax.study.experiment import Answer, Condition, Experiment, Finding, Size

EPISODES = 1000
QUICK_AGENTS = (
    _continuous_agents.EPSILON_GREEDY,
    _continuous_agents.PLAIN_COUNT,
    _continuous_agents.COUNT,
)  # of a quick run


def conditions(size: Size) -> Sequence[Condition]:
    """One condition per agent."""
    agents = _continuous_agents.by_tiles(8)
    return _continuous_agents.comparison(agents, SparseMountainCar(), EPISODES, size, 64, QUICK_AGENTS)


EXPERIMENT = Experiment(
    figure="Figure 13",
    title="The sparse mountain car with tile coding",
    paper="Softmax exploration fails to solve the problem within 1000 episodes; LLL agents with generalized counters "
    "(γ_E > 0) quickly reach high success rates.",
    notes="8 tilings of 8 × 8 tiles; step sizes of 0.1 for Q and 0.5 for E, divided among the active tiles; γ = 0.99; "
    "initial weights of Q with standard deviation 0.01: values of the authors' linear code. Solved means that 18 of 20 "
    "successive episodes reach the goal. No agent can need fewer than 18 episodes, which moves ratios towards 1. ε and "
    "temperature are fitted by the failures over the whole run. “As given”: the step size of E is the authors' in the "
    "logistic form, and 1 with α_E = 0.5 in the count form. “Fitted”: the step size of the logistic form, and α_E of "
    "the count form, are fitted together with the temperature. Two rivals are not in the paper: optimistic Q-learning, "
    "greedy with a fitted initial value, and novelty Q-learning, greedy on the sum of Q and of the values of a bonus "
    "of scale/√visits, which has weights and a discount of its own; visits are counted by the count form with γ_E = 0. "
    "Agents that fit one number have 8 settings, those that fit two have 16. Tuning is recorded.",
    conditions=conditions,
    claims=[
        *_continuous_agents.claims(EPISODES, soon=200),
        *_continuous_agents.fitted_claims(),
        *_continuous_agents.rival_claims(),
    ],
    draw=_continuous_agents.draw,
    order=80,
    finding=Finding(
        "With tile coding, does γ_E > 0 solve sparse problems before ε-greedy?",
        [
            Answer(
                _continuous_agents.BEFORE_EPSILON_GREEDY,
                "{} times as fast, by step",
                label="mountain car",
                case="logistic form, by step",
            ),
            Answer(
                _continuous_agents.BEFORE_EPSILON_GREEDY,
                "{} times as fast, by step",
                label="Acrobot",
                case="logistic form, by step",
                experiment="acrobot_agents",
            ),
        ],
    ),
    size=Size(seeds=32, tuning_seeds=8),
    tables=_continuous_agents.tables,
)
