"""Counters: how a visit changes the count of a state-action pair.

With a table there is one count per pair, and a counter computes the next one (`successor` and `next`).
With a function approximator there is one output per pair, and an update of one changes others. There a
counter converts an output to a count (`count`) and computes the error to learn from (`error`).
E-values have two such forms:

    count       the output is the generalized count itself (dorax's own form); output 0 is count 0
    logistic    E = sigmoid(output), the paper's form; output 0 is E = 1/2
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, runtime_checkable

import equinox as eqx

from dorax.core.arrays import Array, as_float, namespace
from dorax.core.checks import Flags, InvalidInput, Numbers, check_discount, check_numbers, check_rate
from dorax.core.counts import count_after_visits, next_count
from dorax.core.methods import plain_method

_LARGEST_COUNT = 1e30  # of the logistic form
_RATE = 0.5  # default alpha_E of function approximators


@runtime_checkable
class Counter(Protocol):
    """Protocol of counters."""

    def successor(self, counts: Array, action: Array) -> Array:
        """Select the successor's count, which the update bootstraps from.

        Args:
            counts: counts of the actions of s', along the last axis.
            action: action that will be taken in s'.

        Returns:
            The count of the successor pair.
        """
        ...

    def next(self, count: Array, successor_count: Array, learning_rate: Array) -> Array:
        """Compute the count of (s, a) after one more visit.

        Args:
            count: count before the visit.
            successor_count: count of the successor pair, from `successor`; infinite at the end of an episode.
            learning_rate: the agent's learning rate, used if the counter has none of its own.

        Returns:
            The new count.
        """
        ...

    def rate(self, learning_rate: Array) -> Array:
        """Return the counter's own learning rate if it has one, else `learning_rate`, the agent's."""
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


class SharedCounter(Protocol):
    """What agents ask of a counter whose counts are shared by games that make visits at the same time."""

    @property
    def features(self) -> Any:
        """How states are described for counting; None for the agent's default."""
        ...

    def rate(self) -> Array: ...

    def after(self, count: Array, successor_count: Array, visits: Array) -> Array:
        """Compute the count of (s, a) after several visits with the same successor.

        Args:
            count: count before the visits.
            successor_count: count of the successor pair; infinite at the end of an episode.
            visits: number of visits.

        Returns:
            The new count.
        """
        ...


class Visits(eqx.Module):
    """Plain visit counts.

    Args:
        features: how states are described for counting, for agents that leave it to the counter: `Table`,
            `HashedCodes`, `Prototypes`, `LearnedPrototypes`, `CountNetwork`, `RandomStart` or `Tiles` (see
            `dorax.ParallelAgent`); None for the agent's default.
    """

    features: Any = None

    @plain_method
    def successor(self, counts: Array, action: Array) -> Array:
        """Return any count: a plain visit does not depend on the successor."""
        return counts[..., 0]

    @plain_method
    def next(self, count: Array, successor_count: Array, learning_rate: Array) -> Array:
        """Return the count plus 1."""
        del successor_count, learning_rate
        return count + 1

    @plain_method
    def rate(self, learning_rate: Array = _RATE) -> Array:
        """Return the agent's learning rate."""
        return learning_rate

    @plain_method
    def after(self, count: Array, successor_count: Array, visits: Array) -> Array:
        """Return the count plus the visits."""
        del successor_count
        return count + visits

    @plain_method
    def approximated(self) -> EValues:
        """Return the counter for function approximators: E-values with discount 0, which count visits."""
        return EValues(0.0, features=self.features)


class EValues(eqx.Module):
    """Generalized visit counts (E-values), stored as counts.

    Args:
        discount: the paper's gamma_E, how far a count looks ahead; 0 counts visits.
        learning_rate: the paper's alpha_E. Default: the agent's learning rate for tables, 0.5 for function
            approximators. In the logistic form it is only the base that converts E to a count.
        form: what a function approximator learns. `"count"` moves the output towards the count after one more
            visit; with one-hot features and step size 1 this equals the table. `"logistic"` minimises the
            paper's squared SARSA error of E; its gradient contains the factor E (1 - E), so steps shrink as E
            does, and without propagation -log E grows like the logarithm of the visits.
        step_size: step size of function approximators; in the count form the fraction of the error that one
            visit corrects. Default: 1 in the count form, 0.5 in the logistic form.
        successor_rule: which successor action to bootstrap from: the one that will be taken (`"sarsa"`) or
            the one with the lowest count (`"max"`: Q-learning of E, an ablation; tables only).
        features: how states are described for counting, for agents that leave it to the counter: `Table`,
            `HashedCodes`, `Prototypes`, `LearnedPrototypes`, `CountNetwork`, `RandomStart` or `Tiles` (see
            `dorax.ParallelAgent`); None for the agent's default.
    """

    discount: Array = 0.9
    learning_rate: Array | None = None
    form: Literal["count", "logistic"] = eqx.field(default="count", static=True)
    step_size: Array | None = None
    successor_rule: Literal["sarsa", "max"] = eqx.field(default="sarsa", static=True)
    features: Any = None

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
        """Return the count of the action taken in s', or the lowest count if `successor_rule` is `"max"`."""
        xp = namespace(counts)
        if self.successor_rule == "max":
            return xp.min(counts, axis=-1)
        if isinstance(action, int):
            return counts[..., action]
        return xp.take_along_axis(counts, xp.asarray(action)[..., None], axis=-1)[..., 0]

    @plain_method
    def next(self, count: Array, successor_count: Array, learning_rate: Array) -> Array:
        """Return the generalized count after one more visit; see `next_count`."""
        return next_count(count, successor_count, self.rate(learning_rate), self.discount)

    @plain_method
    def after(self, count: Array, successor_count: Array, visits: Array) -> Array:
        """Return the generalized count after several visits; see `count_after_visits`."""
        return count_after_visits(count, successor_count, self.rate(), self.discount, visits)

    @plain_method
    def rate(self, learning_rate: Array = _RATE) -> Array:
        """Return this counter's learning rate, or the given one if it has none."""
        return learning_rate if self.learning_rate is None else self.learning_rate

    @plain_method
    def approximated(self) -> EValues:
        """Return this counter; raise unless it supports function approximators."""
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
        """Convert an approximator's output to a count.

        Args:
            output: outputs of the approximator.

        Returns:
            Counts of the same shape. Shared features can push an output below 0; its count is then 0.
        """
        xp = namespace(output)
        output = as_float(output, xp)
        if self.form == "count":
            return xp.maximum(output, xp.zeros_like(output))
        # Bounded, because a tiny rate would make the quotient overflow.
        decay = -xp.log1p(-as_float(self.rate(), xp, like=output))
        return xp.minimum(_softplus(-output, xp), _LARGEST_COUNT * decay) / decay

    @plain_method
    def visited_count(self, output: Array, error: Array) -> Array:
        """Compute the count after this visit, for a bonus.

        In the count form the whole visit is added whatever the step size, so the count is never 0.

        Args:
            output: output before the visit.
            error: its error, from `error`.

        Returns:
            The count.
        """
        return self.count(output + (error if self.form == "count" else self.step * error))

    @plain_method
    def error(self, output: Array, successor_output: Array, terminated: Array) -> Array:
        """Compute the negative gradient of half the squared error with respect to the output (semi-gradient).

        Args:
            output: output for (s, a).
            successor_output: output for (s', a').
            terminated: whether the transition ended the episode.

        Returns:
            The error, by which a step of size 1 would change the output.
        """
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
