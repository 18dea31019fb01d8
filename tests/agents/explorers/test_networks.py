"""Counts by networks: in the forms of E-values, and from a random start."""

from functools import partial
from math import log, sqrt
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dorax
from dorax import LLL, CountNetwork, EpsilonGreedy, EValues, InverseRootCount, ParallelAgent, RandomStart, Softmax
from dorax.agents.explorers.making import explorers_of
from dorax.agents.value_network import Inputs, ValueNetwork
from dorax.core import next_count

KEY = jax.random.key(0)
LEARNS = jnp.ones((), bool)
RATE, DISCOUNT, SCALE = 0.4, 0.9, 0.3
STATES = Inputs(5, is_finite=True)
VECTORS = Inputs(3)


def explorer(features, inputs=STATES, form: Any = "count", bonus=None, discount=DISCOUNT):
    counter = EValues(discount, learning_rate=RATE, form=form, features=features)
    return explorers_of(counter, bonus, inputs, 2, 1)[0]


def visited_again_and_again(one, shown, path, updates, rows_each=8):
    """The state after a path of (state, action, next state, next action, terminated) was repeated."""
    state = one.init(KEY)
    update = jax.jit(one.update)
    for i in range(updates):
        rows = []
        for n in range(rows_each):
            x, action, next_x, next_action, terminated = path[n % len(path)]
            step = {"action": action, "next_action": next_action, "terminated": terminated}
            state, _, row = shown(one, state, [x], [next_x], **step)
            rows.append(row)
        rows = jax.tree.map(lambda *leaves: jnp.stack(leaves), *rows)
        state = update(state, rows, jax.random.key(i), LEARNS)
    return state


def bias_after_one_step(one, shown, terminated):
    """Adam's first step changes every weight by the learning rate, in the direction that lowers the loss."""
    state, _, row = shown(one, one.init(KEY), [0], [1], action=1, terminated=terminated)
    state = one.update(state, jax.tree.map(lambda leaf: leaf[None], row), KEY, LEARNS)
    return state[0][-1].bias


@pytest.mark.parametrize(("form", "sign"), [("count", 1), ("logistic", -1)])
@pytest.mark.parametrize("terminated", [True, False])
def test_a_visit_moves_the_output_of_the_taken_action_towards_more_visits(form, sign, terminated, shown):
    one = explorer(CountNetwork(learning_rate=0.01, width=8), form=form)
    np.testing.assert_allclose(bias_after_one_step(one, shown, terminated), [0, sign * 0.01], rtol=1e-4)


def test_the_bonus_of_a_count_is_that_after_the_visit(shown):
    bonus = InverseRootCount(SCALE)
    for terminated in (False, True):
        counted = next_count(0.0, None if terminated else 0.0, RATE, DISCOUNT)
        one = explorer(CountNetwork(width=8), bonus=bonus)
        _, found, _ = shown(one, one.init(KEY), [0], [1], terminated=terminated)
        np.testing.assert_allclose(found, [SCALE / sqrt(counted)], rtol=1e-5)
        one = explorer(CountNetwork(width=8), form="logistic", bonus=bonus)
        _, found, _ = shown(one, one.init(KEY), [0], [1], terminated=terminated)
        target = 0 if terminated else DISCOUNT / 2
        output = 0.5 * (target - 0.5) / 4  # one step of size 1/2 down the gradient, from E = 1/2
        count = log(1 / (1 + np.exp(-output))) / log(1 - RATE)
        np.testing.assert_allclose(found, [SCALE / sqrt(count)], rtol=1e-5)


def test_a_new_learner_with_a_random_start_has_counts_of_0():
    for inputs, x in ((STATES, jnp.arange(5)), (VECTORS, jax.random.normal(KEY, (20, 3)))):
        one = explorer(RandomStart(width=16), inputs)
        counts = np.asarray(one.look(one.init(KEY), x).counts)
        np.testing.assert_allclose(counts, 0, atol=1e-5)
        assert (counts >= 0).all()


def test_the_bonus_of_a_random_start_is_that_of_one_visit_of_a_table(shown):
    """A terminal visit leaves 1 - rate of the difference, which is a count of 1."""
    one = explorer(RandomStart(width=16), bonus=InverseRootCount(SCALE))
    state = one.init(KEY)
    _, bonus, _ = shown(one, state, [0], [1], terminated=True)
    np.testing.assert_allclose(bonus, [SCALE], rtol=1e-4)
    _, bonus, _ = shown(one, state, [0], [1], next_action=1)
    d = np.asarray(one.look(state, jnp.arange(2)).features.d)
    e = np.sqrt(np.mean(((1 - RATE) * d[0, 0] + RATE * DISCOUNT * d[1, 1]) ** 2))
    np.testing.assert_allclose(bonus, [SCALE / sqrt(log(e) / log(1 - RATE))], rtol=1e-3)
    _, bonus, _ = shown(one, state, [0], [0])  # a loop at a new pair: E becomes 1 - rate + rate * discount
    np.testing.assert_allclose(bonus, [SCALE / sqrt(float(next_count(0.0, 0.0, RATE, DISCOUNT)))], rtol=1e-3)


