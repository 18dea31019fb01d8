"""Generalized visit counts: E-values, stored as what they mean.

An E-value starts at 1 and is learned by SARSA in a world without rewards,

    E(s, a) <- (1 - a) E(s, a) + a g E(s', a'),

with the exploration learning rate a and the exploration discount g. Its logarithm
counts visits, c = log E / log(1 - a), and generalizes them: where g > 0 a visit counts
for less as long as what follows it is little known. E underflows after a hundred
visits; c does not, so c is what is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from dorax.core.arrays import Array, as_float, guarded_log, least_of, namespace


def next_count(count: Array, successor_count: Array | None, learning_rate: Array, discount: Array) -> Array:
    """The count of (s, a) after one more visit that led to (s', a').

    With d = successor_count - count, E'/E = exp(log(1 - a) d), and the update reads
    either as an increment of the count or as a decrement of hope in the successor:

        c + log(1 - a + a g exp(log(1 - a) d)) / log(1 - a)          successor better known
        c' + log(a g + (1 - a) exp(-log(1 - a) d)) / log(1 - a)      successor fresher

    The exponentials never exceed 1, and `expm1` and `log1p` keep the digits of an
    increment that is small because g is next to 1. Without propagation (g = 0) and at
    the end of an episode (`successor_count` infinite, or None) the count grows by
    exactly 1. In float32 an increment below half a unit in the last place is lost: a
    count saturates near (1 - g) 2**24, and stays there.

    All arguments broadcast; the dtype is that of `count`.
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

    # large + small * ratio, as a distance from 1 where it is near 1, and as it stands where it is not.
    less_one = small * xp.expm1(log_ratio) - rate * (1 - discount)
    is_far = less_one < -0.5
    log_sum = xp.where(
        is_far,
        xp.log(xp.where(is_far, large + small * xp.exp(log_ratio), 1.0)),
        xp.log1p(xp.where(is_far, 0.0, less_one)),
    )
    propagated = xp.where(is_fresher, successor_count, count) + log_sum / log_decay
    return xp.where(is_plain_visit, count + 1, propagated)


def e_value(count: Array, learning_rate: Array) -> Array:
    """The paper's E of a generalized count: (1 - learning_rate) ** count."""
    xp = namespace(count, learning_rate)
    count = as_float(count, xp)
    return xp.exp(xp.log1p(-as_float(learning_rate, xp, like=count)) * count)


def generalized_count(e: Array, learning_rate: Array) -> Array:
    """The generalized count of the paper's E: its logarithm to base 1 - learning_rate."""
    xp = namespace(e, learning_rate)
    e = as_float(e, xp)
    return guarded_log(e, xp) / xp.log1p(-as_float(learning_rate, xp, like=e))


def mean_count(counts: Sequence[Array], learning_rate: Array) -> Array:
    """The count whose E is the mean of the E of the counts: what a state passes on while its next action is unknown.

    `counts` is a sequence over actions, of arrays or of numbers. E of the least known
    action is taken out of the sum, so that not all of them vanish.
    """
    xp = namespace(*counts)
    least = least_of(counts, xp)
    log_decay = xp.log1p(-as_float(learning_rate, xp, like=least))
    share = sum(map(xp.exp, [log_decay * (count - least) for count in counts])) / len(counts)
    return least + xp.log(share) / log_decay
