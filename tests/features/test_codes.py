"""Codes of observations for counting."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dorax import InvalidInput, Tiles
from dorax.features.codes import encoder
from dorax.features.specs import HashedCodes, Prototypes, Table

NOBODY_DUE, DUE = jnp.zeros((), bool), jnp.ones((), bool)


def shown(codes, book, observations):
    """Show observations to an encoder, one call for all; return the book and their entries."""
    x = jnp.asarray(observations)
    code = codes.encode(book, x)
    return codes.visited(book, code, x, jnp.ones(len(x), bool)), np.asarray(code.entries)[:, 0]


def test_hashed_codes_are_equal_for_equal_observations_and_differ_between_tables():
    codes = encoder(HashedCodes(tables=4, bits=10), None, 6)
    book = codes.init(jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (50, 6))
    entries = np.asarray(codes.encode(book, jnp.concatenate([x, x])).entries)
    np.testing.assert_array_equal(entries[:50], entries[50:])
    assert entries.shape == (100, 4)
    assert 0 <= entries.min() < entries.max() < 1024
    assert all(len(np.unique(entries[:50, k])) > 15 for k in range(4))
    assert len({tuple(column) for column in entries.T}) == 4


def test_states_have_hashed_codes_of_their_own():
    codes = encoder(HashedCodes(), 400, 0)
    entries = np.asarray(codes.encode(codes.init(jax.random.key(0)), jnp.arange(400)).entries)
    assert len(np.unique(entries, axis=0)) == 400


def test_in_a_finite_world_every_state_is_its_own_prototype():
    for features in (None, Table(), Prototypes(size=3)):
        codes = encoder(features, 30, 0)
        np.testing.assert_array_equal(
            codes.encode(codes.init(jax.random.key(0)), jnp.arange(30)).entries[:, 0], range(30)
        )


def test_prototypes_without_a_threshold_tell_all_observations_apart():
    codes = encoder(Prototypes(size=64), None, 5)
    book = codes.init(jax.random.key(0))
    x = np.random.default_rng(0).normal(size=(20, 5)).astype(np.float32)
    book, first = shown(codes, book, x[:12])
    np.testing.assert_array_equal(first, range(12))
    book, again = shown(codes, book, x[[3, 15, 3, 15, 7, 19]])
    np.testing.assert_array_equal(again, [3, 12, 3, 12, 7, 13])
    assert int(book.size) == 14


def test_an_observation_has_the_entry_of_the_nearest_prototype():
    codes = encoder(Prototypes(size=8, threshold=0.5), None, 1)
    book, entries = shown(codes, codes.init(jax.random.key(0)), [[0.0], [1.0], [0.1], [0.9], [3.0], [3.4]])
    np.testing.assert_array_equal(entries, [0, 1, 0, 1, 2, 2])
    assert np.asarray(codes.encode(book, jnp.asarray([[0.45], [0.55]])).entries)[:, 0].tolist() == [0, 1]


def test_only_what_was_visited_becomes_a_prototype():
    codes = encoder(Prototypes(size=8), None, 2)
    book, x = codes.init(jax.random.key(0)), jnp.asarray([[0.0, 1.0], [1.0, 0.0]])
    code = codes.encode(book, x)
    assert int(codes.visited(book, code, x, jnp.zeros(2, bool)).size) == 0
    assert int(codes.visited(book, code, x, jnp.asarray([True, False])).size) == 1


def test_a_full_dictionary_merges_what_differs_by_noise_alone_and_keeps_all_counts():
    """Ten places, each seen with small noise: the threshold settles between noise and the distance of places."""
    random = np.random.default_rng(1)
    places = random.normal(size=(10, 16)).astype(np.float32)
    codes = encoder(Prototypes(size=40), None, 16)
    book, counts = codes.init(jax.random.key(0)), jnp.zeros((1, 40, 2))
    tidied = jax.jit(codes.tidied)
    for _ in range(60):
        x = places[random.integers(0, 10, 8)] + 0.1 * random.normal(size=(8, 16)).astype(np.float32)
        code = codes.encode(book, jnp.asarray(x))
        counts = counts.at[0, code.entries[:, 0], 0].add(1.0)
        book = codes.visited(book, code, jnp.asarray(x), jnp.ones(8, bool))
        book, counts = tidied(book, counts, DUE)
    assert float(counts.sum()) == 60 * 8
    assert 10 <= int(book.size) < 40
    entries = np.asarray(codes.encode(book, jnp.asarray(places)).entries)[:, 0]
    assert len(set(entries.tolist())) == 10
    noise, apart = 0.1 * np.sqrt(2 * 16), np.sqrt(2 * 16)
    assert noise / 2 < np.sqrt(float(book.threshold)) < apart / 2


def test_entries_of_an_earlier_edition_are_found_again():
    codes = encoder(Prototypes(size=4, threshold=0.1), None, 1)
    book = codes.init(jax.random.key(0))
    x = jnp.asarray([[0.0], [0.25], [5.0], [5.25]])
    code = codes.encode(book, x)
    book = codes.visited(book, code, x, jnp.ones(4, bool))
    counts = jnp.asarray([[[1.0], [2.0], [4.0], [8.0]]])
    same, unchanged = codes.tidied(book, counts, NOBODY_DUE)
    assert int(same.edition) == 0
    np.testing.assert_array_equal(unchanged, counts)
    book, counts = codes.tidied(book, counts, DUE)
    assert int(book.size) == 2
    assert counts[0, :, 0].tolist() == [3.0, 12.0, 0.0, 0.0]
    assert codes.current(book, code)[:, 0].tolist() == [0, 0, 1, 1]
    assert codes.current(book, codes.encode(book, x))[:, 0].tolist() == [0, 0, 1, 1]


def test_prototypes_are_merged_in_their_order():
    """A chain of points, each near the next: every second one stays."""
    codes = encoder(Prototypes(size=5), None, 1)
    x = jnp.asarray([[0.0], [1.0], [2.0], [3.0], [4.0]])
    book, _ = shown(codes, codes.init(jax.random.key(0)), x)
    book, counts = codes.tidied(book, jnp.ones((1, 5, 1)), DUE)
    assert book.points[:3, 0].tolist() == [0.0, 2.0, 4.0]
    assert counts[0, :, 0].tolist() == [2.0, 2.0, 1.0, 0.0, 0.0]


def test_features_that_games_cannot_share_are_refused():
    with pytest.raises(InvalidInput, match="support HashedCodes, Prototypes here"):
        encoder(Tiles(), None, 2)
    with pytest.raises(InvalidInput, match="support HashedCodes, Prototypes here"):
        encoder(Table(), None, 2)
