"""The explorers that are compared with networks and many games, with grids of equal size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from dorax.agents.explorers.presets import preset
from dorax.agents.parallel import ParallelAgent
from dorax.agents.tabular import TabularAgent
from dorax.core import LLL, EValues, Softmax, Spread, Visits
from dorax.features.specs import LearnedPrototypes, Prototypes
from dorax.study import figures
from dorax.study.experiment import Grid, Setting
from dorax.study.fitting import settings_of

E_DISCOUNT = 0.99  # of E-values, and of values of a bonus
TURNS, DRAWS, VISITS = "E-values", "E-values, independent draws", "visits"
E_BONUS, COUNT_BONUS, RANDOM_START = "E-value bonus", "count bonus, own values", "random start"
LEARNED, LEARNED_VISITS = "E-values, learned features", "visits, learned features"
TABLE = "table, a single game"
RND_BONUS, NOVELD, BOOTSTRAPPED, LADDER = "RND", "NovelD", "bootstrapped Q", "ε-greedy"
RIVALS = (VISITS, E_BONUS, COUNT_BONUS, RND_BONUS, NOVELD, BOOTSTRAPPED, LADDER)

SETTINGS = 24  # of each explorer
LEARNER = {"learning_rate": (2.5e-4, 1e-3), "trace": (0.65, 0.9)}  # crossed with six values of the explorer's own
TEMPERATURES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
SCALES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)


@dataclass(frozen=True)
class Explorer:
    """An agent of the comparison.

    Attributes:
        agent: the agent.
        own: the numbers of its own to fit, six combinations or twelve.
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
    def grid(self) -> Grid:
        """All that is fitted: 24 settings, which are all combinations or, of 48, every other one."""
        numbers = {**self.own, **self.learner}
        return numbers if prod(map(len, numbers.values())) <= SETTINGS else half_fraction(numbers)


def half_fraction(numbers: Mapping[str, Sequence[float]]) -> list[Setting]:
    """List every other combination of some numbers: those in which an even number of pairs has its second value.

    Of any two numbers every combination of values is still among them, as long as there are three pairs.

    Args:
        numbers: values by name, some of them pairs.
    """
    chosen: list[Setting] = []
    for setting in settings_of(numbers):
        seconds = sum(setting[name] == values[1] for name, values in numbers.items() if len(values) == 2)
        if seconds % 2 == 0:
            chosen.append(setting)
    return chosen


def learned_features() -> dict[str, Explorer]:
    """Create the agents that act by E-values and by visits over learned features.

    Their settings are those of the agents without learned features.
    """
    chosen = explorers()
    made: dict[str, Explorer] = {}
    for name, without, counter in (
        (LEARNED, TURNS, EValues(E_DISCOUNT, features=LearnedPrototypes())),
        (LEARNED_VISITS, VISITS, Visits(features=LearnedPrototypes())),
    ):
        found = chosen[without]
        agent = replace(found.agent, counter=counter)
        made[name] = replace(found, agent=agent, line={**found.line, "color": figures.COLOURS[2]})
    return made


def table_agent() -> Explorer:
    """Create the agent with a table instead of a network, which plays a single game."""
    agent = TabularAgent(LLL(Softmax(0.03)), EValues(E_DISCOUNT, learning_rate=0.5), discount=0.99)
    own = {"temperature": TEMPERATURES, "learning_rate": (0.1, 0.3, 0.5, 0.9)}
    told = "the number of the state"
    return Explorer(agent, own, {"color": "black", "linestyle": ":"}, told, learner={})


def explorers(games: int = 64) -> dict[str, Explorer]:
    """Create the agents.

    Args:
        games: number of games, a quarter of which plays greedily.

    Returns:
        The agents by name.
    """
    blue, orange, green, pink, yellow, light_blue, red, grey = figures.COLOURS[:8]
    prototypes, ladder = Prototypes(), Spread(0.01, 0.1)
    temperature, scale = {"temperature": TEMPERATURES}, {"bonus.scale": SCALES}
    predicted = {"scale": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0), "share": (0.25, 1.0)}

    def explorer(
        word: str, own: Mapping[str, Sequence[float]], colour: str, line: str = "-", **numbers: Any
    ) -> Explorer:
        agent = ParallelAgent(**preset(word, **numbers), games=games)
        return Explorer(agent, own, {"color": colour, "linestyle": line})

    draws = {"temperature": (0.01, 0.03, 0.1), "power": (2.0, 6.0)}
    e_bonus = explorer("e-value-bonus", scale, orange, epsilon=ladder, features=prototypes, novelty_discount=None)
    return {
        TURNS: explorer("e-values", temperature, blue, features=prototypes),
        VISITS: explorer("visits", temperature, blue, "--", features=prototypes),
        LADDER: explorer("epsilon-greedy", {"first": (0.01, 0.1), "last": (0.1, 0.4, 1.0)}, grey, ":"),
        RND_BONUS: explorer("rnd", predicted, pink, "-.", epsilon=ladder),
        E_BONUS: e_bonus,
        COUNT_BONUS: explorer("count-bonus", scale, yellow, "-.", epsilon=ladder),
        NOVELD: explorer("noveld", predicted, pink, ":", epsilon=ladder),
        BOOTSTRAPPED: explorer(
            "bootstrapped", {"prior_scale": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)}, red, "-.", heads=games - games // 4
        ),
        DRAWS: explorer("draws", draws, light_blue, features=prototypes),
        RANDOM_START: explorer("random-start", temperature, green),
    }
