"""Checks that all agents share: whether rule, counter, bonus and environment fit together."""

from __future__ import annotations

import inspect
from typing import Any, cast

from dorax.core.checks import InvalidInput, in_brief
from dorax.core.policies import EpsilonGreedy, Softmax
from dorax.core.rules import LLL, UCB, Deficit, Rule, Sample
from dorax.core.schedules import has_schedule
from dorax.core.spreads import has_spread


def as_rule(rule: Rule | EpsilonGreedy | Softmax) -> Rule:
    """Turn a policy into a rule that samples from it.

    Args:
        rule: a rule, or a policy (`EpsilonGreedy` or `Softmax`).

    Returns:
        `Sample(rule)` for a policy; a rule is returned unchanged.
    """
    return Sample(rule) if isinstance(rule, EpsilonGreedy | Softmax) else rule


def check_rule(rule: Any, *, may_spread: bool = False) -> None:
    """Raise unless `rule` can choose an action from values, counts, steps and a uniform number.

    Args:
        rule: the value to check.
        may_spread: whether its numbers may differ between games.

    Raises:
        InvalidInput: if it cannot be called with these four arguments, or if numbers differ that may not.
    """
    try:
        inspect.signature(rule).bind(0, 0, 0, 0)
        is_rule = not isinstance(rule, type)
    except (TypeError, ValueError):
        is_rule = False
    if not is_rule:
        raise InvalidInput(
            f"rule is {rule!r}; allowed: Sample, LLL, Deficit, UCB or a function of values, counts, steps and a "
            "uniform number (to draw actions from a policy of your own: Sample(policy))"
        )
    if not may_spread:
        check_no_spread("rule", rule)


def check_no_spread(name: str, part: Any) -> None:
    """Raise `InvalidInput` if a number of a part of an agent differs between games.

    Args:
        name: name of the part, for the message.
        part: the part.
    """
    if has_spread(part):
        raise InvalidInput(
            f"{name} is {in_brief(part)}, with a Spread; allowed: a Spread in the rule of a ParallelAgent, whose games "
            "act by numbers of their own"
        )


def check_optional_counter(rule: Any, counter: Any, bonus: Any) -> None:
    """Check the counter of an agent that may have none.

    Args:
        rule: the action rule.
        counter: a counter, or None.
        bonus: a bonus, or None.

    Raises:
        InvalidInput: if the counter does not support function approximation, or if it is None although the
            rule or the bonus needs counts.
    """
    if counter is not None and not hasattr(counter, "approximated"):
        raise InvalidInput(f"counter is {counter!r}; allowed: Visits, EValues, None or a counter like them")
    check_bonus(bonus)
    if counter is None and bonus is not None:
        raise InvalidInput("bonus is given without a counter; allowed: a bonus with Visits or EValues")
    if counter is None and isinstance(rule, LLL | Deficit | UCB):
        name = type(rule).__name__
        raise InvalidInput(f"rule is {name} without a counter; allowed: {name} with Visits or EValues")


def check_features(name: str, counter: Any, supported: str, *kinds: type) -> None:
    """Check that an agent supports the features of its counter.

    Args:
        name: name of the agent's class, for the message.
        counter: a counter, or None.
        supported: what the agent supports, in words.
        kinds: classes of features that it supports besides None.

    Raises:
        InvalidInput: if it does not.
    """
    features = getattr(counter, "features", None)
    if features is not None and not isinstance(features, kinds):
        raise InvalidInput(f"features of the counter are {in_brief(features)}; {name} supports {supported}")


def check_bonus(bonus: Any, *, may_change: bool = False) -> None:
    """Check the bonus of an agent.

    Args:
        bonus: a bonus, or None.
        may_change: whether the agent supports a bonus that follows a schedule.

    Raises:
        InvalidInput: if it is something else.
    """
    if has_schedule(bonus) and not may_change:
        raise InvalidInput(
            f"bonus is {in_brief(bonus)}, with a schedule; allowed: without one, or one in "
            "the ConstantBonus of an AtariAgent"
        )
    if bonus is not None and (isinstance(bonus, type) or not callable(bonus)):
        raise InvalidInput(
            f"bonus is {bonus!r}; allowed: InverseCount(), InverseRootCount(), InverseRootLogE(), a function like them "
            "or None"
        )


def check_functional(name: str, env: Any) -> None:
    """Raise unless `env` is a functional environment, a list of them, or one on the host with vector observations.

    Args:
        name: name of the agent's class, for the message.
        env: the value to check.

    Raises:
        InvalidInput: if it is something else.
    """
    for one in cast("list[Any]", env if isinstance(env, list) else [env]):
        has_vectors = getattr(getattr(one, "spec", None), "low", None) is not None
        if isinstance(one, type) or not (hasattr(one, "step_env") or has_vectors):
            raise InvalidInput(
                f"the environment of a {name} is {in_brief(one)}; allowed: a functional environment, see dorax.envs "
                "(dorax.envs.GymnasiumEnv(id) is one of Gymnasium's with vector observations)"
            )
