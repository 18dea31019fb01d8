"""Agents with a single game that count by the explorers of `ParallelAgent`: `DeepAgent` and `LinearAgent`."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dorax
from dorax import (
    LLL,
    CountNetwork,
    DeepAgent,
    EValues,
    HashedCodes,
    InverseRootCount,
    LearnedPrototypes,
    LinearAgent,
    Prototypes,
    RandomStart,
    Softmax,
    Table,
    Tiles,
    Visits,
)
from dorax.agents.explorers.making import explorer_of_one
from dorax.agents.explorers.protocol import Visited
from dorax.agents.value_network import Inputs
from dorax.core import next_count
from dorax.envs.simulation import EnvSpec

CHAIN = EnvSpec("chain", 2, low=(-1.0, -1.0), high=(1.0, 1.0), block=256)
VIEWS = np.asarray([[-0.9, 0.4], [-0.3, -0.8], [0.2, 0.7], [0.9, -0.1]], np.float32)
TABLES = [HashedCodes(tables=2, bits=12), Prototypes(16)]
NETWORKS = [
    LearnedPrototypes(16, first_renewal=40, width=8),
    CountNetwork(learning_rate=0.01, width=8),
    RandomStart(learning_rate=0.01, width=8),
]


def name_of(part):
    return getattr(part, "__name__", type(part).__name__)


def agent_with(family: Any, features: Any, /, **options: Any) -> Any:
    if family is DeepAgent:
        options = {"width": 4, "depth": 1, "capacity": 64, "batch": 4} | options
    return family(LLL(Softmax(0.5)), EValues(0.9, features=features), InverseRootCount(0.1), **options)


def walked(learner, steps, state=0):
    """Walk a chain, where action 1 leads onward and its end is terminal; yield each step with the next action."""
    for _ in range(steps):
        action = learner.act(VIEWS[state])
        next_state = min(state + action, 3)
        terminated = next_state == 3
        learner.observe(VIEWS[state], action, float(terminated), VIEWS[next_state], terminated)
        yield state, action, next_state, None if terminated else learner.act(VIEWS[next_state])
        state = 0 if terminated else next_state


@pytest.mark.parametrize("features", TABLES, ids=name_of)
@pytest.mark.parametrize("family", [LinearAgent, DeepAgent])
def test_counts_in_tables_are_those_of_a_table_of_states(family, features):
    learner = agent_with(family, features).learner(CHAIN)
    expected = np.zeros((4, 2))
    for state, action, next_state, next_action in walked(learner, 70):
        successor = None if next_action is None else expected[next_state, next_action]
        expected[state, action] = next_count(expected[state, action], successor, 0.5, 0.9)
    np.testing.assert_allclose([learner.counts(view) for view in VIEWS], expected, rtol=1e-5)


@pytest.mark.parametrize(("family", "features"), [
    (LinearAgent, TABLES[0]), (DeepAgent, TABLES[1]), (LinearAgent, NETWORKS[0]), (DeepAgent, NETWORKS[2]),
    *(
        pytest.param(family, features, marks=pytest.mark.slow)
        for family, others in ((LinearAgent, (TABLES[1], *NETWORKS[1:])), (DeepAgent, (TABLES[0], *NETWORKS[:2])))
        for features in others
    ),
], ids=name_of)  # fmt: skip
def test_a_saved_learner_goes_on_as_if_nothing_had_happened(family, features, tmp_path):
    learner = agent_with(family, features).learner(CHAIN)
    *_, (_, _, reached, next_action) = walked(learner, 70)
    before = learner.counts(VIEWS[0])
    learner.save(tmp_path / "learner.npz")
    again = dorax.load(tmp_path / "learner.npz")
    state = 0 if next_action is None else reached
    assert [*walked(learner, 70, state)] == [*walked(again, 70, state)]
    for view in VIEWS:
        np.testing.assert_array_equal(learner.counts(view), again.counts(view))
        np.testing.assert_array_equal(learner.q(view), again.q(view))
    assert learner.counts(VIEWS[0]).sum() > before.sum()


@pytest.mark.slow
@pytest.mark.parametrize(("family", "features"), [
    (LinearAgent, CountNetwork(learning_rate=0.01, width=8)), (DeepAgent, RandomStart(learning_rate=0.01, width=8)),
])  # fmt: skip
def test_they_are_trained_side_by_side(family, features):
    car, here = dorax.envs.SparseMountainCar(), np.asarray([-0.5, 0.0], np.float32)
    result = dorax.train(agent_with(family, features), car, steps=600, seeds=[0, 1], learners=[0, 1])
    counts = [result.learner(seed).counts(here) for seed in (0, 1)]
    assert (np.max(counts, axis=1) > 0.1).all()
    assert not np.array_equal(*counts)


def test_a_network_learns_from_a_whole_portion_at_a_time():
    """Nothing changes before the steps are together, and then what an explorer without portions learns from them."""
    one: Any = explorer_of_one(EValues(0.9, features=CountNetwork(width=4)), None, Inputs(2), 2, 4)
    key, learns = jax.random.key(1), jnp.ones((), bool)
    state = one.init(key)
    rows = [stacked_rows(one, state, i) for i in range(one.size // 4)]
    update = jax.jit(one.update)
    for row in rows[:-1]:
        state = update(state, row, key, learns)
    jax.tree.map(np.testing.assert_array_equal, state.state, one.init(key).state)
    last = update(state, rows[-1], key, ~learns)
    jax.tree.map(np.testing.assert_array_equal, state, last)
    state = update(state, rows[-1], key, learns)
    together = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *rows)
    expected = jax.jit(one.explorer.update)(one.explorer.init(key), together, key, learns)
    jax.tree.map(np.testing.assert_array_equal, state.state, expected)
    assert state.filled == 0


def stacked_rows(one, state, i):
    """Rows of four steps."""
    x = jnp.asarray(VIEWS[i % 4][None])
    look = one.look(state, x)
    no, zero = jnp.zeros(1, bool), jnp.zeros(1, jnp.int32)
    row = one.observe(state, Visited(x, look.features, zero + i % 2, x, look, zero, no, no, no, ~no))[2]
    return jax.tree.map(lambda leaf: jnp.stack([leaf] * 4), row)


@pytest.mark.parametrize("features", [Table(), Tiles()], ids=name_of)
@pytest.mark.parametrize("family", [LinearAgent, DeepAgent])
def test_features_that_they_do_not_support_are_refused_in_one_line(family, features):
    names = "HashedCodes, Prototypes, LearnedPrototypes, CountNetwork, RandomStart, or None"
    with pytest.raises(dorax.InvalidInput, match=f"a {family.__name__} supports {names}") as error:
        agent_with(family, features)
    assert "\n" not in str(error.value)


def test_options_that_mean_nothing_with_features_are_refused():
    with pytest.raises(dorax.InvalidInput, match="allowed: "):
        LinearAgent(LLL(Softmax(0.1)), EValues(0.9, form="logistic", features=RandomStart()))
    with pytest.raises(dorax.InvalidInput, match="allowed: "):
        LinearAgent(LLL(Softmax(0.1)), EValues(0.9, step_size=0.5, features=CountNetwork()))
    LinearAgent(LLL(Softmax(0.1)), EValues(0.9, form="logistic", features=CountNetwork()))
    LinearAgent(LLL(Softmax(0.1)), Visits(features=CountNetwork()))


@pytest.mark.slow
def test_novelty_has_values_of_its_own_with_features_as_without():
    """One tile a state and a table for each state: both count the same, so both learn the same."""
    walks, found = [], []
    for features in (None, Prototypes(16)):
        learner = agent_with(
            LinearAgent, features, features=Tiles(16, 1), novelty_discount=0.8, initial_scale=0.0, learning_rate=0.3
        ).learner(CHAIN)
        walks.append([*walked(learner, 60)])
        found.append([[learner.q(view), learner.counts(view)] for view in VIEWS])
    assert walks[0] == walks[1]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-6)
