"""E-values by function approximation: what an output means, and what pulls it where.

A table holds one count for every pair. An approximator has an output for every pair,
and a step on one moves others along. Two forms, by what the output stands for:

    logistic    E = sigmoid(output), the paper's; an output of 0 is E = 1/2
    count       the generalized count itself, ours; an output of 0 is a count of 0

`error` is where a gradient step on half the squared error wants the output to go, its
successor held fixed; an approximator adds its share, `step_size`, of that.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx

from dorax.core.arrays import Array, as_float, namespace
from dorax.core.checks import Flags, InvalidInput, Numbers, check_discount, check_numbers, check_rate
from dorax.core.counts import next_count
from dorax.core.rules import LLL, UCB, Deficit


class LogisticE(eqx.Module):
    """The paper's form: squared SARSA error of E = sigmoid(output).

    Its gradient carries the factor E (1 - E), so that steps shrink as E does: without
    propagation -log E grows like the logarithm of the visits, not like their number.
    `learning_rate` is the base that turns E into a count, and nothing else.
    """

    discount: Array = 0.99
    step_size: Array = 0.5
    learning_rate: Array = 0.5

    def __check_init__(self) -> None:
        _check(self, largest_step=float("inf"))

    def count(self, output: Array) -> Array:
        xp = namespace(output)
        output = as_float(output, xp)
        return _softplus(-output, xp) / -xp.log1p(-as_float(self.learning_rate, xp, like=output))

    def visited_count(self, output: Array, error: Array) -> Array:
        """The count after this visit, which a bonus is made from."""
        return self.count(output + self.step_size * error)

    def error(self, output: Array, successor_output: Array, is_terminal: Array) -> Array:
        xp = namespace(output, successor_output)
        output = as_float(output, xp)
        e, rest = xp.exp(-_softplus(-output, xp)), xp.exp(-_softplus(output, xp))
        successor_e = xp.exp(-_softplus(-as_float(successor_output, xp, like=output), xp))
        target = as_float(self.discount, xp, like=output) * xp.where(is_terminal, 0.0, successor_e)
        return (target - e) * e * rest


class CountE(eqx.Module):
    """Our form: the output is the count, and is pulled to what one more visit makes of it.

    `learning_rate` is alpha_E of that update. With features that no two pairs share and
    step size 1 this is the table, exactly; with tiles it counts visits at the resolution
    of the tiles. An output below 0, which shared features can leave behind, counts as 0.
    """

    discount: Array = 0.99
    step_size: Array = 1.0
    learning_rate: Array = 0.5

    def __check_init__(self) -> None:
        _check(self, largest_step=1.0)

    def count(self, output: Array) -> Array:
        xp = namespace(output)
        output = as_float(output, xp)
        return xp.maximum(output, xp.zeros_like(output))

    def visited_count(self, output: Array, error: Array) -> Array:
        """The count after this visit, which a bonus is made from: all of it, and so never 0, whatever the step size."""
        return self.count(output + error)

    def error(self, output: Array, successor_output: Array, is_terminal: Array) -> Array:
        xp = namespace(output, successor_output)
        output = as_float(output, xp)
        successor = xp.where(is_terminal, xp.inf, self.count(as_float(successor_output, xp, like=output)))
        return next_count(self.count(output), successor, self.learning_rate, self.discount) - output


def check_parts(rule: Any, e_values: Any, bonus: Any) -> None:
    """Raise unless an agent that approximates can be made of these."""
    if not callable(rule):
        raise InvalidInput(f"rule is {rule!r}; allowed: Sample, LLL, Deficit, UCB or a function like them")
    if e_values is not None and not (hasattr(e_values, "count") and hasattr(e_values, "error")):
        raise InvalidInput(f"e_values is {e_values!r}; allowed: LogisticE, CountE, None or a form like them")
    if e_values is None and bonus is not None:
        raise InvalidInput("bonus is given without e_values; allowed: a bonus with LogisticE or CountE")
    if e_values is None and isinstance(rule, LLL | Deficit | UCB):
        name = type(rule).__name__
        raise InvalidInput(f"rule is {name} without e_values to count by; allowed: {name} with LogisticE or CountE")


def _softplus(x: Array, xp: Any) -> Array:
    """log(1 + exp x)."""
    return xp.logaddexp(x, xp.zeros_like(x))


def _check(form: LogisticE | CountE, largest_step: float) -> None:
    def is_allowed(x: Numbers) -> Flags:
        return (x > 0) & (x <= largest_step)

    check_discount("the exploration discount", form.discount)
    allowed = "a number above 0" + ("" if largest_step == float("inf") else f", at most {largest_step:g}")
    check_numbers("the step size of E-values", form.step_size, allowed, is_allowed)
    check_rate("the exploration learning rate", form.learning_rate)
