"""Make explorers from an agent's counter and bonus."""

from __future__ import annotations

from typing import Any

from dorax.agents.explorers.learned import LearnedCodes
from dorax.agents.explorers.networks import NetworkCounts
from dorax.agents.explorers.portions import InPortions
from dorax.agents.explorers.predictors import NoveltyDifferences, PredictionErrors
from dorax.agents.explorers.protocol import Explorer, Explores
from dorax.agents.explorers.random_start import RandomStartCounts
from dorax.agents.explorers.specs import RND, NovelD
from dorax.agents.explorers.tables import CountTables
from dorax.agents.value_network import Inputs
from dorax.core.agents import check_bonus, check_features
from dorax.core.checks import InvalidInput, in_brief
from dorax.core.counters import EValues, Visits
from dorax.core.rules import LLL, UCB, Deficit, SampledLLL
from dorax.core.schedules import has_schedule
from dorax.features.codes import encoder
from dorax.features.specs import CountNetwork, HashedCodes, LearnedPrototypes, Prototypes, RandomStart, Table

_FOR_VECTORS = HashedCodes, Prototypes, LearnedPrototypes, CountNetwork, RandomStart
_FEATURES = Table, *_FOR_VECTORS
_PORTION = 32  # steps that networks learn from at a time


def explorers_of(counter: Any, bonus: Any, inputs: Inputs, actions: int, games: int) -> tuple[Explorer[Any], ...]:
    """Make the explorers of an agent; one with counts comes first.

    Args:
        counter: the agent's counter, or None.
        bonus: its bonus, or None.
        inputs: what networks see.
        actions: number of actions.
        games: largest number of games.

    Returns:
        The explorers.
    """
    states = inputs.size if inputs.is_finite else None
    if isinstance(bonus, RND):
        return (*explorers_of(counter, None, inputs, actions, games), PredictionErrors(bonus, inputs, games))
    if isinstance(bonus, NovelD):
        errors = PredictionErrors(bonus.rnd, inputs, games)
        differences = NoveltyDifferences(bonus, errors, encoder(bonus.features, states, inputs.size))
        return (*explorers_of(counter, None, inputs, actions, games), differences)
    if isinstance(bonus, Explores):
        return (*explorers_of(counter, None, inputs, actions, games), bonus.explorer(inputs, actions, games))
    if counter is None:
        return ()
    if isinstance(counter, Explores):
        return (counter.explorer(inputs, actions, games),)
    features = counter.features
    if isinstance(features, CountNetwork):
        return (NetworkCounts(counter.approximated(), bonus, features, inputs, actions),)
    if isinstance(features, RandomStart):
        return (RandomStartCounts(counter.approximated(), bonus, features, inputs, actions),)
    if isinstance(features, LearnedPrototypes):
        learned = LearnedCodes(features, inputs, actions) if states is None else encoder(None, states, inputs.size)
        return (CountTables(counter, bonus, learned, actions),)
    return (CountTables(counter, bonus, encoder(features, states, inputs.size), actions),)


def explorer_of_one(counter: Any, bonus: Any, inputs: Inputs, actions: int, every: int) -> Explorer[Any]:
    """Make the explorer of an agent with a single game.

    Args:
        counter: the agent's counter, with features.
        bonus: bonus of its counts, or None.
        inputs: what networks see.
        actions: number of actions.
        every: number of steps between updates.

    Returns:
        The explorer.
    """
    (explorer,) = explorers_of(counter, bonus, inputs, actions, games=1)
    if isinstance(counter.features, HashedCodes | Prototypes):
        return explorer
    return InPortions(explorer, inputs, -(-_PORTION // every) * every)


def check_explorers(rule: Any, counter: Any, bonus: Any) -> None:
    """Raise unless an agent's rule, counter and bonus fit together.

    Args:
        rule: the action rule.
        counter: the counter, or None.
        bonus: the bonus, or None.

    Raises:
        InvalidInput: if they don't.
    """
    predicts = isinstance(bonus, RND | NovelD | Explores) and not isinstance(bonus, type)
    if not predicts or has_schedule(bonus):
        check_bonus(bonus)
    if isinstance(counter, Explores) and not isinstance(counter, type):
        if bonus is not None and not predicts:
            raise InvalidInput(
                f"bonus is {in_brief(bonus)} with a counter of your own; allowed: None, since its explorer can add a "
                "bonus of its own, or a bonus that needs no counts"
            )
        return
    if counter is not None and not hasattr(counter, "after"):
        raise InvalidInput(f"counter is {counter!r}; allowed: Visits, EValues, None or a counter like them")
    if counter is None and bonus is not None and not predicts:
        raise InvalidInput("bonus is given without a counter; allowed: a bonus with Visits or EValues, RND or NovelD")
    if counter is None and isinstance(rule, LLL | SampledLLL | Deficit | UCB):
        name = type(rule).__name__
        raise InvalidInput(f"rule is {name} without a counter; allowed: {name} with Visits or EValues")
    if counter is not None:
        _check_features(counter)


def check_vector_features(agent: str, rule: Any, counter: Any, bonus: Any, otherwise: str) -> None:
    """Check the features of the counter of an agent for vectors with a single game, if it has any.

    Args:
        agent: name of the agent's class, for the message.
        rule: the action rule.
        counter: the counter, or None.
        bonus: the bonus, or None.
        otherwise: where its counts are without features, in words.

    Raises:
        InvalidInput: if the agent does not support them, or they don't fit to the counter's other options.
    """
    names = ", ".join(kind.__name__ for kind in _FOR_VECTORS)
    check_features(agent, counter, f"{names}, or None for {otherwise}", *_FOR_VECTORS)
    if getattr(counter, "features", None) is not None:
        check_explorers(rule, counter, bonus)


def _check_features(counter: Any) -> None:
    """Raise unless a counter's features are ones of many games, and its options mean something with them."""
    check_features("ParallelAgent", counter, ", ".join(kind.__name__ for kind in _FEATURES), *_FEATURES)
    is_network = isinstance(counter.features, CountNetwork)
    if isinstance(counter, EValues):
        if counter.successor_rule != "sarsa" or (counter.form != "count" and not is_network):
            raise InvalidInput(
                f"counter is EValues with form {counter.form!r} and successor_rule {counter.successor_rule!r}; "
                "allowed: 'count' and 'sarsa', with a CountNetwork also 'logistic'"
            )
        if counter.step_size is not None:
            raise InvalidInput(
                f"step_size is {in_brief(counter.step_size)}; allowed: None, since counts in tables take whole steps "
                "here and networks have a learning rate"
            )
    elif isinstance(counter.features, CountNetwork | RandomStart) and not isinstance(counter, Visits):
        raise InvalidInput(
            f"counter is {in_brief(counter)} with {type(counter.features).__name__}; allowed: EValues or Visits"
        )
