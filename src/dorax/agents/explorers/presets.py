"""Explorers by name: how an agent with many games explores, as arguments of `ParallelAgent`.

    agent = dorax.ParallelAgent(**preset("rnd", scale=0.3), games=128)

Numbers that are not given have the defaults below. They are where to start a sweep, not fitted to any world.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from dorax.agents.explorers.specs import RND, NovelD
from dorax.core.bonuses import InverseRootCount
from dorax.core.checks import InvalidInput, suggestion
from dorax.core.counters import EValues, Visits
from dorax.core.policies import EpsilonGreedy, Softmax
from dorax.core.rules import LLL, UCB, Sample, SampledLLL
from dorax.core.spreads import Spread
from dorax.features.specs import CountNetwork, HashedCodes, RandomStart

Arguments = dict[str, Any]
_LADDER = Spread(0.01, 0.4)  # ε of the games that explore
_CODES = HashedCodes()


class Preset(NamedTuple):
    """One way to explore.

    Attributes:
        description: how it explores, in one line.
        arguments: function of its numbers that returns arguments of `ParallelAgent`.
    """

    description: str
    arguments: Callable[..., Arguments]

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of its numbers."""
        return tuple(inspect.signature(self.arguments).parameters)


def preset(name: str, **numbers: Any) -> Arguments:
    """Return the arguments of `ParallelAgent` that make it explore in one of the ways of `PRESETS`.

    Args:
        name: name of the explorer, such as "e-values".
        numbers: numbers of the explorer, in place of the defaults.

    Returns:
        Rule, counter, bonus and whatever else belongs to the explorer.
    """
    if name not in PRESETS:
        raise InvalidInput(f"explorer is {name!r};{suggestion(name, PRESETS)} allowed: {', '.join(PRESETS)}")
    found = PRESETS[name]
    for number in numbers:
        if number not in found.numbers:
            raise InvalidInput(f"{number} is given with the explorer {name}; allowed: {', '.join(found.numbers)}")
    return found.arguments(**numbers)


def _e_values(temperature: Any = 0.05, e_discount: Any = 0.99, features: Any = None) -> Arguments:
    return {"rule": LLL(Softmax(temperature)), "counter": EValues(e_discount, features=features)}


def _visits(temperature: Any = 0.05, features: Any = None) -> Arguments:
    return {"rule": LLL(Softmax(temperature)), "counter": Visits(features=features)}


def _draws(temperature: Any = 0.05, e_discount: Any = 0.99, power: Any = 4.0, features: Any = None) -> Arguments:
    counter = EValues(e_discount, features=features)
    return {"rule": SampledLLL(Softmax(temperature), power), "counter": counter, "takes_turns": False}


def _ucb(scale: Any = 0.1, e_discount: Any = 0.99, features: Any = None) -> Arguments:
    return {"rule": UCB(scale), "counter": EValues(e_discount, features=features)}


def _random_start(temperature: Any = 0.05, e_discount: Any = 0.99, network_rate: Any = 5e-4) -> Arguments:
    return _e_values(temperature, e_discount, RandomStart(learning_rate=network_rate))


def _count_network(temperature: Any = 0.05, e_discount: Any = 0.99, network_rate: Any = 5e-4) -> Arguments:
    return _e_values(temperature, e_discount, CountNetwork(learning_rate=network_rate))


def _e_value_bonus(
    scale: Any = 0.03, e_discount: Any = 0.99, epsilon: Any = _LADDER, novelty_discount: Any = 0.99,
    features: Any = None,
) -> Arguments:  # fmt: skip
    counter = EValues(e_discount, features=features)
    return {**_rewarded(epsilon, novelty_discount), "counter": counter, "bonus": InverseRootCount(scale)}


def _count_bonus(
    scale: Any = 0.1, epsilon: Any = _LADDER, novelty_discount: Any = 0.99, features: Any = _CODES
) -> Arguments:
    counter = Visits(features=features)
    return {**_rewarded(epsilon, novelty_discount), "counter": counter, "bonus": InverseRootCount(scale)}


def _rnd(
    scale: Any = 0.3, epsilon: Any = _LADDER, novelty_discount: Any = 0.99, predictor_rate: Any = 1e-3, share: Any = 1.0
) -> Arguments:
    bonus = RND(scale, learning_rate=predictor_rate, share=share)
    return {**_rewarded(epsilon, novelty_discount), "bonus": bonus}


def _noveld(
    scale: Any = 0.3, epsilon: Any = _LADDER, novelty_discount: Any = 0.99, predictor_rate: Any = 1e-3,
    share: Any = 1.0, features: Any = None,
) -> Arguments:  # fmt: skip
    bonus = NovelD(RND(scale, learning_rate=predictor_rate, share=share), features=features)
    return {**_rewarded(epsilon, novelty_discount), "bonus": bonus}


def _rewarded(epsilon: Any, novelty_discount: Any) -> Arguments:
    return {"rule": Sample(EpsilonGreedy(epsilon)), "novelty_discount": novelty_discount}


def _epsilon_greedy(epsilon: Any = _LADDER) -> Arguments:
    return {"rule": Sample(EpsilonGreedy(epsilon))}


def _bootstrapped(heads: int = 16, prior_scale: Any = 1.0, epsilon: Any = 0.0) -> Arguments:
    return {"rule": Sample(EpsilonGreedy(epsilon)), "heads": heads, "prior_scale": prior_scale}


PRESETS: dict[str, Preset] = {
    "e-values": Preset("LLL on E-values, in turns", _e_values),
    "visits": Preset("LLL on visits, in turns", _visits),
    "draws": Preset("every game on its own draws from (f / c) ** power, on E-values", _draws),
    "ucb": Preset("an upper confidence bound on E-values, in turns", _ucb),
    "random-start": Preset("LLL on E-values by a network that starts as a random function", _random_start),
    "count-network": Preset("LLL on generalized counts by a network", _count_network),
    "e-value-bonus": Preset("a bonus of scale / √c on E-values, with values of its own", _e_value_bonus),
    "count-bonus": Preset("a bonus of scale / √visits on hashed codes, with values of its own", _count_bonus),
    "rnd": Preset("random network distillation, with values of its own", _rnd),
    "noveld": Preset("NovelD, with values of its own", _noveld),
    "epsilon-greedy": Preset("ε-greedy, with another ε in every game", _epsilon_greedy),
    "bootstrapped": Preset("heads with random functions added, one head a game", _bootstrapped),
}
