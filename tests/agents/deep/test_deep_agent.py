"""Agents with networks: what a visit and what a batch change, and a probe whose values are known."""

import math
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dorax
from dorax.agents.deep.replay import sample
from dorax.core import next_count
from dorax.engine.protocols import Step
from dorax.envs import FunctionalEnv
from dorax.envs.simulation import EnvSpec

SMALL: dict[str, Any] = {"width": 8, "depth": 1, "batch": 4, "capacity": 16, "target_every": 3}
COUNTER = dorax.EValues(0.9, learning_rate=0.2)
COUNTING = dorax.DeepAgent(dorax.UCB(), COUNTER, **SMALL)
BOX = EnvSpec("box", 3, low=(0.0, -2.0), high=(2.0, 2.0))
HERE, THERE = jnp.array([0.5, -1.0]), jnp.array([1.5, 2.0])


def output_by_hand(network, observation):
    """One hidden layer of rectified units over observations scaled to -1 to 1."""
    x = (np.asarray(observation, float) - [1.0, 0.0]) / [1.0, 2.0]
    first, last = network.layers
    hidden = np.maximum(np.asarray(first.weight, float) @ x + np.asarray(first.bias), 0)
    return np.asarray(last.weight, float) @ hidden + np.asarray(last.bias)


def bent(memory):
    """With a last layer of the counter that is not zero, as it is after some learning."""
    layers = memory.networks.counter.layers
    weight = jnp.linspace(-0.5, 1.0, 24).reshape(3, 8)
    counter = jax.tree.map(lambda leaf: weight if leaf is layers[-1].weight else leaf, memory.networks.counter)
    return memory._replace(networks=memory.networks._replace(counter=counter))


class Steps(NamedTuple):
    """The methods of an agent with one game, compiled once for all tests of it."""

    view: Any
    observed: Any
    updated: Any

    @classmethod
    def of(cls, agent, spec=BOX):
        algorithm = agent.algorithm(spec)
        return cls(
            jax.jit(lambda memory, here: jax.tree.map(lambda leaf: leaf[0], algorithm.view(memory, here[None]))),
            jax.jit(lambda memory, step: algorithm.observe(memory, step)[0]),
            jax.jit(lambda memory, key: algorithm.update(memory, None, key, jnp.asarray(True))),
        )

    def step(self, memory, action=1, next_action=2, reward=0.5, ends=False, learns=True):
        """A step from HERE to THERE."""
        parts = (self.view(memory, HERE), self.view(memory, THERE), action, reward, ends, next_action, learns)
        here, there, action, reward, ends, next_action, learns = jax.tree.map(lambda x: jnp.asarray(x)[None], parts)
        no = jnp.zeros(1, bool)
        return Step(here.features, action, reward, ends, no, no, there, next_action, learns, jnp.asarray(1))


@pytest.fixture(scope="module")
def counting():
    return Steps.of(COUNTING)


@pytest.fixture(scope="module")
def start():
    """What every small learner starts with."""
    return jax.jit(COUNTING.algorithm(BOX).init)(jax.random.key(0))


@pytest.fixture(scope="module")
def replaying():
    """E learned from replay, by Adam."""
    counter = dorax.EValues(0.99, form="logistic")
    return Steps.of(dorax.DeepAgent(dorax.UCB(), counter, learning_rate=0.01, counts_from="replay", **SMALL))


def test_before_any_visit_counts_are_0_everywhere_and_e_is_one_half_in_the_logistic_form(start, counting):
    places = jnp.asarray(np.random.default_rng(0).uniform([0, -2], [2, 2], (50, 2)), jnp.float32)
    np.testing.assert_array_equal(jax.vmap(counting.view, in_axes=(None, 0))(start, places).counts, 0)
    logistic = Steps.of(dorax.DeepAgent(dorax.UCB(), dorax.EValues(0.9, 0.2, "logistic"), **SMALL))
    counts = jax.vmap(logistic.view, in_axes=(None, 0))(start, places).counts
    np.testing.assert_allclose(counts, math.log(0.5, 1 - 0.2), rtol=1e-6)


