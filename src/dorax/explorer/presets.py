"""Agents by the names that users type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dorax.agents.tabular import TabularAgent
from dorax.core import LLL, EpsilonGreedy, EValues, InverseCount, Sample, Softmax, Visits
from dorax.core.checks import InvalidInput, suggestion
from dorax.mdps import MDP

# Agents that sample ignore counts; they learn E-values only to show them.
AGENTS = {
    "e-values": "LLL softmax on E-values",
    "visits": "LLL softmax on visits",
    "softmax": "softmax, E-values learned but not used",
    "epsilon-greedy": "ε-greedy, E-values learned but not used",
    "e-values-bonus": "ε-greedy with a bonus of 1 / generalized count",
}


def agents(names: Sequence[str], mdp: MDP, discount: float, e_discount: float) -> dict[str, TabularAgent]:
    """Create one or two of `AGENTS`, with parameters that suit the MDP.

    Args:
        names: names of the agents.
        mdp: the MDP.
        discount: the paper's gamma.
        e_discount: the paper's gamma_E.

    Returns:
        The agents by name.
    """
    for name in names:
        if name not in AGENTS:
            raise InvalidInput(f"agent {name!r} is unknown;{suggestion(name, AGENTS)} allowed: {', '.join(AGENTS)}")
    if not 1 <= len(set(names)) == len(names) <= 2:
        raise InvalidInput(f"agents are {' '.join(names) or 'none'}; allowed: one, or two different ones")
    softmax, greedy, e_values = Softmax(_temperature(mdp)), EpsilonGreedy(0.1), EValues(e_discount)
    made: dict[str, dict[str, Any]] = {
        "e-values": {"rule": LLL(softmax), "counter": e_values},
        "visits": {"rule": LLL(softmax), "counter": Visits()},
        "softmax": {"rule": Sample(softmax), "counter": e_values},
        "epsilon-greedy": {"rule": Sample(greedy), "counter": e_values},
        "e-values-bonus": {"rule": Sample(greedy), "counter": e_values, "bonus": InverseCount()},
    }
    return {name: TabularAgent(**made[name], learning_rate=0.5, discount=discount) for name in names}


def _temperature(mdp: MDP) -> float:
    """Return a tenth of the largest reward, so that the temperature matches the scale of the rewards."""
    best = float(mdp.reward[mdp.probability > 0].max())
    return best / 10 if best > 0 else 1.0
