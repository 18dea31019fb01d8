"""The explorers that are compared with networks and many games, with grids of equal size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dorax.agents.explorers import RND, NovelD
from dorax.agents.parallel import ParallelAgent
from dorax.agents.tabular import TabularAgent
from dorax.core import LLL, EpsilonGreedy, EValues, InverseRootCount, SampledLLL, Softmax, Spread, Visits
from dorax.features.specs import HashedCodes, Prototypes, RandomStart
from dorax.study import figures

E_DISCOUNT = 0.99  # of E-values, and of values of a bonus
TURNS, DRAWS, VISITS = "E-values", "E-values, independent draws", "visits"
E_BONUS, COUNT_BONUS, RANDOM_START = "E-value bonus", "count bonus, own values", "random start"
RND_BONUS, NOVELD, BOOTSTRAPPED, LADDER = "RND", "NovelD", "bootstrapped Q", "ε-greedy"
RIVALS = (VISITS, E_BONUS, COUNT_BONUS, RND_BONUS, NOVELD, BOOTSTRAPPED, LADDER)

LEARNER = {"learning_rate": (2.5e-4, 1e-3), "trace": (0.65, 0.9)}  # crossed with six values of the explorer's own
TEMPERATURES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
SCALES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)


@dataclass(frozen=True)
class Explorer:
    """An agent of the comparison.

    Attributes:
        agent: the agent.
        own: the numbers of its own to fit, six combinations.
        line: how it is drawn.
        told: what it is told about the world beyond what the others are.
        learner: the numbers of the learner to fit.
    """

    agent: ParallelAgent | TabularAgent
    own: Mapping[str, Sequence[float]]
    line: Mapping[str, Any]
    told: str = ""
    learner: Mapping[str, Sequence[float]] = field(default_factory=lambda: LEARNER)

    @property
    def grid(self) -> dict[str, Sequence[float]]:
        """All that is fitted: 24 settings."""
        return {**self.own, **self.learner}


def explorers(games: int = 64) -> dict[str, Explorer]:
    """Create the agents.

    Args:
        games: number of games, a quarter of which plays greedily.

    Returns:
        The agents by name.
    """
    blue, orange, green, pink, yellow, light_blue, red = figures.COLOURS[:7]
    grey = figures.COLOURS[7]
    lll, features = LLL(Softmax(0.03)), Prototypes()
    e_values, visits = EValues(E_DISCOUNT, learning_rate=0.5, features=features), Visits(features)
    greedy, bonus = EpsilonGreedy(Spread(0.01, 0.1)), InverseRootCount(0.01)
    temperature, scale = {"temperature": TEMPERATURES}, {"bonus.scale": SCALES}
    predicted = {"scale": (0.01, 0.1, 1.0), "share": (0.25, 1.0)}

    def agent(rule: Any, counter: Any = None, bonus: Any = None, **options: Any) -> ParallelAgent:
        return ParallelAgent(rule, counter, bonus, games=games, **options)

    return {
        TURNS: Explorer(agent(lll, e_values), temperature, {"color": blue}),
        DRAWS: Explorer(
            agent(SampledLLL(Softmax(0.03), 4.0), e_values, takes_turns=False),
            {"temperature": (0.01, 0.03, 0.1), "power": (2.0, 6.0)},
            {"color": light_blue},
        ),
        RANDOM_START: Explorer(agent(lll, replace_features(e_values, RandomStart())), temperature, {"color": green}),
        VISITS: Explorer(agent(lll, visits), temperature, {"color": blue, "linestyle": "--"}),
        E_BONUS: Explorer(agent(greedy, e_values, bonus), scale, {"color": orange}),
        COUNT_BONUS: Explorer(
            agent(greedy, Visits(HashedCodes()), bonus, novelty_discount=E_DISCOUNT),
            scale,
            {"color": yellow, "linestyle": "-."},
        ),
        RND_BONUS: Explorer(
            agent(greedy, None, RND(0.1), novelty_discount=E_DISCOUNT), predicted, {"color": pink, "linestyle": "-."}
        ),
        NOVELD: Explorer(
            agent(greedy, None, NovelD(RND(0.1)), novelty_discount=E_DISCOUNT),
            predicted,
            {"color": pink, "linestyle": ":"},
        ),
        BOOTSTRAPPED: Explorer(
            agent(EpsilonGreedy(0.0), heads=games - games // 4),
            {"prior_scale": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)},
            {"color": red, "linestyle": "-."},
        ),
        LADDER: Explorer(
            agent(EpsilonGreedy(Spread(0.01, 0.4))),
            {"first": (0.001, 0.03), "last": (0.1, 0.4, 1.0)},
            {"color": grey, "linestyle": ":"},
        ),
    }


def replace_features(counter: EValues, features: Any) -> EValues:
    """Return the same counter on other features.

    Args:
        counter: the counter.
        features: how states are described.
    """
    return replace(counter, features=features)
