"""What all agents share: parts that fit together, or one line that says which do."""

from __future__ import annotations

import inspect
from typing import Any, cast

from dorax.core.checks import InvalidInput, in_brief
from dorax.core.policies import EpsilonGreedy, Softmax
from dorax.core.rules import LLL, UCB, Deficit, Rule, Sample


def as_rule(rule: Rule | EpsilonGreedy | Softmax) -> Rule:
    """A rule as it is; a policy alone becomes the rule that draws actions from it."""
    return Sample(rule) if isinstance(rule, EpsilonGreedy | Softmax) else rule


def check_rule(rule: Any) -> None:
    """Raise unless `rule` can choose an action from values, counts, steps and a uniform number."""
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


def check_optional_counter(rule: Any, counter: Any, bonus: Any) -> None:
    """Raise unless an agent that may go without a counter has one where its rule or its bonus needs it."""
    if counter is not None and not hasattr(counter, "approximated"):
        raise InvalidInput(f"counter is {counter!r}; allowed: Visits, EValues, None or a counter like them")
    if counter is None and bonus is not None:
        raise InvalidInput("bonus is given without a counter; allowed: a bonus with Visits or EValues")
    if counter is None and isinstance(rule, LLL | Deficit | UCB):
        name = type(rule).__name__
        raise InvalidInput(f"rule is {name} without a counter to count by; allowed: {name} with Visits or EValues")


def check_functional(name: str, env: Any) -> None:
    """Raise unless `env` is a functional environment, or a list of them."""
    for one in cast("list[Any]", env if isinstance(env, list) else [env]):
        if isinstance(one, type) or not hasattr(one, "step_env"):
            raise InvalidInput(
                f"the environment of a {name} is {in_brief(one)}; allowed: a functional environment, see dorax.envs"
            )