PATH = [(0, 0, 1, 0, False), (1, 0, 2, 0, False), (2, 0, 3, 0, True)]


@pytest.mark.parametrize(("features", "form"), [
    (RandomStart(width=16, learning_rate=3e-3), "count"),
    (CountNetwork(width=16, learning_rate=3e-3), "count"),
    (CountNetwork(width=16, learning_rate=3e-3), "logistic"),
])  # fmt: skip
def test_pairs_of_a_path_that_is_walked_again_and_again_become_known(features, form, shown):
    one = explorer(features, form=form)
    start = np.asarray(one.look(one.init(KEY), jnp.arange(3)).counts)[:, 0]
    state = visited_again_and_again(one, shown, PATH, 60)
    counts = np.asarray(one.look(state, jnp.arange(3)).counts)
    assert (counts[:, 0] > start + 1.5).all()
    assert counts[:, 0].min() > 2 * counts[:, 1].max() - start[0]


def test_a_pair_that_leads_to_a_new_one_stays_new_with_a_random_start(shown):
    """E of the visited pair becomes discount * 1, however often it is visited."""
    one = explorer(RandomStart(width=16, learning_rate=3e-3), discount=0.8)
    state = visited_again_and_again(one, shown, [(0, 0, 1, 1, False)], 60)
    e = (1 - RATE) ** np.asarray(one.look(state, jnp.arange(2)).counts)[0, 0]
    np.testing.assert_allclose(e, 0.8, atol=0.1)


def test_the_random_function_is_not_changed(shown):
    one = explorer(RandomStart(width=8))
    state = visited_again_and_again(one, shown, PATH, 2)
    jax.tree.map(np.testing.assert_array_equal, state.start, one.init(KEY).start)
    same = one.update(state, shown(one, state, [0], [1])[2], KEY, ~LEARNS)
    jax.tree.map(np.testing.assert_array_equal, state, same)


def test_networks_know_how_long_a_vector_is():
    """Layer norm alone would not: x and 2 x would have equal outputs."""
    network = ValueNetwork(VECTORS, 4, 16, 2)
    x = jnp.asarray([[0.2, -0.1, 0.4]])
    layers = network.init(KEY, last=1.0)
    assert np.abs(network.apply(layers, x) - network.apply(layers, 2 * x)).max() > 0.05


def test_games_are_in_the_same_state_if_their_observations_are_equal():
    one = explorer(CountNetwork(width=8), VECTORS)
    x = jnp.asarray([[1.0, 2.0, 3.0], [1.0, 2.0, 4.0], [1.0, 2.0, 3.0]])
    same = one.are_same(one.look(one.init(KEY), x).features)
    np.testing.assert_array_equal(same, [[1, 0, 1], [0, 1, 0], [1, 0, 1]])


@pytest.mark.slow
@pytest.mark.parametrize(("features", "form"), [
    (CountNetwork(width=16), "logistic"), (CountNetwork(width=16), "count"), (RandomStart(width=16), "count"),
])  # fmt: skip
def test_agents_act_by_them_and_go_on_from_a_file(features, form, tmp_path):
    counter = EValues(0.99, form=form, features=features)
    agent = ParallelAgent(LLL(Softmax(0.05)), counter, InverseRootCount(0.01), games=16, width=32, rollout=16)
    settings = dorax.grid(**{"counter.features.learning_rate": (1e-3, 0.0)})
    result = dorax.train(agent, dorax.envs.SparseMountainCar(), steps=1500, settings=settings)
    here = np.asarray([-0.5, 0.0], np.float32)
    learner = result.learner(setting=0)
    assert (learner.counts(here) > result.learner(setting=1).counts(here) + 1e-3).all()
    learner.save(tmp_path / "learner.npz")
    again = dorax.load(tmp_path / "learner.npz")
    np.testing.assert_array_equal(learner.counts(here), again.counts(here))


def agent_with(**options):
    return ParallelAgent(EpsilonGreedy(0.1), EValues(0.9, **options))


@pytest.mark.parametrize(("make", "message"), [
    (partial(CountNetwork, learning_rate=-1.0), "the learning rate of counts is -1.0"),
    (partial(RandomStart, outputs=0), "outputs is 0"),
    (partial(agent_with, form="logistic", features=RandomStart()), "with a CountNetwork also 'logistic'"),
    (partial(agent_with, step_size=0.5, features=CountNetwork()), "step_size is 0.5"),
    (partial(agent_with, successor_rule="max", features=CountNetwork()), "successor_rule 'max'"),
])  # fmt: skip
def test_bad_input_is_refused(make, message, refused):
    with refused(message):
        make()
