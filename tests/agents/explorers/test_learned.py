"""Prototypes of learned features: what they keep, what they drop, and what becomes of the counts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dorax
from dorax.agents.explorers.learned import LearnedCodes
from dorax.agents.explorers.tables import CountTables
from dorax.agents.value_network import Inputs
from dorax.core.counters import Visits
from dorax.features.specs import LearnedPrototypes

STATES, DIMS, NOISE_INPUTS, STEPS = 6, 8, 8, 32
NOISE = 3.0  # the squared distance of two views of a state is 144 on average, of two states 160
TRUE, FALSE = jnp.ones((), bool), jnp.zeros((), bool)
POINTS = np.random.default_rng(0).standard_normal((STATES, DIMS))


def seen(states, random):
    """Views of states: a fixed vector of each, beside noise."""
    noise = NOISE * random.standard_normal((len(states), NOISE_INPUTS))
    return jnp.asarray(np.concatenate([POINTS[states], noise], axis=1), jnp.float32)


def explorer(first_renewal=8000, size=256, depth=0):
    spec = LearnedPrototypes(size=size, dims=8, first_renewal=first_renewal, width=32, depth=depth)
    return CountTables(Visits(), None, LearnedCodes(spec, Inputs(DIMS + NOISE_INPUTS), 2), 2)


class Ring:
    """Games that walk around a ring of states, one step forth or back."""

    def __init__(self, tables, shown, games=32):
        self.random, self.tables, self.shown, self.games = np.random.default_rng(1), tables, shown, games
        self.states = self.random.integers(0, STATES, games)
        self.visits = np.zeros((STATES, 2))
        self.updated = jax.jit(tables.update)

    def start(self):
        """Start an episode in every game; return the memory."""
        memory = self.tables.init(jax.random.key(2))
        self.x = seen(self.states, self.random)
        return self.shown(self.tables, memory, 0 * self.x, self.x, is_start=True, is_visit=False)[0]

    def walk(self, memory):
        """Make as many steps as there are between two updates; return the memory and the rows."""
        rows = []
        for _ in range(STEPS):
            action = self.random.integers(0, 2, self.games)
            np.add.at(self.visits, (self.states, action), 1)
            self.states = (self.states + 2 * action - 1) % STATES
            next_x = seen(self.states, self.random)
            memory, _, row = self.shown(self.tables, memory, self.x, next_x, action=action)
            self.x = next_x
            rows.append(row)
        return memory, jax.tree.map(lambda *leaves: jnp.stack(leaves), *rows)

    def until(self, renewals):
        """Walk until the features have been renewed so many times."""
        memory, renewed = self.start(), []
        while len(renewed) < renewals:
            before, rows = self.walk(memory)
            memory = self.updated(before, rows, jax.random.key(int(self.visits.sum())), TRUE)
            assert float(memory.counts.sum()) == pytest.approx(float(before.counts.sum()))
            if int(memory.book.renewed) > int(before.book.renewed):
                renewed.append(int(memory.book.renewed))
        return memory, renewed


@pytest.mark.slow
@pytest.mark.parametrize(("depth", "renewals"), [(0, 2), (1, 3)])
def test_renewed_features_merge_views_that_differ_by_noise_and_keep_states_apart(shown, depth, renewals):
    tables = explorer(depth=depth)
    ring = Ring(tables, shown)
    memory, renewed = ring.until(renewals)
    assert renewed == [8192, 16384, 32768][:renewals]
    assert float(memory.counts.sum()) == ring.visits.sum()
    looked = tables.look(memory, seen(np.repeat(np.arange(STATES), 20), np.random.default_rng(3)))
    entries = np.asarray(looked.features.entries)[:, 0].reshape(STATES, 20)
    common = np.array([np.bincount(row).argmax() for row in entries])
    assert len(set(common.tolist())) == STATES
    assert np.mean(entries == common[:, None]) > 0.9


def test_at_a_renewal_every_state_gets_the_counts_of_all_its_views(shown):
    """With features that drop the noise exactly, counts are afterwards the visits of every state."""
    tables = explorer(first_renewal=1, size=300)
    ring = Ring(tables, shown, games=8)
    memory, _ = ring.walk(ring.start())
    book = memory.book
    assert int(book.prototypes.size) == 8 + ring.visits.sum()  # no two views share an entry
    exact = jnp.eye(DIMS + NOISE_INPUTS, 8)
    book = book._replace(weights=book.weights._replace(features=exact), steps=jnp.asarray(8 * STEPS))
    book, counts = jax.jit(tables.encoder.tidied)(book, memory.counts, TRUE)
    assert int(book.prototypes.size) == STATES
    entries = tables.encoder.encode(book, seen(np.arange(STATES), ring.random)).entries[:, 0]
    np.testing.assert_array_equal(counts[0, entries], ring.visits)


@pytest.mark.slow
def test_a_full_dictionary_of_features_makes_room_and_keeps_all_counts(shown):
    tables = explorer(size=64)
    ring = Ring(tables, shown, games=8)
    memory = ring.start()
    for i in range(4):
        memory, rows = ring.walk(memory)
        memory = ring.updated(memory, rows, jax.random.key(i), TRUE)
        assert int(memory.book.prototypes.size) < 64
    assert float(memory.counts.sum()) == ring.visits.sum()
    assert int(memory.book.renewed) == 0


@pytest.mark.slow
def test_an_update_that_does_not_learn_changes_nothing(shown):
    ring = Ring(explorer(first_renewal=1), shown, games=8)
    before, rows = ring.walk(ring.start())
    after = ring.updated(before, rows, jax.random.key(0), FALSE)
    for one, other in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        np.testing.assert_array_equal(one, other)


def test_codes_from_before_a_renewal_are_found_again():
    codes = explorer(first_renewal=1, size=16).encoder
    x = seen(np.arange(4), np.random.default_rng(4))
    book = codes.init(jax.random.key(0))
    code = codes.encode(book, x)
    book = codes.visited(book, code, x, jnp.ones(4, bool))
    counts = jnp.zeros((1, 16, 2)).at[0, :4, 0].set(jnp.asarray([1.0, 2.0, 4.0, 8.0]))
    book, counts = codes.tidied(book._replace(steps=jnp.asarray(1)), counts, TRUE)
    assert int(book.renewed) == 1
    now = codes.current(book, code)[:, 0]
    np.testing.assert_array_equal(now, codes.encode(book, book.observations[now]).entries[:, 0])
    expected = np.bincount(np.asarray(now), weights=[1, 2, 4, 8], minlength=16)
    np.testing.assert_array_equal(counts[0, :, 0], expected)


def test_in_a_finite_world_every_state_is_an_entry():
    agent = dorax.ParallelAgent(
        rule=dorax.LLL(dorax.Softmax(0.1)), counter=Visits(features=LearnedPrototypes()), games=4, rollout=16, width=16
    )
    env = dorax.engine.learner.EnvSpec("sea", 2, available=np.ones((9, 2), bool))
    tables = agent.algorithm(env).explorers[0]
    assert isinstance(tables, CountTables)
    assert tables.encoder.entries == 9


@pytest.mark.slow
def test_the_deep_sea_is_solved_through_noise_as_large_as_the_signal():
    counter = dorax.EValues(0.99, features=LearnedPrototypes())
    agent = dorax.ParallelAgent(rule=dorax.LLL(dorax.Softmax(0.05)), counter=counter, games=32)
    sea = dorax.envs.DenseView(dorax.mdps.deep_sea(10, seed=3), noise=2.0)
    result = dorax.train(agent, sea, steps=60_000, seeds=2)
    np.testing.assert_allclose(result.data.greedy_return[:, -1], 0.99, atol=1e-6)