def test_a_view_is_what_the_two_networks_say_of_the_scaled_observation(start, counting):
    memory = bent(start)
    for place in (HERE, THERE, jnp.array([0.0, -2.0]), jnp.array([2.0, 2.0])):
        view = counting.view(memory, place)
        np.testing.assert_allclose(view.values, output_by_hand(memory.networks.q, place), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(view.outputs, output_by_hand(memory.networks.counter, place), rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(view.counts, np.maximum(view.outputs, 0))


def test_where_there_is_no_bound_observations_are_taken_as_they_are(start):
    steps = Steps.of(COUNTING, EnvSpec("strip", 3, low=(-math.inf, 0.0), high=(math.inf, 4.0)))
    places = jnp.array([[7.0, 0.0], [-7.0, 4.0], [0.5, 3.0]])
    scaled = [steps.view(start, place).features for place in places]
    np.testing.assert_allclose(scaled, [[7.0, -1.0], [-7.0, 1.0], [0.5, 0.5]])


def test_an_agent_without_a_counter_counts_nothing(start):
    view = Steps.of(dorax.DeepAgent(dorax.EpsilonGreedy(1.0), **SMALL)).view(bent(start), HERE)
    np.testing.assert_array_equal(view.counts, 0)
    np.testing.assert_array_equal(view.outputs, 0)


@pytest.mark.parametrize("ends", [False, True])
def test_the_first_visit_counts_as_in_a_table(start, counting, ends):
    """While the last layer is zero the output is linear in all that has a slope, so the step is exact."""
    after = counting.observed(start, counting.step(start, ends=ends))
    visited = float(next_count(0.0, None if ends else 0.0, 0.2, 0.9))
    assert float(counting.view(after, HERE).counts[1]) == pytest.approx(visited, rel=1e-5)


def test_plain_visits_count_one_whatever_follows(start):
    steps = Steps.of(dorax.DeepAgent(dorax.UCB(), dorax.Visits(), **SMALL))
    for ends in (False, True):
        after = steps.observed(start, steps.step(start, ends=ends))
        assert float(steps.view(after, HERE).counts[1]) == pytest.approx(1, rel=1e-5)


def test_a_visit_removes_its_share_of_the_error_to_first_order(start, counting):
    """The remainder is of second order: its share of a step falls with the step."""

    @jax.jit
    def moved(step_size):
        counter = dorax.EValues(0.9, learning_rate=0.2, step_size=step_size)
        steps = Steps.of(dorax.DeepAgent(dorax.UCB(), counter, **SMALL))
        return steps.view(steps.observed(memory, counting.step(memory)), HERE).outputs[1] - here[1]

    with jax.enable_x64(True):
        memory = jax.tree.map(
            lambda leaf: leaf.astype(float) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf, bent(start)
        )
        here, there = (counting.view(memory, place).outputs for place in (HERE, THERE))
        error = float(COUNTER.error(here[1], there[2], False))
        assert abs(error) > 0.05
        for step_size in (1e-2, 1e-3):
            assert float(moved(step_size)) / (step_size * error) == pytest.approx(1, abs=10 * step_size)


def test_a_visit_changes_nothing_but_the_counter_and_the_replay(start, counting):
    memory = bent(start)
    after = counting.observed(memory, counting.step(memory))
    unchanged = memory.networks._replace(counter=None), after.networks._replace(counter=None)
    jax.tree.map(np.testing.assert_array_equal, *unchanged)
    assert int(after.replay.added) == 1


def test_where_nothing_is_learned_nothing_changes(start, counting):
    memory = bent(start)
    after = counting.observed(memory, counting.step(memory, learns=False))
    jax.tree.map(np.testing.assert_array_equal, memory, after)


def test_what_is_kept_is_the_step_with_the_action_that_follows_and_the_bonus_of_the_count_after_the_visit(start):
    counter = dorax.EValues(0.9, learning_rate=0.2)
    steps = Steps.of(dorax.DeepAgent(dorax.UCB(), counter, dorax.InverseCount(0.3), **SMALL))
    kept = jax.tree.map(lambda room: room[0], steps.observed(start, steps.step(start)).replay.steps)
    np.testing.assert_allclose(kept.observation, [-0.5, -0.5])
    np.testing.assert_allclose(kept.next_observation, [0.5, 1.0])
    assert (int(kept.action), int(kept.next_action), bool(kept.terminated)) == (1, 2, False)
    assert float(kept.reward) == pytest.approx(0.5 + 0.3 / float(next_count(0.0, 0.0, 0.2, 0.9)), rel=1e-5)


def with_replay(steps, memory, number):
    """After so many different steps, none of which has changed a network yet."""
    for i in range(number):
        step = steps.step(memory, action=i % 3, next_action=(i + 1) % 3, reward=0.1 * i, ends=i % 4 == 3)
        memory = memory._replace(replay=steps.observed(memory, step).replay)
    return memory


def test_nothing_is_improved_before_there_is_a_batch(start, counting):
    memory = with_replay(counting, bent(start), 3)
    jax.tree.map(np.testing.assert_array_equal, counting.updated(memory, jax.random.key(0)), memory)


def test_the_first_improvement_is_adam_s_down_the_slope_of_the_squared_error(start, counting):
    memory = with_replay(counting, bent(start), 12)
    memory = memory._replace(networks=memory.networks._replace(q_target=memory.networks.counter))  # unlike q
    key = jax.random.key(3)
    batch = sample(memory.replay, key, 4)

    def squared_error(q):
        apply = lambda network, x: (  # noqa: E731
            network.layers[1].weight @ jax.nn.relu(network.layers[0].weight @ x + network.layers[0].bias)
            + network.layers[1].bias
        )
        loss = 0.0
        for x, a, r, ends, y, _ in zip(*batch, strict=True):
            target = r + jnp.where(ends, 0.0, 0.99 * jnp.max(apply(memory.networks.q_target, y)))
            loss += (apply(q, x)[a] - target) ** 2 / 8
        return loss

    slope = jax.jit(jax.grad(squared_error))(memory.networks.q)
    improved = counting.updated(memory, key).networks
    for before, after, g in zip(*map(jax.tree.leaves, (memory.networks.q, improved.q, slope)), strict=True):
        # Both moments are the first slope's own: Adam goes by its sign.
        np.testing.assert_allclose(after, before - 1e-3 * g / (jnp.abs(g) + 1e-8), rtol=0, atol=2e-6)
    jax.tree.map(np.testing.assert_array_equal, improved.counter, memory.networks.counter)  # visits alone


def test_targets_are_copied_exactly_after_every_so_many_updates(start, replaying):
    memory = with_replay(replaying, start, 8)
    latest = memory.networks
    for update in range(1, 8):
        before, memory = memory.networks, replaying.updated(memory, jax.random.key(update))
        now = memory.networks
        latest = now if update % 3 == 0 else latest
        jax.tree.map(np.testing.assert_array_equal, now.q_target, latest.q)
        jax.tree.map(np.testing.assert_array_equal, now.counter_target, latest.counter)
        assert int(now.updates) == update
        for old, new in ((before.q, now.q), (before.counter, now.counter)):
            assert not np.array_equal(old.layers[-1].weight, new.layers[-1].weight)


def test_from_replay_the_e_of_a_pair_that_always_ends_falls_and_its_count_rises(start, replaying):
    memory = start
    for _ in range(8):
        memory = replaying.observed(memory, replaying.step(memory, ends=True))
    jax.tree.map(np.testing.assert_array_equal, memory.networks, start.networks)  # visits alone change nothing
    counts = []
    for i in range(20):
        memory = replaying.updated(memory, jax.random.key(i))
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
    rule=dorax.Softmax(1.0),
    counter=dorax.EValues(0.9),
    bonus=dorax.InverseCount(0.0),
    learning_rate=1e-2,
    discount=0.8,
    width=16,
    depth=1,
    capacity=512,
    target_every=10,
)
RECORDS = {"test_every": 3, "maps": dorax.Maps((2,), every=100)}


def played(seeds, **options):
    """A run; everywhere the same structure, with pauses and tests."""
    return dorax.train(PLAYER, PROBE, EPISODES, seeds, learners=seeds, **RECORDS | options)


@pytest.fixture(scope="module")
def four():
    return played(4)


@pytest.fixture(scope="module")
def eight():
    """Who stays in a test is long on the way to a snapshot, and others wait."""
    return played(8, params=Limit(100))


def assert_same_learner(one, other):
    jax.tree.map(np.testing.assert_array_equal, one.memory, other.memory)


def test_a_probe_of_two_steps_is_learned(four):
    for seed in range(4):
        values = [four.learner(seed).q([place]) for place in (-0.5, 0.5)]
        # By hand; staying is worth as much at the time limit as before it, since a truncated step bootstraps.
        np.testing.assert_allclose(values, [[0.2, 0.8], [1.0, 0.8]], atol=0.05)
    data = four.data
    np.testing.assert_array_equal(data["test_return"][:, -10:], 1)
    np.testing.assert_array_equal(data["test_length"][:, -10:], 2)
    assert data.attrs["parameters"] == 2 * 16 + 17 * 2
    np.testing.assert_array_equal(data["visits"].sum("bin_0").isel(snapshot=-1), data.total_steps + EPISODES)


def test_a_bonus_never_enters_the_return():
    data = played(2, settings=[{"scale": 10.0}]).data
    assert set(np.unique(data["return"])) <= {np.float32(0), np.float32(0.2), np.float32(1)}


def test_a_second_run_is_the_same_bit_for_bit_and_other_seeds_are_others(four):
    again = played(4)
    assert four.data.identical(again.data)
    for seed in range(4):
        assert_same_learner(four.learner(seed), again.learner(seed))
    assert len(np.unique(four.data["length"], axis=0)) == 4


def test_a_seed_alone_is_the_same_bit_for_bit_as_among_others(eight):
    for seed in range(8):
        alone = played([seed], params=Limit(100))
        assert alone.data.identical(eight.data.sel(seed=[seed]))
        assert_same_learner(alone.learner(seed), eight.learner(seed))


@pytest.mark.slow
def test_training_is_the_same_bit_for_bit_with_tests_and_without(eight):
    without = played(8, params=Limit(100), test_every=None)
    names = ["return", "length", "steps", "total_steps"]
    assert without.data[names].identical(eight.data[names])
    for seed in range(8):
        assert_same_learner(without.learner(seed), eight.learner(seed))


@pytest.mark.slow
def test_training_is_the_same_bit_for_bit_with_maps_and_without(eight):
    without = played(8, params=Limit(100), maps=None)
    names = ["return", "length", "steps", "total_steps"]
    assert without.data[names].identical(eight.data[names])
    for seed in range(8):
        assert_same_learner(without.learner(seed), eight.learner(seed))


def test_networks_rest_while_a_test_is_played():
    """There is an update after every group of steps in training, starts among them, once there is a batch."""
    result = played(8, params=Limit(100), settings=[{"learning_rate": 0.0}], steps=100)
    data = result.data.squeeze("setting")
    assert data["test_length"].max() == 100  # untaught and greedy it may stay for ever
    for seed in range(8):
        lengths = data["length"].sel(seed=seed).dropna("episode").values.astype(int)
        rest = 100 - lengths.sum()
        episodes = [*lengths, rest] if rest else lengths
        kept = np.cumsum(np.concatenate([[0, *[1] * length] for length in episodes]))
        at_updates = kept[PLAYER.update_every - 1 :: PLAYER.update_every]
        # The group in which a run ends has no update.
        expected = np.sum((at_updates >= PLAYER.batch) & (at_updates < 100))
        assert int(result.learner(seed).memory.networks.updates) == expected


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rule": None}, ["rule is None"]),
        ({"counter": 0.9}, ["counter is 0.9", "Visits, EValues"]),
        ({"bonus": dorax.InverseCount()}, ["bonus", "without a counter"]),
        ({"bonus": "novelty", "counter": dorax.Visits()}, ["bonus is 'novelty'", "InverseRootCount()"]),
        ({"rule": dorax.UCB()}, ["rule is UCB without a counter"]),
        ({"learning_rate": -1e-3}, ["learning_rate is -0.001"]),
        ({"learning_rate": math.nan}, ["learning_rate is nan"]),
        ({"discount": 1.0}, ["discount is 1.0"]),
        ({"counts_from": "hearsay"}, ["counts_from is 'hearsay'", "'visits', 'replay'"]),
        ({"update_every": 0}, ["update_every is 0"]),
    ],
    ids=str,
)
def test_an_agent_that_cannot_be_is_refused(arguments, words, refused):
    with refused(*words):
        dorax.DeepAgent(**{"rule": dorax.EpsilonGreedy(1.0)} | arguments)


@pytest.mark.parametrize("every", [3, 512])
def test_updates_that_do_not_fill_a_block_of_steps_are_refused_before_any_training(every, refused):
    with refused(f"update_every is {every}", "divisor of 256"):
        dorax.train(dorax.DeepAgent(dorax.EpsilonGreedy(1.0), update_every=every), PROBE, 10**9)


def test_e_values_by_q_learning_are_refused_before_any_training():
    agent = dorax.DeepAgent(dorax.UCB(), dorax.EValues(0.9, successor_rule="max"))
    with pytest.raises(dorax.InvalidInput, match="function approximators support 'sarsa'"):
        dorax.train(agent, PROBE, 10**9)


@pytest.mark.parametrize("name", ["batch", "capacity", "target_every", "width", "depth"])
def test_a_size_of_nothing_is_refused(name, refused):
    with refused(f"{name} is 0"):
        size: dict[str, Any] = {name: 0}
        dorax.DeepAgent(dorax.EpsilonGreedy(1.0), **size)
