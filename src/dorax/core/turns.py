"""Rules for many games that share their counts: games in the same state choose one after the other.

Each game that has chosen counts as one tentative visit for those behind it. Otherwise games that act by counts and meet
in a state would all take the same action, and stay together. Games that play greedily come first, with the action that
they really take.
"""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from dorax.core.arrays import draw
from dorax.core.policies import Policy
from dorax.core.rules import LLL, Rule

_LEAST_COUNT = 1e-6  # in place of 0: actions that were never taken come first, the more probable ones before others
_TOLERANCE = 1e-3  # of a visit: scores closer than this are tied
_MOST = 1e9


def greedy_actions(values: Float[Array, "games actions"], uniform: Float[Array, " games"]) -> Int[Array, " games"]:
    """Choose the action with the highest value for each game.

    Args:
        values: values of all actions.
        uniform: one uniform random number per game, to break ties.

    Returns:
        The actions.
    """
    is_best = values == jnp.max(values, axis=-1, keepdims=True)
    return draw(is_best.astype(values.dtype), uniform, jnp).astype(jnp.int32)


def actions_in_turns(
    rule: Rule,
    values: Float[Array, "games actions"],
    counts: Float[Array, "games actions"],
    steps: Int[Array, ""],
    uniform: Float[Array, " games"],
    same: Bool[Array, "games games"],
    fixed: Int[Array, " games"],
    alike: bool = True,
) -> Int[Array, " games"]:
    """Choose an action for each game, as if the games of a state came one after the other.

    For `LLL` all games are computed at once, and games in one state act by the mean of their probabilities f. Other
    rules, and games that are not alike, are called game after game, each with its own values.

    Args:
        rule: the rule, whose numbers have an axis over games; see `for_games`.
        values: values of all actions.
        counts: counts of all actions, equal for games in the same state.
        steps: number of steps so far.
        uniform: one uniform random number per game.
        same: whether two games are in the same state.
        fixed: actions of games that have chosen already, such as greedy ones; -1 for the others.
        alike: whether all games act by the same numbers of the rule and by the same function of what they see.

    Returns:
        The actions.
    """
    taken = jax.nn.one_hot(fixed, values.shape[1], dtype=counts.dtype)  # all 0 for -1
    counts = counts + same.astype(counts.dtype) @ taken
    explores = fixed < 0
    if isinstance(rule, LLL) and alike:
        chosen = _filled(rule, values, counts, uniform, same & explores[None])
    else:
        chosen = _one_by_one(rule, values, counts, steps, uniform, same & explores[:, None])
    return jnp.where(explores, chosen, fixed)


def _one_by_one(
    rule: Rule,
    values: Float[Array, "games actions"],
    counts: Float[Array, "games actions"],
    steps: Int[Array, ""],
    uniform: Float[Array, " games"],
    same: Bool[Array, "games games"],
) -> Int[Array, " games"]:
    """Call the rule for one game after the other. `same[i]` are the games that count a tentative visit of game i."""
    numbers, structure = eqx.partition(rule, eqx.is_array)

    def choose(counts: Array, i: Array) -> tuple[Array, Array]:
        own = eqx.combine(jax.tree.map(lambda leaf: leaf[i], numbers), structure)
        action = jnp.asarray(own(values[i], counts[i], steps, uniform[i]), jnp.int32)
        return counts.at[:, action].add(same[i].astype(counts.dtype)), action

    return jax.lax.scan(choose, counts, jnp.arange(len(values)))[1]


def _log_f(policy: Policy, values: Float[Array, " actions"]) -> Float[Array, " actions"]:
    return policy(values)


