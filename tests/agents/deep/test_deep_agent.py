"""Agents with networks: what a visit and what a batch change, and a probe whose values are known."""

import math
from typing import Any, NamedTuple
from unittest import mock

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dorax
from dorax.core import next_count
from dorax.envs import FunctionalEnv
from dorax.lanes import training
from dorax.lanes.episodes import Transition
from dorax.lanes.training import Maps

SMALL = {"width": 8, "depth": 1, "batch": 4, "capacity": 16, "target_every": 3}
COUNTING = dorax.DeepAgent(dorax.UCB(), dorax.CountE(discount=0.9, learning_rate=0.2), **SMALL)
HERE, THERE = jnp.array([0.5, -1.0]), jnp.array([1.5, 2.0])


def learner_of(agent):
    return agent.learner((0.0, -2.0), (2.0, 2.0), 3)


def output_by_hand(network, observation):
    """One hidden layer of rectified units over observations scaled to -1 to 1."""
    x = (np.asarray(observation, float) - [1.0, 0.0]) / [1.0, 2.0]
    first, last = network.layers
    hidden = np.maximum(np.asarray(first.weight, float) @ x + np.asarray(first.bias), 0)
    return np.asarray(last.weight, float) @ hidden + np.asarray(last.bias)


def bent(memory):
    """With a last layer of E that is not zero, as it is after some learning."""
    layers = memory.changing.e.layers
    weight = jnp.linspace(-0.5, 1.0, 24).reshape(3, 8)
    e = jax.tree.map(lambda leaf: weight if leaf is layers[-1].weight else leaf, memory.changing.e)
    return memory._replace(changing=memory.changing._replace(e=e))


class Steps(NamedTuple):
    """A learner's methods, compiled once for all tests of it."""

    learner: Any
    view: Any
    learned: Any
    improved: Any

    def transition(self, memory, action=1, next_action=2, reward=0.5, ends=False):
        here, there = self.view(memory, HERE), self.view(memory, THERE)
        numbers = (jnp.asarray(number) for number in (action, reward, ends))
        return Transition(here.features, *numbers, there, jnp.asarray(next_action))


def compiled(agent):
    learner = learner_of(agent)
    return Steps(learner, *(jax.jit(method) for method in (learner.view, learner.learned, learner.improved)))


@pytest.fixture(scope="module")
def counting():
    return compiled(COUNTING)


@pytest.fixture(scope="module")
def start():
    """What every small learner starts with."""
    return jax.jit(learner_of(COUNTING).initial)(jax.random.key(0))


@pytest.fixture(scope="module")
def replaying():
    """E learned from replay, by Adam."""
    return compiled(
        dorax.DeepAgent(dorax.UCB(), dorax.LogisticE(), learning_rate=0.01, learns_e_from="replay", **SMALL)
    )


def test_before_any_visit_counts_are_0_everywhere_and_e_is_one_half_in_the_logistic_form(start, counting):
    places = jnp.asarray(np.random.default_rng(0).uniform([0, -2], [2, 2], (50, 2)), jnp.float32)
    np.testing.assert_array_equal(jax.vmap(counting.view, in_axes=(None, 0))(start, places).counts, 0)
    logistic = learner_of(dorax.DeepAgent(dorax.UCB(), dorax.LogisticE(learning_rate=0.2), **SMALL))
    counts = jax.vmap(logistic.view, in_axes=(None, 0))(start, places).counts
    np.testing.assert_allclose(counts, math.log(0.5, 1 - 0.2), rtol=1e-6)


