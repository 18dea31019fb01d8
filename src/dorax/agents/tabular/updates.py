"""Update rules of tables: how a target changes the values of the visited pair.

An update rule keeps tables (states x actions, one of them called `q`) and a few numbers that all pairs share. The
code works with NumPy and JAX, like `dorax.core`.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import equinox as eqx

from dorax.core.arrays import Array, namespace
from dorax.core.checks import check_at_least, check_discount, check_finite
from dorax.core.methods import plain_method
from dorax.core.targets import q_target

Entry = dict[str, Array]


class Visit(NamedTuple):
    """What an update rule learns from: one visit of a pair.

    Attributes:
        reward: the environment's reward.
        terminated: whether the episode ended in a terminal state.
        best_value: highest value of Q in the next state.
        successor_novelty: novelty of the next state and action; None if the rule has no table of this name.
        bonus: exploration bonus of the visit; None if the agent has none.
        learning_rate: the agent's learning rate.
        discount: the agent's discount.
        steps: number of steps so far, including this one.
    """

    reward: Array
    terminated: Array
    best_value: Array
    successor_novelty: Array | None
    bonus: Array | None
    learning_rate: Array
    discount: Array
    steps: Array

    def target(self) -> Array:
        """Return the target of Q, with the bonus as a part of the reward."""
        target = q_target(self.reward, self.terminated, self.best_value, self.discount)
        return target if self.bonus is None else target + self.bonus


class UpdateRule(Protocol):
    """Protocol of update rules. If one has a table called `novelty`, the agent acts on the sum of it and `q`."""

    def initial_entry(self, discount: Array, first_bonus: Array | None) -> Entry:
        """Return the entries of a pair before its first visit.

        Args:
            discount: the agent's discount.
            first_bonus: the agent's bonus at a count of 1; None if it has no bonus.
        """
        ...

    def initial_shared(self) -> Entry:
        """Return the initial values of the numbers that all pairs share."""
        ...

    def updated(self, entry: Entry, shared: Entry, visit: Visit) -> tuple[Entry, Entry]:
        """Update the visited pair.

        Args:
            entry: entries of the pair.
            shared: numbers that all pairs share.
            visit: what to learn from.

        Returns:
            The new entries and shared numbers.
        """
        ...


class QLearning(eqx.Module):
    """Q-learning: Q <- Q + learning_rate (target - Q).

    With a high initial value and a greedy rule, `Sample(EpsilonGreedy(0))`, this is optimistic Q-learning: it tries
    every action until its value falls below that of another. It has to be told a value that no return exceeds.

    Args:
        initial_value: initial value of Q.
    """

    initial_value: Array = 0.0

    def __check_init__(self) -> None:
        check_finite("the initial value of Q", self.initial_value)

    def initial_entry(self, discount: Array, first_bonus: Array | None) -> Entry:
        del discount, first_bonus
        return {"q": self.initial_value}

    def initial_shared(self) -> Entry:
        return {}

    @plain_method
    def updated(self, entry: Entry, shared: Entry, visit: Visit) -> tuple[Entry, Entry]:
        """Return the new entries and shared numbers; see `UpdateRule`."""
        return {"q": entry["q"] + visit.learning_rate * (visit.target() - entry["q"])}, shared


class NoveltyQLearning(eqx.Module):
    """Q-learning of the reward and, in a table of its own, of the bonus; the agent acts on the sum of the two.

    Q learns from the environment's reward alone, so the bonus does not distort it. Novelty N learns from the bonus
    alone, by SARSA with a discount of its own: its target is bonus + novelty_discount N(s', a'), or the bonus after a
    terminal transition. (By the maximum over a' it would never vanish: an action that is new but known to be bad,
    such as a fall, would keep every state before it attractive.) N starts at the largest value that it can have, the
    bonus of a first visit divided by 1 - novelty_discount, so untried actions are attractive. The agent is told
    neither the rewards nor the horizon. Use it with a count bonus, such as `counter=Visits(),
    bonus=InverseRootCount(scale)`, and a greedy rule.

    Args:
        novelty_discount: discount of novelty, how far it looks ahead.
    """

    novelty_discount: Array = 0.9

    def __check_init__(self) -> None:
        check_discount("the discount of novelty", self.novelty_discount)

    def initial_entry(self, discount: Array, first_bonus: Array | None) -> Entry:
        del discount
        return {"q": 0.0, "novelty": 0.0 if first_bonus is None else first_bonus / (1 - self.novelty_discount)}

    def initial_shared(self) -> Entry:
        return {}

    @plain_method
    def updated(self, entry: Entry, shared: Entry, visit: Visit) -> tuple[Entry, Entry]:
        """Return the new entries and shared numbers; see `UpdateRule`."""
        q, novelty, rate = entry["q"], entry["novelty"], visit.learning_rate
        of_reward = q_target(visit.reward, visit.terminated, visit.best_value, visit.discount)
        of_bonus = q_target(visit.bonus, visit.terminated, visit.successor_novelty, self.novelty_discount)
        return {"q": q + rate * (of_reward - q), "novelty": novelty + rate * (of_bonus - novelty)}, shared


class HoeffdingQLearning(eqx.Module):
    """Q-learning with upper confidence bounds of Hoeffding's kind, UCB-H (Jin et al., 2018); act greedily on it.

    At the t-th visit of a pair, with the horizon H and v the value of the next state,

        Q <- Q + (H + 1) / (H + t) (r + scale sqrt(H**3 / t) + discount v - Q),    v = min(max Q', largest_value).

    It is told the horizon and the largest value, and has a learning rate of its own: that of the agent is not used.
    Jin et al. have rewards in [0, 1], so that their largest value is H, and their scale contains the logarithm:
    c sqrt(log(S A T / p)). They have episodes of H steps without a discount, and a table for each step. Here there is
    one table and a discount, with H = 1 / (1 - discount); where the state determines the step, as in a deep sea, only
    the discount differs. Dong et al. (2019, arXiv 1901.09311) analyse the discounted form; in theirs, in addition, the
    value that a pair acts with and is bootstrapped from never rises.

    Args:
        horizon: H, how many steps matter.
        largest_value: initial value, and upper bound of the values that are bootstrapped from.
        scale: multiplier of the confidence width, to be fitted.
    """

    horizon: Array = 10.0
    largest_value: Array = 10.0
    scale: Array = 0.01

    def __check_init__(self) -> None:
        check_at_least("the horizon", self.horizon, 1)
        check_finite("the largest value", self.largest_value)
        check_at_least("the scale of the confidence width", self.scale, 0)

    def initial_entry(self, discount: Array, first_bonus: Array | None) -> Entry:
        del discount, first_bonus
        return {"q": self.largest_value, "visits": 0.0}

    def initial_shared(self) -> Entry:
        return {}

    @plain_method
    def updated(self, entry: Entry, shared: Entry, visit: Visit) -> tuple[Entry, Entry]:
        """Return the new entries and shared numbers; see `UpdateRule`."""
        q, visits = entry["q"], entry["visits"] + 1
        xp = namespace(q, self.horizon, self.scale)
        best_value = xp.minimum(visit.best_value, self.largest_value)
        width = self.scale * self.horizon * xp.sqrt(self.horizon / visits)
        target = visit._replace(best_value=best_value).target() + width
        return {"q": q + (self.horizon + 1) / (self.horizon + visits) * (target - q), "visits": visits}, shared


class DelayedQLearning(eqx.Module):
    """Delayed Q-learning (Strehl et al., 2006), for rewards in [0, 1].

    Values start at 1 / (1 - discount) and only decrease. After `patience` visits, a pair attempts an update to the mean
    of its targets plus `slack`, which succeeds if the mean is lower than the value by at least 2 slack. A pair whose
    attempt fails although no value has changed since its previous attempt stops learning until one changes.

    Args:
        patience: visits between attempts, the paper's m.
        slack: the paper's epsilon_1.
    """

    patience: Array = 10.0
    slack: Array = 0.01

    def __check_init__(self) -> None:
        check_at_least("the patience of delayed Q-learning", self.patience, 1)
        check_at_least("the slack of delayed Q-learning", self.slack, 0)

    def initial_entry(self, discount: Array, first_bonus: Array | None) -> Entry:
        del first_bonus
        return {"q": 1 / (1 - discount), "target_sum": 0.0, "targets": 0.0, "last_try": 0.0, "is_learning": 1.0}

    def initial_shared(self) -> Entry:
        return {"last_change": 0.0}

    @plain_method
    def updated(self, entry: Entry, shared: Entry, visit: Visit) -> tuple[Entry, Entry]:
        """Return the new entries and shared numbers; see `UpdateRule`."""
        xp = namespace(entry["q"])
        q, is_learning, steps = entry["q"], entry["is_learning"] > 0, visit.steps
        target_sum = entry["target_sum"] + visit.target()
        targets = entry["targets"] + 1
        mean = target_sum / targets
        tries = is_learning & (targets >= self.patience)
        succeeds = tries & (q - mean >= 2 * self.slack)
        rests = tries & xp.logical_not(succeeds) & (entry["last_try"] >= shared["last_change"])
        wakes = xp.logical_not(is_learning) & (entry["last_try"] < shared["last_change"])
        accumulates = is_learning & xp.logical_not(tries)
        entry = {
            "q": xp.where(succeeds, mean + self.slack, q),
            "target_sum": xp.where(accumulates, target_sum, 0.0),
            "targets": xp.where(accumulates, targets, 0.0),
            "last_try": xp.where(tries, steps, entry["last_try"]),
            "is_learning": xp.where(rests, 0.0, xp.where(wakes, 1.0, entry["is_learning"])),
        }
        return entry, {"last_change": xp.where(succeeds, steps, shared["last_change"])}