def _shared(log_f: Float[Array, "games actions"], same: Bool[Array, "games games"]) -> Float[Array, "games actions"]:
    """Compute the logarithm of the mean of f over the games of each state. Where all are equal, it is theirs exactly.

    `same[i]` are the games whose mean game i acts by: those in its state that explore.
    """
    most = jnp.max(jnp.where(same[:, :, None], log_f[None], -jnp.inf), axis=1)  # equal in all games of a state
    part = jnp.where(log_f > -jnp.inf, jnp.exp(log_f - most), 0.0)
    total = jnp.sum(jnp.where(same[:, :, None], part[None], 0.0), axis=1)
    return most + jnp.log(total / jnp.maximum(jnp.sum(same, axis=1, keepdims=True), 1))


def _filled(
    rule: LLL,
    values: Float[Array, "games actions"],
    counts: Float[Array, "games actions"],
    uniform: Float[Array, " games"],
    same: Bool[Array, "games games"],
) -> Int[Array, " games"]:
    """Compute the choices of all games under LLL at once. `same[i]` are the games in the state of game i that explore.

    The k-th tentative visit of action a is made at the level f(a) / (C(a) + k), so the visits of a state are made in
    the order of their levels. A game with r games before it makes the visit with r visits before it. How many visits
    of action b come before visit k of action a follows from f(b) / (C(b) + m) > f(a) / (C(a) + k), solved for m. Ties
    are broken by a random order of the actions that the games of a state share.
    """
    games, actions = values.shape
    log_f = _shared(eqx.filter_vmap(_log_f)(rule.policy, values), same)
    is_allowed = log_f > -jnp.inf
    log_f = jnp.where(is_allowed, log_f, -_MOST)
    counts = jnp.maximum(counts, _LEAST_COUNT)
    rank = jnp.sum(jnp.tril(same, -1), axis=1)
    first = uniform[jnp.argmax(same, axis=1)]
    order = (jnp.arange(actions) + jnp.floor(first * actions).astype(jnp.int32)[:, None]) % actions
    goes_before = order[:, None, :] < order[:, :, None]  # [games, a, b]: whether b wins a tie with a

    visit = jnp.arange(games, dtype=counts.dtype)
    reached = counts[:, :, None] + visit  # C(a) + k, [games, a, k]
    ratio = jnp.exp(jnp.clip(log_f[:, None, :] - log_f[:, :, None], -60.0, 60.0))  # f(b) / f(a), [games, a, b]
    # The first visit of b, compared by logarithms, because the counts may be 0.
    level = jnp.log(reached)[:, :, :, None] - log_f[:, :, None, None]  # minus the logarithm of the level of (a, k)
    ahead = level - (jnp.log(counts) - log_f)[:, None, None, :]  # [games, a, k, b]
    is_tied = jnp.abs(ahead) <= 1e-5 * (1 + jnp.abs(level))
    before = jnp.where(is_tied, goes_before[:, :, None, :], ahead > 0).astype(counts.dtype)
    # Its later visits m = 1, 2, ... below this number.
    most = jnp.minimum(ratio[:, :, None, :] * reached[:, :, :, None] - counts[:, None, None, :], 2.0 * games)
    nearest = jnp.round(most)
    is_tied = jnp.abs(most - nearest) <= _TOLERANCE
    below = jnp.where(is_tied, nearest - 1 + goes_before[:, :, None, :], jnp.ceil(most) - 1)
    before = before + jnp.where(before > 0, jnp.maximum(below, 0.0), 0.0)
    is_own = jnp.eye(actions, dtype=bool)[None, :, None, :]
    before = jnp.where(is_own, visit[None, None, :, None], jnp.where(is_allowed[:, None, None, :], before, 0.0))
    place = jnp.sum(before, axis=-1)  # visits before (a, k), [games, a, k]
    is_own = (is_allowed & (values > -jnp.inf))[:, :, None]  # where codes collide, a state may lack an action
    is_next = (place >= rank[:, None, None]) & is_own
    place = jnp.min(jnp.where(is_next, place, _MOST), axis=-1)
    return jnp.argmin(place, axis=-1).astype(jnp.int32)
