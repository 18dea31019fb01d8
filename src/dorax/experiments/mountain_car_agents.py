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
    "the count form, are fitted together with the temperature.",
    conditions=conditions,
    claims=[*_continuous_agents.claims(EPISODES, soon=200), *_continuous_agents.fitted_claims()],
    draw=_continuous_agents.draw,
    order=80,
    finding=Finding(
        "Does γ_E > 0 solve the sparse mountain car before ε-greedy, by tile coding?",
        [Answer("γ_E > 0 gets there before ε-greedy, logistic form (by step)", "{} times as fast, by step")],
    ),
    size=Size(seeds=50, tuning_seeds=8),
    tables=_continuous_agents.tables,
)
