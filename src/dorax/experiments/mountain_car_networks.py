"""The mountain car agents with two small networks, a comparison that the paper mentions but does not show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from dorax.agents.deep import DeepAgent
from dorax.core import LLL, EpsilonGreedy, Sample, Softmax
from dorax.envs import SparseMountainCar
from dorax.experiments import _continuous_agents
from dorax.study.claims import faster
from dorax.study.experiment import AXES, Answer, Condition, Experiment, Finding, Size
from dorax.study.measures import SUCCESS

EPISODES = 34
WIDTH = 64


def agents() -> dict[str, tuple[DeepAgent, Mapping[str, Sequence[float]]]]:
    """Create the agents. E learns from each visit once or, like Q, from replay.

    Returns:
        For each agent by name, the agent and its grid.
    """
    lll, temperature = LLL(Softmax(1.0)), {"temperature": (0.03, 0.1, 0.3, 1.0)}

    def agent(rule: Any, counter: Any = None, counts_from: Literal["visits", "replay"] = "visits") -> DeepAgent:
        return DeepAgent(rule, counter, width=WIDTH, batch=16, counts_from=counts_from)

    logistic = _continuous_agents.logistic(0.99, step_size=4.0)
    count = _continuous_agents.count(0.99, step_size=0.1)
    return {
        _continuous_agents.SOFTMAX: (agent(Sample(Softmax(1.0))), {"temperature": (0.001, 0.01, 0.1, 1.0)}),
        _continuous_agents.EPSILON_GREEDY: (agent(Sample(EpsilonGreedy(0.1))), {"epsilon": (0.03, 0.1, 0.3, 0.6)}),
        _continuous_agents.PLAIN_LOGISTIC: (agent(lll, replace(logistic, discount=0.0)), temperature),
        _continuous_agents.PLAIN_COUNT: (agent(lll, replace(count, discount=0.0)), temperature),
        _continuous_agents.LOGISTIC: (agent(lll, logistic), temperature),
        _continuous_agents.COUNT: (agent(lll, count), temperature),
        _continuous_agents.REPLAYED_LOGISTIC: (agent(lll, logistic, counts_from="replay"), temperature),
        _continuous_agents.REPLAYED_COUNT: (agent(lll, count, counts_from="replay"), temperature),
    }


def conditions(size: Size) -> Sequence[Condition]:
    """One condition per agent."""
    return _continuous_agents.comparison(agents(), SparseMountainCar(), EPISODES, size, 32, [_continuous_agents.COUNT])


PAIRS = {
    "logistic": (_continuous_agents.LOGISTIC, _continuous_agents.REPLAYED_LOGISTIC),
    "count": (_continuous_agents.COUNT, _continuous_agents.REPLAYED_COUNT),
}
EXPERIMENT = Experiment(
    figure="appendix D, not shown",
    title="The sparse mountain car with two small networks",
    paper="With two separate networks for Q and E, as with linear approximation, agents based on E-values outperform "
    "their ε-greedy and softmax counterparts.",
    notes=f"Two networks with 2 × {WIDTH} hidden units. Q is trained by Adam with learning rate 1e-3 from a replay "
    "buffer of 50 000 steps, with a batch of 16 every 4 steps and the target network updated every 250 updates; γ = "
    "0.99. E learns from each visit once, by a normalised step of 4 (logistic form) or 0.1 (count form), values from "
    f"trials on other seeds; or from replay, like Q. The experiment is sized for two cores: {EPISODES} episodes, 32 "
    "runs, four temperatures or values of ε fitted for each agent. Training episodes succeed far more often than "
    "greedy tests with fixed networks: here the car mostly gets up because the networks change while they learn, "
    "whatever the exploration.",
    conditions=conditions,
    claims=[
        *_continuous_agents.claims(EPISODES, soon=EPISODES, given="steps from trials"),
        *(
            faster(
                visits,
                replay,
                axis,
                f"E learns sooner from visits than from replay at Q's rate, {form} form (by {axis})",
                SUCCESS,
            )
            for axis in AXES
            for form, (visits, replay) in PAIRS.items()
        ),
    ],
    draw=_continuous_agents.draw,
    order=85,
    finding=Finding(
        "Does γ_E > 0 solve the sparse mountain car before ε-greedy, by two small networks?",
        [Answer(_continuous_agents.BEFORE_EPSILON_GREEDY, "{} times as fast, by step", case="logistic form, by step")],
    ),
    size=Size(seeds=32, tuning_seeds=8),
    quick=Size(seeds=4, tuning_seeds=2, fraction=0.1),
    tables=_continuous_agents.tables,
)
