"""The agents that are compared in random worlds, with grids of equal size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dorax.agents.tabular import HoeffdingQLearning, NoveltyQLearning, QLearning, TabularAgent
from dorax.core import LLL, UCB, EpsilonGreedy, EValues, InverseRootCount, Sample, Softmax, Visits
from dorax.experiments._random_worlds import World
from dorax.study import figures
from dorax.study.experiment import Setting
from dorax.study.fitting import settings_of

RATES = (0.03, 0.1, 0.3, 0.7)
EPSILONS = (0.03, 0.1, 0.3, 1.0)
PORTIONS = (0.003, 0.03, 0.3, 3.0)  # of a world's largest value: temperatures and scales
NOVELTY = (0.03, 0.3, 3.0, 30.0)  # of it: first values of novelty
WIDTHS = (0.0003, 0.003, 0.03, 0.3)  # of it: first confidence widths
HORIZONS = (0.1, 0.3, 1.0, 3.0)  # of 1 / (1 - discount)
OPTIMISM = (0.03, 0.1, 0.3, 1.0)  # of it: initial values
SIDES = 4  # of the square of settings: every agent has 16


@dataclass(frozen=True)
class Explorer:
    """An agent of the comparison, with 16 settings to choose from.

    Attributes:
        agent: the agent.
        settings: the settings.
        line: how it is drawn.
    """

    agent: TabularAgent
    settings: Sequence[Setting]
    line: dict[str, Any]


def explorers(world: World) -> dict[str, Explorer]:
    """Create the agents for one world.

    Args:
        world: the world.

    Returns:
        The agents by name.
    """
    blue, orange, green, pink, yellow, light_blue = figures.COLOURS[:6]
    horizon = 1 / (1 - world.discount)
    portions = [portion * world.largest_value for portion in PORTIONS]
    optimism = [portion * world.largest_value for portion in OPTIMISM]

    def agent(rule: Any, counter: Any = None, update: Any = None, bonus: Any = None) -> TabularAgent:
        return TabularAgent(rule, counter or Visits(), bonus, update or QLearning(), discount=world.discount)

    def crossed(name: str, values: Sequence[float]) -> list[dict[str, float]]:
        return settings_of({"learning_rate": RATES, name: values})

    def squared(name: str, values: Sequence[float]) -> list[dict[str, float]]:
        """A Latin square: each two of the three numbers are crossed, and the third is given by them."""
        return [
            {"learning_rate": RATES[i], name: values[j], "counter.learning_rate": RATES[(i + j) % SIDES]}
            for i in range(SIDES)
            for j in range(SIDES)
        ]

    # What novelty is worth at first, and the first confidence width, are the given portions of the largest value.
    bonuses = [portion * world.largest_value / horizon for portion in NOVELTY]
    confidence = [
        {"horizon": h, "scale": portion * world.largest_value / h**1.5}
        for h in (portion * horizon for portion in HORIZONS)
        for portion in WIDTHS
    ]
    greedy = Sample(EpsilonGreedy(0.0))
    e_values = EValues(world.discount, learning_rate=0.1)
    softmax, ucb = Softmax(1.0), UCB(1.0)
    return {
        "ε-greedy": Explorer(
            agent(Sample(EpsilonGreedy(0.1))), crossed("epsilon", EPSILONS), {"color": orange, "linestyle": ":"}
        ),
        "softmax": Explorer(
            agent(Sample(softmax)), crossed("temperature", portions), {"color": blue, "linestyle": ":"}
        ),
        "LLL softmax, visits": Explorer(
            agent(LLL(softmax)), crossed("temperature", portions), {"color": blue, "linestyle": "--"}
        ),
        "LLL softmax, E-values": Explorer(
            agent(LLL(softmax), e_values), squared("temperature", portions), {"color": blue, "linestyle": "-"}
        ),
        "UCB, visits": Explorer(agent(ucb), crossed("scale", portions), {"color": green, "linestyle": "--"}),
        "UCB, E-values": Explorer(agent(ucb, e_values), squared("scale", portions), {"color": green, "linestyle": "-"}),
        "optimistic Q-learning": Explorer(
            agent(greedy, update=QLearning(1.0)), crossed("initial_value", optimism), {"color": pink, "linestyle": "-."}
        ),
        "count bonus with its own values": Explorer(
            agent(greedy, update=NoveltyQLearning(world.discount), bonus=InverseRootCount(1.0)),
            crossed("scale", bonuses),
            {"color": yellow, "linestyle": "-."},
        ),
        "UCB-H": Explorer(
            agent(greedy, update=HoeffdingQLearning(horizon, world.largest_value)),
            confidence,
            {"color": light_blue, "linestyle": "-."},
        ),
    }
