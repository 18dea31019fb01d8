"""Games that share their counts choose as if they came one after the other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dorax import LLL, UCB, EpsilonGreedy, Softmax
from dorax.core.spreads import Spread, for_games, has_spread
from dorax.core.turns import _shared, actions_in_turns, greedy_actions

STEPS = jnp.asarray(1000)


def one_after_the_other(rules, values, counts, uniform, state, is_greedy):
    """Choose in plain Python: greedy games first, then the others in order; each counts as a visit for the rest."""
    counts = {s: np.array(counts[np.flatnonzero(state == s)[0]], np.float32) for s in set(state.tolist())}
    actions = np.zeros(len(state), int)
    for game in [*np.flatnonzero(is_greedy), *np.flatnonzero(~is_greedy)]:
        s = int(state[game])
        if is_greedy[game]:
            actions[game] = int(greedy_actions(values[game : game + 1], uniform[game : game + 1])[0])
        else:
            actions[game] = int(rules[game](values[game], jnp.asarray(counts[s]), STEPS, uniform[game]))
        counts[s][actions[game]] += 1
    return actions


@jax.jit
def in_turns(rule, values, *others):
    """Let all games choose by a rule with the same numbers."""
    return actions_in_turns(for_games(rule, len(values)), values, *others, alike=not has_spread(rule))


def mean_of_state(log_f, state, is_greedy):
    """Average f over the games of each state that explore, in plain Python."""
    mean = np.array(log_f)
    for game in np.flatnonzero(~is_greedy):
        there = [np.exp(log_f[other]) for other in np.flatnonzero(~is_greedy & (state == state[game]))]
        mean[game] = np.log(sum(there) / len(there))
    return mean


def situation(seed, games, actions, states):
    """Draw a situation without ties: every state has values and counts of its own."""
    random = np.random.default_rng(seed)
    state = random.integers(0, states, games)
    values = random.normal(size=(states, actions)).astype(np.float32)[state]
    counts = random.choice([0.3, 2.0, 40.0]) * random.exponential(size=(states, actions)).astype(np.float32)[state]
    uniform = random.random(games).astype(np.float32)
    is_greedy = np.arange(games) < random.integers(0, games // 2 + 1)
    return jnp.asarray(values), jnp.asarray(counts), jnp.asarray(uniform), state, is_greedy


@pytest.mark.parametrize("rule", [LLL(Softmax(0.5)), LLL(EpsilonGreedy(0.2)), UCB(0.3)])
def test_games_in_a_state_choose_as_if_they_came_one_after_the_other(rule):
    for seed in range(40):
        values, counts, uniform, state, is_greedy = situation(seed, games=12, actions=3, states=3)
        same = jnp.asarray(state[:, None] == state[None])
        fixed = jnp.where(is_greedy, greedy_actions(values, uniform), -1)
        found = in_turns(rule, values, counts, STEPS, uniform, same, fixed)
        expected = one_after_the_other([rule] * 12, values, counts, uniform, state, is_greedy)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("policy", [Softmax(0.5), EpsilonGreedy(0.2)])
def test_games_that_see_different_values_in_a_state_act_by_the_mean_of_their_probabilities(policy):
    alone = 0
    for seed in range(40):
        _, counts, uniform, state, is_greedy = situation(seed, games=12, actions=3, states=3)
        values = jax.random.normal(jax.random.key(seed), (12, 3))
        same = jnp.asarray(state[:, None] == state[None])
        fixed = jnp.where(is_greedy, greedy_actions(values, uniform), -1)
        found = in_turns(LLL(policy), values, counts, STEPS, uniform, same, fixed)
        log_f = np.asarray(policy(values), np.float64)
        by_mean = [LLL(lambda _, f=f: f) for f in jnp.asarray(mean_of_state(log_f, state, is_greedy), jnp.float32)]
        expected = one_after_the_other(by_mean, values, counts, uniform, state, is_greedy)
        np.testing.assert_array_equal(found, expected)
        by_own = one_after_the_other([LLL(policy)] * 12, values, counts, uniform, state, is_greedy)
        alone += int(np.sum(by_own != expected))
    assert alone > 20, "the mean makes a difference"


def test_games_with_numbers_of_their_own_come_one_after_the_other():
    rule = LLL(Softmax(Spread(0.1, 5.0)))
    own = [LLL(Softmax(0.1 * 50 ** (game / 11))) for game in range(12)]
    for seed in range(40):
        _, counts, uniform, state, is_greedy = situation(seed, games=12, actions=3, states=3)
        values = jax.random.normal(jax.random.key(seed), (12, 3))
        same = jnp.asarray(state[:, None] == state[None])
        fixed = jnp.where(is_greedy, greedy_actions(values, uniform), -1)
        found = in_turns(rule, values, counts, STEPS, uniform, same, fixed)
        expected = one_after_the_other(own, values, counts, uniform, state, is_greedy)
        np.testing.assert_array_equal(found, expected)


def test_the_mean_of_equal_probabilities_is_exactly_theirs():
    """So nothing depends on how many games meet, where an entry of the counts holds a single observation."""
    log_f = jax.nn.log_softmax(jnp.asarray([[0.3, -2.0, 7.1], [0.5, 0.2, 0.1], [-40.0, 60.0, -jnp.inf]]))
    state = np.asarray([0, 1, 0, 2, 0, 1, 2, 2, 2, 0, 0])
    same = jnp.asarray(state[:, None] == state[None])
    np.testing.assert_array_equal(jax.jit(_shared)(log_f[state], same), log_f[state])


def test_every_game_has_the_numbers_of_its_place_in_a_spread():
    """A cold game takes the best action where a hot one takes the one that was tried less."""
    values, counts = jnp.tile(jnp.asarray([0.0, 1.0]), (2, 1)), jnp.tile(jnp.asarray([1.0, 9.0]), (2, 1))
    rule = for_games(LLL(Softmax(Spread(0.01, 100.0))), 2)
    apart = jnp.eye(2, dtype=bool)
    found = actions_in_turns(rule, values, counts, STEPS, jnp.zeros(2), apart, jnp.full(2, -1), alike=False)
    np.testing.assert_array_equal(found, [1, 0])


@pytest.mark.parametrize("start", [0.0, 5.0])
def test_ties_are_shared_out_like_all_others(start):
    """With equal values and equal counts, n games in a state spread evenly over its actions."""
    games, actions = 11, 4
    values, counts = jnp.zeros((games, actions)), jnp.full((games, actions), start)
    uniform = jax.random.uniform(jax.random.key(3), (games,))
    together = jnp.ones((games, games), bool)
    nobody = jnp.full(games, -1)
    found = in_turns(LLL(Softmax(1.0)), values, counts, STEPS, uniform, together, nobody)
    assert sorted(np.bincount(np.asarray(found), minlength=actions).tolist()) == [2, 3, 3, 3]


def test_ties_are_broken_in_every_way():
    games, actions = 2, 3
    seen = set()
    for seed in range(60):
        uniform = jax.random.uniform(jax.random.key(seed), (games,))
        found = in_turns(
            LLL(Softmax(1.0)), jnp.zeros((games, actions)), jnp.zeros((games, actions)), STEPS, uniform,
            jnp.ones((games, games), bool), jnp.full(games, -1),
        )  # fmt: skip
        seen.add(tuple(np.asarray(found).tolist()))
    assert {first for first, _ in seen} == {0, 1, 2}
    assert all(first != second for first, second in seen)


def test_actions_that_are_not_available_are_never_taken():
    games = 6
    values = jnp.tile(jnp.asarray([0.0, -jnp.inf, 0.2]), (games, 1))
    counts = jnp.tile(jnp.asarray([3.0, 0.0, 0.0]), (games, 1))
    uniform = jnp.linspace(0, 0.9, games)
    together, nobody = jnp.ones((games, games), bool), jnp.full(games, -1)
    for rule in (LLL(Softmax(1.0)), UCB(1.0)):
        found = in_turns(rule, values, counts, STEPS, uniform, together, nobody)
        assert 1 not in np.asarray(found)
        assert 2 in np.asarray(found)


def test_a_state_whose_code_collides_with_that_of_another_never_takes_an_action_that_it_lacks():
    """By the mean, (0.45, 0.55), the turns are 1, 0, 1, 0; the third game is in the other state."""
    values = jnp.asarray([[0.0, 1.0], [0.0, 1.0], [0.0, -jnp.inf], [0.0, 1.0]])
    together, nobody = jnp.ones((4, 4), bool), jnp.full(4, -1)
    found = in_turns(LLL(Softmax(1.0)), values, jnp.ones((4, 2)), STEPS, jnp.zeros(4), together, nobody)
    np.testing.assert_array_equal(found, [1, 0, 0, 0])


def test_games_in_different_states_do_not_wait_for_each_other():
    values, counts = jnp.zeros((3, 2)), jnp.tile(jnp.asarray([1.0, 2.0]), (3, 1))
    alone, nobody = jnp.eye(3, dtype=bool), jnp.full(3, -1)
    found = in_turns(LLL(Softmax(1.0)), values, counts, STEPS, jnp.zeros(3), alone, nobody)
    np.testing.assert_array_equal(found, [0, 0, 0])