def test_a_view_is_what_the_two_networks_say_of_the_scaled_observation(start, counting):
    memory = bent(start)
    for place in (HERE, THERE, jnp.array([0.0, -2.0]), jnp.array([2.0, 2.0])):
        view = counting.view(memory, place)
        np.testing.assert_allclose(view.values, output_by_hand(memory.changing.q, place), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(view.outputs, output_by_hand(memory.changing.e, place), rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(view.counts, np.maximum(view.outputs, 0))


def test_where_there_is_no_bound_observations_are_taken_as_they_are():
    learner = COUNTING.learner((-math.inf, 0.0), (math.inf, 4.0), 3)
    scaled = learner._scaled(jnp.array([[7.0, 0.0], [-7.0, 4.0], [0.5, 3.0]]))
    np.testing.assert_allclose(scaled, [[7.0, -1.0], [-7.0, 1.0], [0.5, 0.5]])


def test_an_agent_without_e_values_counts_nothing(start):
    view = learner_of(dorax.DeepAgent(dorax.Sample(dorax.EpsilonGreedy(1.0)), **SMALL)).view(bent(start), HERE)
    np.testing.assert_array_equal(view.counts, 0)
    np.testing.assert_array_equal(view.outputs, 0)


@pytest.mark.parametrize("ends", [False, True])
def test_the_first_visit_counts_as_in_a_table(start, counting, ends):
    """While the last layer is zero the output is linear in all that has a slope, so the step is exact."""
    after = counting.learned(start, counting.transition(start, ends=ends), jnp.asarray(True))
    visited = float(next_count(0.0, None if ends else 0.0, 0.2, 0.9))
    assert float(counting.view(after, HERE).counts[1]) == pytest.approx(visited, rel=1e-5)


def test_a_visit_removes_its_share_of_the_error_to_first_order(start, counting):
    """The remainder is of second order: its share of a step falls with the step."""

    @jax.jit
    def moved(step_size):
        form = dorax.CountE(discount=0.9, step_size=step_size, learning_rate=0.2)
        learner = learner_of(dorax.DeepAgent(dorax.UCB(), form, **SMALL))
        after = learner.learned(memory, counting.transition(memory), jnp.asarray(True))
        return learner.view(after, HERE).outputs[1] - here[1]

    with jax.enable_x64(True):
        memory = jax.tree.map(
            lambda leaf: leaf.astype(float) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf, bent(start)
        )
        here, there = (counting.view(memory, place).outputs for place in (HERE, THERE))
        error = float(COUNTING.e_values.error(here[1], there[2], False))
        assert abs(error) > 0.05
        for step_size in (1e-2, 1e-3):
            assert float(moved(step_size)) / (step_size * error) == pytest.approx(1, abs=10 * step_size)


def test_a_visit_changes_nothing_but_e_and_the_replay(start, counting):
    memory = bent(start)
    after = counting.learned(memory, counting.transition(memory), jnp.asarray(True))
    unchanged = memory.changing._replace(e=None), after.changing._replace(e=None)
    jax.tree.map(np.testing.assert_array_equal, *unchanged)
    assert int(after.replay.added) == 1


def test_where_nothing_is_learned_nothing_changes(start, counting):
    memory = bent(start)
    after = counting.learned(memory, counting.transition(memory), jnp.asarray(False))
    jax.tree.map(np.testing.assert_array_equal, memory, after)


def test_what_is_kept_is_the_step_with_the_action_that_follows_and_the_bonus_of_the_count_after_the_visit(start):
    agent = dorax.DeepAgent(
        dorax.UCB(), dorax.CountE(discount=0.9, learning_rate=0.2), dorax.InverseCount(0.3), **SMALL
    )
    steps = compiled(agent)
    kept = jax.tree.map(
        lambda room: room[0], steps.learned(start, steps.transition(start), jnp.asarray(True)).replay.steps
    )
    np.testing.assert_allclose(kept.observation, [-0.5, -0.5])
    np.testing.assert_allclose(kept.next_observation, [0.5, 1.0])
    assert (int(kept.action), int(kept.next_action), bool(kept.is_terminal)) == (1, 2, False)
    assert float(kept.reward) == pytest.approx(0.5 + 0.3 / float(next_count(0.0, 0.0, 0.2, 0.9)), rel=1e-5)


def with_replay(steps, memory, number):
    """After so many different steps, none of which has changed a network yet."""
    for i in range(number):
        step = steps.transition(memory, action=i % 3, next_action=(i + 1) % 3, reward=0.1 * i, ends=i % 4 == 3)
        memory = memory._replace(replay=steps.learned(memory, step, jnp.asarray(True)).replay)
    return memory


def test_nothing_is_improved_before_there_is_a_batch(start, counting):
    memory = with_replay(counting, bent(start), 3)
    jax.tree.map(np.testing.assert_array_equal, counting.improved(memory, jax.random.key(0), True), memory.changing)


def test_the_first_improvement_is_adam_s_down_the_slope_of_the_squared_error(start, counting):
    memory = with_replay(counting, bent(start), 12)
    memory = memory._replace(changing=memory.changing._replace(q_target=memory.changing.e))  # unlike q
    key = jax.random.key(3)
    batch = dorax.deep.replay.sample(memory.replay, key, 4)

    def squared_error(q):
        apply = lambda network, x: (  # noqa: E731
            network.layers[1].weight @ jax.nn.relu(network.layers[0].weight @ x + network.layers[0].bias)
            + network.layers[1].bias
        )
        loss = 0.0
        for x, a, r, ends, y, _ in zip(*batch, strict=True):
            target = r + jnp.where(ends, 0.0, 0.99 * jnp.max(apply(memory.changing.q_target, y)))
            loss += (apply(q, x)[a] - target) ** 2 / 8
        return loss

    slope = jax.jit(jax.grad(squared_error))(memory.changing.q)
    improved = counting.improved(memory, key, True)
    for before, after, g in zip(*map(jax.tree.leaves, (memory.changing.q, improved.q, slope)), strict=True):
        # Both moments are the first slope's own: Adam goes by its sign.
        np.testing.assert_allclose(after, before - 1e-3 * g / (jnp.abs(g) + 1e-8), rtol=0, atol=2e-6)
    jax.tree.map(np.testing.assert_array_equal, improved.e, memory.changing.e)  # E is learned from visits


def test_targets_are_copied_exactly_after_every_so_many_updates(start, replaying):
    memory = with_replay(replaying, start, 8)
    latest = memory.changing
    for update in range(1, 8):
        changing = replaying.improved(memory, jax.random.key(update), True)
        latest = changing if update % 3 == 0 else latest
        jax.tree.map(np.testing.assert_array_equal, changing.q_target, latest.q)
        jax.tree.map(np.testing.assert_array_equal, changing.e_target, latest.e)
        assert int(changing.updates) == update
        for old, new in ((memory.changing.q, changing.q), (memory.changing.e, changing.e)):
            assert not np.array_equal(old.layers[-1].weight, new.layers[-1].weight)
        memory = memory._replace(changing=changing)


def test_from_replay_the_e_of_a_pair_that_always_ends_falls_and_its_count_rises(start, replaying):
    memory = start
    for _ in range(8):
        memory = replaying.learned(memory, replaying.transition(memory, ends=True), jnp.asarray(True))
    jax.tree.map(np.testing.assert_array_equal, memory.changing, start.changing)  # visits alone change nothing
    counts = []
    for i in range(20):
        memory = memory._replace(changing=replaying.improved(memory, jax.random.key(i), True))
        counts.append(float(replaying.view(memory, HERE).counts[1]))
    assert (np.diff([1.0, *counts]) > 0).all()


# A probe in the engine: two states, everything known.


class Where(NamedTuple):
    is_second: Any
    time: Any


class Limit(NamedTuple):
    max_steps_in_episode: int = 5


class TwoSteps(FunctionalEnv):
    """First: 0.2 at once (0) or on to the second (1). Second: 1 and the end (0), or stay for nothing (1)."""

    @property
    def default_params(self):
        return Limit()

    def reset_env(self, key, params):
        return jnp.array([-0.5]), Where(jnp.asarray(False), jnp.int32(0))

    def step_env(self, key, state, action, params):
        ends = action == 0
        reward = jnp.where(ends, jnp.where(state.is_second, 1.0, 0.2), 0.0)
        return jnp.array([0.5]), Where(jnp.asarray(True), state.time + 1), reward, ends, {}

    def observation_space(self, params):
        return gymnasium.spaces.Box(-1.0, 1.0, (1,))

    def action_space(self, params):
        return gymnasium.spaces.Discrete(2)


EPISODES, PROBE = 300, TwoSteps()
PLAYER = dorax.DeepAgent(
    rule=dorax.Sample(dorax.Softmax(1.0)),
    e_values=dorax.CountE(discount=0.9),
    bonus=dorax.InverseCount(0.0),
    learning_rate=1e-2,
    discount=0.8,
    width=16,
    depth=1,
    capacity=512,
    target_every=10,
)


def played(seeds, **options):
    """A run, and the memories that it ended with; everywhere the same structure, with pauses and tests."""
    ended, run_to, record = [], training._run_to, {"test_every": 3, "maps": Maps((2,), every=100)}
    with mock.patch.object(training, "_run_to", lambda *arguments: ended.append(run_to(*arguments)) or ended[-1]):
        data = dorax.train(PLAYER, PROBE, EPISODES, seeds, **record, **options)
    return data, ended[-1].memory


def test_a_probe_of_two_steps_is_learned():
    data, memory = played(4)
    view = jax.jit(PLAYER.learner((-1.0,), (1.0,), 2).view)
    for lane in range(4):
        of_lane = jax.tree.map(lambda leaf, lane=lane: leaf[lane], memory)
        values = [view(of_lane, jnp.array([place])).values for place in (-0.5, 0.5)]
        # By hand; staying is worth as much at the time limit as before it, since a truncated step bootstraps.
        np.testing.assert_allclose(values, [[0.2, 0.8], [1.0, 0.8]], atol=0.05)
    np.testing.assert_array_equal(data["test_return"][:, -10:], 1)
    np.testing.assert_array_equal(data["test_length"][:, -10:], 2)
    assert data.attrs["parameters"] == 2 * 16 + 17 * 2
    np.testing.assert_array_equal(data["visits"].sum("bin_0").isel(snapshot=-1), data.total_steps)


def test_a_bonus_never_enters_the_return():
    data, _ = played(2, settings=[{"scale": 10.0}])
    assert set(np.unique(data["return"])) <= {np.float32(0), np.float32(0.2), np.float32(1)}


def test_a_second_run_is_the_same_bit_for_bit_and_other_seeds_are_others():
    data, _ = played(4)
    assert data.identical(played(4)[0])
    assert len(np.unique(data["length"], axis=0)) == 4


def test_a_seed_alone_is_the_same_bit_for_bit_as_among_others():
    # Who stays in a test is long on the way to a snapshot, and others wait.
    among, memories = played(8, params=Limit(100))
    for seed in range(8):
        alone, memory = played([seed], params=Limit(100))
        assert alone.identical(among.sel(seed=[seed]))
        assert memory.changing.updates[0] == memories.changing.updates[seed]


def test_networks_rest_while_a_test_is_played():
    data, memory = played(8, params=Limit(100), settings=[{"learning_rate": 0.0}], max_steps=100)
    length = data["test_length"].squeeze("setting").max("test").values
    lane = int(np.argmax(length))
    assert length[lane] == 100  # untaught and greedy it may stay for ever
    finished = int(data["length"].squeeze("setting")[lane].notnull().sum())
    ticks_in_training = 100 + finished + 1
    assert int(memory.changing.updates[lane]) <= (ticks_in_training + 256) / PLAYER.update_every


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rule": None}, ["rule is None"]),
        ({"e_values": dorax.EValues(0.9)}, ["e_values is EValues"]),
        ({"bonus": dorax.InverseCount()}, ["bonus", "without e_values"]),
        ({"rule": dorax.UCB()}, ["rule is UCB without e_values"]),
        ({"learning_rate": -1e-3}, ["learning_rate is -0.001"]),
        ({"learning_rate": math.nan}, ["learning_rate is nan"]),
        ({"discount": 1.0}, ["discount is 1.0"]),
        ({"learns_e_from": "hearsay"}, ["learns_e_from is 'hearsay'", "'visits', 'replay'"]),
        ({"update_every": 3}, ["update_every is 3", "divisor of 256"]),
        ({"update_every": 0}, ["update_every is 0"]),
        ({"update_every": 512}, ["update_every is 512"]),
    ],
    ids=str,
)
def test_an_agent_that_cannot_be_is_refused(arguments, words, refused):
    with refused(*words):
        dorax.DeepAgent(**{"rule": dorax.Sample(dorax.EpsilonGreedy(1.0))} | arguments)


@pytest.mark.parametrize("name", ["batch", "capacity", "target_every", "width"])
def test_a_size_of_nothing_is_refused(name, refused):
    with refused(f"{name} is 0"):
        dorax.DeepAgent(dorax.Sample(dorax.EpsilonGreedy(1.0)), **{name: 0})
