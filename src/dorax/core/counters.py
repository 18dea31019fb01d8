"""Counters: what one more visit does to the count of a state-action pair.

A table keeps one count for every pair, and a counter says what the next one is (`successor`
and `next`). A function approximator has an output for every pair, and a step on one moves
others along; there a counter says what an output means (`count`) and where a visit wants it
to go (`error`). E-values have two such forms:

    count       the output is the generalized count itself (ours); an output of 0 is a count of 0
    logistic    E = sigmoid(output), the paper's; an output of 0 is E = 1/2
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, runtime_checkable

import equinox as eqx

from dorax.core.arrays import Array, as_float, namespace
from dorax.core.checks import Flags, InvalidInput, Numbers, check_discount, check_numbers, check_rate
from dorax.core.counts import next_count
from dorax.core.methods import plain_method

_RATE = 0.5  # alpha_E of an approximator, unless given


@runtime_checkable
class Counter(Protocol):
    """What every agent asks of a counter."""

    def successor(self, counts: Array, action: Array) -> Array:
        """The count that s' passes on, given the counts of its actions and the action taken there."""
        ...

    def next(self, count: Array, successor_count: Array, learning_rate: Array) -> Array:
        """The count after one more visit; `learning_rate` is the agent's, used unless the counter has its own."""
        ...

    def rate(self, learning_rate: Array) -> Array:
        """The counter's own learning rate, or the agent's."""
        ...


class ApproximatedCounter(Protocol):
    """What agents with function approximators ask of a counter; see `EValues`."""

    @property
    def step(self) -> Array:
        """The share of the error that one visit corrects."""
        ...

    def rate(self) -> Array: ...

    def count(self, output: Array) -> Array: ...

    def visited_count(self, output: Array, error: Array) -> Array: ...

    def error(self, output: Array, successor_output: Array, terminated: Array) -> Array: ...


class ApproximableCounter(Protocol):
    """A counter with a form for function approximators."""

    def approximated(self) -> ApproximatedCounter: ...


class Visits(eqx.Module):
    """Plain visit counts."""

    @plain_method
    def successor(self, counts: Array, action: Array) -> Array:
        return counts[..., 0]

    @plain_method
    def next(self, count: Array, successor_count: Array, learning_rate: Array) -> Array:
        del successor_count, learning_rate
        return count + 1

    @plain_method
    def rate(self, learning_rate: Array) -> Array:
        return learning_rate

    @plain_method
    def approximated(self) -> EValues:
        """The same counter for a function approximator: E-values without propagation, which are visits."""
        return EValues(0.0)


class EValues(eqx.Module):
    """Generalized visit counts: E-values, in the logarithm that makes them counts.

    Args:
        discount: the paper's gamma_E, how far a count looks ahead; 0 counts visits.
        learning_rate: the paper's alpha_E. By default that of the agent for tables, 0.5 for function
            approximators; in the logistic form it is the base that turns E into a count and nothing else.
        form: what a function approximator learns. `"count"` pulls its output to what one more visit makes of
            it: with features that no two pairs share and step size 1 this is the table, exactly. `"logistic"`
            is the paper's squared SARSA error of E, whose gradient carries the factor E (1 - E): steps shrink
            as E does, and without propagation -log E grows like the logarithm of the visits.
        step_size: the share of the error that one visit corrects, for function approximators; by default 1 in
            the count form, 0.5 in the logistic form.
        successor_rule: the successor is the action that will be taken (`"sarsa"`) or the least known one
            (`"max"`: E by Q-learning, an ablation; tables only).
    """

    discount: Array = 0.9
    learning_rate: Array | None = None
    form: Literal["count", "logistic"] = eqx.field(default="count", static=True)
    step_size: Array | None = None
    successor_rule: Literal["sarsa", "max"] = eqx.field(default="sarsa", static=True)

    def __check_init__(self) -> None:
        check_discount("the exploration discount", self.discount)
        if self.learning_rate is not None:
            check_rate("the exploration learning rate", self.learning_rate)
        if self.form not in ("count", "logistic"):
            raise InvalidInput(f"form is {self.form!r}; allowed: 'count', 'logistic'")
        if self.step_size is not None:
            _check_step(self.step_size, 1.0 if self.form == "count" else float("inf"))
        if self.successor_rule not in ("sarsa", "max"):
            raise InvalidInput(f"successor_rule is {self.successor_rule!r}; allowed: 'sarsa', 'max'")

    @plain_method
    def successor(self, counts: Array, action: Array) -> Array:
        xp = namespace(counts)
        if self.successor_rule == "max":
            return xp.min(counts, axis=-1)
        if isinstance(action, int):
            return counts[..., action]
        return xp.take_along_axis(counts, xp.asarray(action)[..., None], axis=-1)[..., 0]

    @plain_method
    def next(self, count: Array, successor_count: Array, learning_rate: Array) -> Array:
        return next_count(count, successor_count, self.rate(learning_rate), self.discount)

    @plain_method
    def rate(self, learning_rate: Array = _RATE) -> Array:
        return learning_rate if self.learning_rate is None else self.learning_rate

    @plain_method
    def approximated(self) -> EValues:
        """This counter, checked to be one for function approximators."""
        if self.successor_rule != "sarsa":
            raise InvalidInput(f"successor_rule is {self.successor_rule!r}; function approximators support 'sarsa'")
        return self

    @property
    def step(self) -> Array:
        """The step size, or its default."""
        if self.step_size is None:
            return 1.0 if self.form == "count" else 0.5
        return self.step_size

    @plain_method
    def count(self, output: Array) -> Array:
        """The count that an approximator's output stands for. Below 0, where shared features can leave it, it is 0."""
        xp = namespace(output)
        output = as_float(output, xp)
        if self.form == "count":
            return xp.maximum(output, xp.zeros_like(output))
        return _softplus(-output, xp) / -xp.log1p(-as_float(self.rate(), xp, like=output))

    @plain_method
    def visited_count(self, output: Array, error: Array) -> Array:
        """The count after this visit, for a bonus. In the count form the visit counts whole, so this is never 0."""
        return self.count(output + (error if self.form == "count" else self.step * error))

    @plain_method
    def error(self, output: Array, successor_output: Array, terminated: Array) -> Array:
        """The negative gradient of half the squared error by the output, with its successor held fixed."""
        xp = namespace(output, successor_output)
        output = as_float(output, xp)
        successor_output = as_float(successor_output, xp, like=output)
        if self.form == "count":
            successor = xp.where(terminated, xp.inf, self.count(successor_output))
            return next_count(self.count(output), successor, self.rate(), self.discount) - output
        e, rest = xp.exp(-_softplus(-output, xp)), xp.exp(-_softplus(output, xp))
        successor_e = xp.exp(-_softplus(-successor_output, xp))
        target = as_float(self.discount, xp, like=output) * xp.where(terminated, 0.0, successor_e)
        return (target - e) * e * rest


def _softplus(x: Array, xp: Any) -> Array:
    """log(1 + exp x)."""
    return xp.logaddexp(x, xp.zeros_like(x))


def _check_step(step_size: Array, largest: float) -> None:
    def is_allowed(x: Numbers) -> Flags:
        return (x > 0) & (x <= largest)

    allowed = "a number above 0" + ("" if largest == float("inf") else f", at most {largest:g}")
    check_numbers("the step size of E-values", step_size, allowed, is_allowed)
