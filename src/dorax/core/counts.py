"""Generalized visit counts: E-values, stored as counts.

An E-value starts at 1 and is learned by SARSA with zero reward,

    E(s, a) <- (1 - a) E(s, a) + a g E(s', a'),

with the exploration learning rate a and the exploration discount g. Its logarithm counts visits,
c = log E / log(1 - a). For g = 0 this is the number of visits. For g > 0 a visit counts less while its
successors are little known. E underflows after about a hundred visits and c does not, so c is stored.
"""

from __future__ import annotations

from collections.abc import Sequence

from dorax.core.arrays import Array, as_float, guarded_log, least_of, namespace


def next_count(count: Array, successor_count: Array | None, learning_rate: Array, discount: Array) -> Array:
    """Compute the count of (s, a) after one more visit that led to (s', a').

    With d = successor_count - count, E'/E = exp(log(1 - a) d), and the update can be written in two ways:

        c + log(1 - a + a g exp(log(1 - a) d)) / log(1 - a)          if d >= 0
        c' + log(a g + (1 - a) exp(-log(1 - a) d)) / log(1 - a)      if d < 0

    The exponentials never exceed 1, and `expm1` and `log1p` keep the precision of increments that are small
    because g is close to 1. For g = 0 and at the end of an episode the count grows by exactly 1. In float32,
    increments below half a unit in the last place are lost: counts saturate near (1 - g) 2**24.

    Args:
        count: count of (s, a) before the visit. All arguments broadcast.
        successor_count: count of (s', a'); infinite or None at the end of an episode.
        learning_rate: exploration learning rate a, in (0, 1).
        discount: exploration discount g, in [0, 1).

    Returns:
        The new count, with the dtype of `count`.
    """
    xp = namespace(count, successor_count, learning_rate, discount)
    count = as_float(count, xp)
    if successor_count is None:
        return count + 1
    successor_count = as_float(successor_count, xp, like=count)
    rate = as_float(learning_rate, xp, like=count)
    discount = as_float(discount, xp, like=count)

    is_plain_visit = xp.isinf(successor_count) | (discount == 0)
    gap = xp.where(is_plain_visit, 0.0, successor_count - count)
    is_fresher = gap < 0
    log_decay = xp.log1p(-rate)
    log_ratio = xp.where(is_fresher, -log_decay * gap, log_decay * gap)
    stays, comes = 1 - rate, rate * discount
    large, small = xp.where(is_fresher, comes, stays), xp.where(is_fresher, stays, comes)

    # log(large + small * ratio): by log1p of the distance from 1 where the sum is near 1, by log elsewhere.
    less_one = small * xp.expm1(log_ratio) - rate * (1 - discount)
    is_far = less_one < -0.5
    log_sum = xp.where(
        is_far,
        xp.log(xp.where(is_far, large + small * xp.exp(log_ratio), 1.0)),
        xp.log1p(xp.where(is_far, 0.0, less_one)),
    )
    propagated = xp.where(is_fresher, successor_count, count) + log_sum / log_decay
    return xp.where(is_plain_visit, count + 1, propagated)


def count_after_visits(
    count: Array, successor_count: Array, learning_rate: Array, discount: Array, visits: Array
) -> Array:
    """Compute the count of (s, a) after several visits that all led to (s', a').

    It is what `next_count` gives if it is applied so many times with the same successor, since

        E <- (1 - a)**n E + (1 - (1 - a)**n) g E'

    after n visits. Rises add up, up to the level of the successor; a fall ends there, too. Less precise than
    `next_count`, by a few units in the last place of count + visits.

    Args:
        count: count of (s, a) before the visits. All arguments broadcast.
        successor_count: count of (s', a'); infinite at the end of an episode.
        learning_rate: exploration learning rate a, in (0, 1).
        discount: exploration discount g, in [0, 1).
        visits: number of visits n; 0 leaves the count as it is.

    Returns:
        The new count, with the dtype of `count`.
    """
    xp = namespace(count, successor_count, learning_rate, discount, visits)
    count = as_float(count, xp)
    successor_count = as_float(successor_count, xp, like=count)
    discount, visits = as_float(discount, xp, like=count), as_float(visits, xp, like=count)
    log_decay = xp.log1p(-as_float(learning_rate, xp, like=count))
    is_plain_visit = xp.isinf(successor_count) | (discount == 0) | (visits == 0)
    plain = count + visits
    gap = xp.where(is_plain_visit, 0.0, successor_count - plain)
    share = xp.where(is_plain_visit, 1.0, -discount * xp.expm1(log_decay * visits))
    log_ratio = xp.log(share) + log_decay * gap  # of the two terms of E after the visits
    return xp.where(is_plain_visit, plain, plain + xp.logaddexp(log_ratio, xp.zeros_like(log_ratio)) / log_decay)


def e_value(count: Array, learning_rate: Array) -> Array:
    """Convert a generalized count to the paper's E-value, (1 - learning_rate) ** count.

    Args:
        count: generalized count.
        learning_rate: exploration learning rate.

    Returns:
        The E-value, 1 for a count of 0.
    """
    xp = namespace(count, learning_rate)
    count = as_float(count, xp)
    return xp.exp(xp.log1p(-as_float(learning_rate, xp, like=count)) * count)


def generalized_count(e: Array, learning_rate: Array) -> Array:
    """Convert the paper's E-value to a generalized count, its logarithm to base 1 - learning_rate.

    Args:
        e: E-value, in [0, 1].
        learning_rate: exploration learning rate.

    Returns:
        The count; infinite for an E-value of 0.
    """
    xp = namespace(e, learning_rate)
    e = as_float(e, xp)
    return guarded_log(e, xp) / xp.log1p(-as_float(learning_rate, xp, like=e))


def mean_count(counts: Sequence[Array], learning_rate: Array) -> Array:
    """Compute the count whose E-value is the mean of the E-values of `counts`.

    This is the successor count (expected SARSA) while the next action is not known yet.

    Args:
        counts: one count per action, as arrays or numbers.
        learning_rate: exploration learning rate.

    Returns:
        The count.
    """
    xp = namespace(*counts)
    least = least_of(counts, xp)
    log_decay = xp.log1p(-as_float(learning_rate, xp, like=least))
    # Factor out E of the lowest count, so that not all terms underflow.
    share = sum(map(xp.exp, [log_decay * (count - least) for count in counts])) / len(counts)
    return least + xp.log(share) / log_decay
