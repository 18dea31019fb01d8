"""Counts that many games share."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dorax import EValues, Visits
from dorax.agents.explorers.tables import Pairs, are_same, counted, counts_of
from dorax.core import count_after_visits, next_count

RATE, DISCOUNT = 0.4, 0.9
E_VALUES = EValues(DISCOUNT, learning_rate=RATE)


def visited(entries, action, successor_count, is_visit=None):
    entries = jnp.asarray(entries)
    entries = entries[:, None] if entries.ndim == 1 else entries
    is_visit = jnp.ones(len(entries), bool) if is_visit is None else jnp.asarray(is_visit)
    return Pairs(entries, jnp.asarray(action), is_visit, jnp.asarray(successor_count, float))


def random_tables(tables=1, entries=6, actions=3):
    return jnp.asarray(np.random.default_rng(0).exponential(3, (tables, entries, actions)), jnp.float32)


def test_a_single_visit_is_that_of_a_table():
    tables = random_tables()
    for successor in (0.0, 0.3, 7.0, np.inf):
        after, new = counted(E_VALUES, tables, visited([2], [1], [successor]))
        expected = next_count(tables[0, 2, 1], jnp.asarray(successor), RATE, DISCOUNT)
        np.testing.assert_allclose(new, [expected], rtol=1e-5)
        np.testing.assert_allclose(after[0, 2, 1], expected, rtol=1e-5)
        np.testing.assert_array_equal(after.at[0, 2, 1].set(0.0), tables.at[0, 2, 1].set(0.0))


def test_visits_of_different_pairs_do_not_affect_each_other():
    tables = random_tables()
    together, _ = counted(E_VALUES, tables, visited([0, 1, 1], [0, 0, 2], [1.0, np.inf, 0.5]))
    one_by_one = tables
    for entry, action, successor in ((0, 0, 1.0), (1, 0, np.inf), (1, 2, 0.5)):
        one_by_one, _ = counted(E_VALUES, one_by_one, visited([entry], [action], [successor]))
    np.testing.assert_allclose(together, one_by_one, rtol=1e-6)


@pytest.mark.parametrize(("count", "successor"), [(0.0, np.inf), (2.0, 1.0), (50.0, 0.0)])
def test_simultaneous_visits_are_those_of_one_game_in_a_row(count, successor):
    """Rises add up; a fall ends at the level of the successor instead of going on for every game."""
    tables = jnp.full((1, 2, 2), count)
    games = 20
    after, new = counted(E_VALUES, tables, visited([1] * games, [0] * games, [successor] * games))
    expected = jnp.asarray(count)
    for _ in range(games):
        expected = next_count(expected, jnp.asarray(successor), RATE, DISCOUNT)
    np.testing.assert_allclose(after[0, 1, 0], expected, rtol=1e-4)
    np.testing.assert_allclose(new, np.full(games, expected), rtol=1e-4)
    assert float(after[0, 1, 0]) > 0


def test_visits_with_different_successors_count_with_the_mean_of_their_e_values():
    successors = np.asarray([0.5, 4.0, np.inf])
    mean_e = np.mean((1 - RATE) ** successors)
    expected = count_after_visits(jnp.asarray(3.0), np.log(mean_e) / np.log(1 - RATE), RATE, DISCOUNT, 3)
    after, _ = counted(E_VALUES, jnp.full((1, 1, 1), 3.0), visited([0] * 3, [0] * 3, successors))
    np.testing.assert_allclose(after[0, 0, 0], expected, rtol=1e-5)


def test_plain_visits_are_counted_one_by_one():
    after, new = counted(Visits(), jnp.zeros((1, 3, 2)), visited([0, 0, 2, 0], [1, 1, 0, 0], [9.0] * 4))
    assert after[0].tolist() == [[1.0, 2.0], [0.0, 0.0], [1.0, 0.0]]
    assert new.tolist() == [2.0, 2.0, 1.0, 1.0]


def test_games_that_make_no_visit_are_not_counted():
    tables = random_tables()
    after, _ = counted(E_VALUES, tables, visited([0, 1], [0, 1], [1.0, 1.0], [False, False]))
    np.testing.assert_array_equal(after, tables)
    after, _ = counted(Visits(), tables, visited([0, 0], [0, 0], [1.0, 1.0], [False, True]))
    np.testing.assert_allclose(after[0, 0, 0], tables[0, 0, 0] + 1)


def test_a_count_is_the_smallest_over_the_tables_and_a_visit_counts_in_all():
    tables = jnp.zeros((2, 4, 1)).at[0, 3, 0].set(5.0)
    state, other = [3, 1], [3, 2]  # they collide in the first table
    entries = jnp.asarray([state, other])
    np.testing.assert_array_equal(counts_of(tables, entries), [[0.0], [0.0]])
    after, _ = counted(Visits(), tables, visited(jnp.asarray([state, state]), [0, 0], [np.inf, np.inf]))
    np.testing.assert_array_equal(counts_of(after, entries), [[2.0], [0.0]])
    assert after[0, 3, 0] == 7.0


def test_games_are_in_the_same_state_if_all_their_entries_are_equal():
    entries = jnp.asarray([[1, 2], [1, 3], [1, 2]])
    np.testing.assert_array_equal(are_same(entries), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])


def test_counts_stay_finite_and_are_never_negative():
    tables = random_tables()
    key = jax.random.key(0)
    step = jax.jit(counted)
    for i in range(300):
        key, *keys = jax.random.split(key, 4)
        entries = jax.random.randint(keys[0], (16, 1), 0, 6)
        action = jax.random.randint(keys[1], (16,), 0, 3)
        successor = jnp.where(jax.random.uniform(keys[2], (16,)) < 0.2, jnp.inf, jnp.min(tables[0, i % 6]))
        tables, _ = step(E_VALUES, tables, Pairs(entries, action, jnp.ones(16, bool), successor))
    assert np.isfinite(tables).all()
    assert (tables >= 0).all()
