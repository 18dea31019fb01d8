"""Agents with tiles beside a plain loop, beside tables, and on probes whose answers are known."""

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dorax
from dorax.core import next_count
from dorax.engine.protocols import Step, View
from dorax.envs import FunctionalEnv, SparseMountainCar
from dorax.envs.mountain_car import MountainCarParams
from dorax.envs.simulation import EnvSpec, environments

CAR = SparseMountainCar()


def trained(agent, env, episodes, seeds=(0,), **options):
    """The dataset of a run and the weights that each seed ended with."""
    result = dorax.train(agent, env, episodes, list(seeds), learners=list(seeds), **options)
    return result.data, np.stack([np.asarray(result.learner(seed).memory) for seed in seeds])


def learner_key(seed):
    """The key that the learner of this seed starts from."""
    return jax.random.split(jax.random.fold_in(jax.random.key(seed), 2**32 - 1))[1]


draws_of_block = eqx.filter_jit(lambda env, key, block: env.draws(key, block))


def ticks(env, params, key):
    """What chance gives a lane at every step: a number for the rule, and a start in case an episode begins."""
    simulation = environments(env, params, 1).shared
    for block in itertools.count():
        draws = draws_of_block(simulation, key, jnp.asarray(block, jnp.int32))
        yield from zip(np.asarray(draws.rule), np.asarray(draws.world.start[0]), strict=True)


def ticks_of_training(env, params, seed):
    return ticks(env, params, jax.random.key(seed))


def ticks_of_tests(env, params, seed):
    return ticks(env, params, jax.random.fold_in(jax.random.key(seed), 2**31))


# The whole algorithm once more, plainly.


class Plain(NamedTuple):
    """Numbers of an agent; `step_size` and `learning_rate` of E under names of their own."""

    form: str = "count"
    temperature: float = 1.0
    learning_rate: float = 0.1
    discount: float = 0.99
    e_discount: float = 0.99
    e_step: float = 1.0
    e_rate: float = 0.5
    bonus: float = 0.0

    def counts(self, outputs):
        if self.form == "count":
            return np.maximum(outputs, 0)
        return -np.log(1 / (1 + np.exp(-outputs))) / -math.log(1 - self.e_rate)

    def e_change(self, output, successor):
        """What a visit adds to the output; the successor's output is None at the end of an episode."""
        a, g = self.e_rate, self.e_discount
        if self.form == "count":
            e = (1 - a) ** max(output, 0)
            successor_e = 0 if successor is None else (1 - a) ** max(successor, 0)
            return self.e_step * (math.log((1 - a) * e + a * g * successor_e, 1 - a) - output)
        e = 1 / (1 + math.exp(-output))
        successor_e = 0 if successor is None else 1 / (1 + math.exp(-successor))
        return -self.e_step * (e - g * successor_e) * e * (1 - e)

    def choice(self, values, counts, uniform):
        """argmax log f - log C, where untried actions come first; chance decides among equals."""
        log_f = (values - values.max()) / self.temperature
        log_f -= math.log(np.exp(log_f).sum())
        score = np.where(counts == 0, log_f, -np.inf) if (counts == 0).any() else log_f - np.log(counts)
        best = np.flatnonzero(score >= score.max() - 1e-14)
        return int(best[int(uniform * len(best))])


class PlainCar(NamedTuple):
    """Gymnasium's mountain car, one step at a time, with 8 tilings of 8 x 8 tiles over what it observes."""

    params: MountainCarParams

    def moved(self, position, velocity, action):
        p = self.params
        velocity += (action - 1) * p.force - math.cos(3 * position) * p.gravity
        velocity = min(max(velocity, -p.max_speed), p.max_speed)
        position = min(max(position + velocity, p.min_position), p.max_position)
        if position == p.min_position and velocity < 0:
            velocity = 0.0
        return position, velocity, position >= p.goal_position and velocity >= p.goal_velocity

    def tiles(self, position, velocity):
        p, active = self.params, []
        low = np.array([p.min_position, -p.max_speed], np.float32).astype(float)
        high = np.array([p.max_position, p.max_speed], np.float32).astype(float)
        for k in range(8):
            row, column = np.floor(8 * (np.array([position, velocity]) - low) / (high - low) + [k / 8, 3 * k % 8 / 8])
            active.append(81 * k + 9 * int(row) + int(column))
        return active


def plain_run(plain, car, weights, training, testing):
    """One lane's returns and lengths in training and in tests; its weights change in place."""
    q, e = weights[..., 0], weights[..., 1]
    records, tests, is_testing = [], [], False

    def chosen(tiles, uniform):
        values = q[tiles].sum(axis=0)
        return int(values.argmax()) if is_testing else plain.choice(values, plain.counts(e[tiles].sum(axis=0)), uniform)

    while len(records) < EPISODES or is_testing:
        chance = testing if is_testing else training
        uniform, (position, velocity) = next(chance)
        tiles, length, ends, is_over = car.tiles(position, velocity), 0, False, False
        action = chosen(tiles, uniform)
        while not is_over:
            position, velocity, ends = car.moved(position, velocity, action)
            uniform, _ = next(chance)
            next_tiles, length = car.tiles(position, velocity), length + 1
            next_action = chosen(next_tiles, uniform)
            if not is_testing:
                target = float(ends) + (0 if ends else plain.discount * q[next_tiles].sum(axis=0).max())
                successor = None if ends else e[next_tiles, next_action].sum()
                output = e[tiles, action].sum()
                change = plain.e_change(output, successor)
                if plain.bonus:
                    target += plain.bonus / math.sqrt(plain.counts(output + change / plain.e_step))
                q[tiles, action] += plain.learning_rate / 8 * (target - q[tiles, action].sum())
                e[tiles, action] += change / 8
            is_over = ends or length >= car.params.max_steps_in_episode
            tiles, action = next_tiles, next_action
        (tests if is_testing else records).append((float(ends), length))
        is_testing = not is_testing and len(records) % TEST_EVERY == 0
    return np.array(records), np.array(tests)


HILLSIDE = MountainCarParams(goal_position=-0.41, max_steps_in_episode=50)  # reached by some episodes, not by others
EPISODES, TEST_EVERY = 12, 3  # everywhere the same, as is the structure: a compilation takes seconds


@pytest.mark.parametrize(
    ("plain", "params"),
    [
        (Plain("count"), MountainCarParams(max_steps_in_episode=400)),
        (Plain("count", 0.3, 0.2, 0.9, e_discount=0.5, e_step=0.3, e_rate=0.2, bonus=0.01), HILLSIDE),
        pytest.param(Plain("logistic", 0.1, e_step=0.5), HILLSIDE, marks=pytest.mark.slow),
    ],
    ids=["count", "count with bonus", "logistic"],
)
def test_the_engine_does_what_a_plain_loop_does(plain, params):
    agent = dorax.LinearAgent(
        rule=dorax.LLL(dorax.Softmax(plain.temperature)),
        counter=dorax.EValues(plain.e_discount, plain.e_rate, plain.form, plain.e_step),
        bonus=dorax.InverseRootCount(plain.bonus) if plain.form == "count" else None,
        learning_rate=plain.learning_rate,
        discount=plain.discount,
    )
    ended = set()
    with jax.enable_x64(True):
        data, weights = trained(agent, CAR, EPISODES, [0, 3], params=params, test_every=TEST_EVERY)
        initial = jax.jit(agent.algorithm(environments(CAR, params, 1).spec).init)
        for i, seed in enumerate([0, 3]):
            by_hand = np.array(initial(learner_key(seed)))
            assert by_hand[..., 0].std() == pytest.approx(0.01, rel=0.1)
            assert (by_hand[..., 1] == 0).all()
            chance = ticks_of_training(CAR, params, seed), ticks_of_tests(CAR, params, seed)
            records, tests = plain_run(plain, PlainCar(params), by_hand, *chance)
            np.testing.assert_array_equal(data["return"][i], records[:, 0])
            np.testing.assert_array_equal(data["length"][i], records[:, 1])
            np.testing.assert_array_equal(data["test_return"][i], tests[:, 0])
            np.testing.assert_array_equal(data["test_length"][i], tests[:, 1])
            np.testing.assert_allclose(weights[i], by_hand, rtol=1e-9, atol=1e-12)
            ended |= set(records[:, 0])
    assert ended == {0, 1}  # both kinds of end were learned from


# Tables are a special case.


class Place(NamedTuple):
    position: Any
    time: Any


class WalkParams(NamedTuple):
    first_start: int = 0
    last_start: int = 3
    max_steps_in_episode: int = 12


class Walk(FunctionalEnv):
    """Cells 0 to 4: left (0) or right (1). At the left end there is a little to have for ever, beyond the right 1."""

    @property
    def default_params(self):
        return WalkParams()

    def reset_env(self, key, params):
        # Randint would do as well, but takes a second more to compile.
        starts = params.last_start - params.first_start + 1
        position = params.first_start + jnp.floor(jax.random.uniform(key) * starts)
        return position[None], Place(position, jnp.int32(0))

    def step_env(self, key, state, action, params):
        position = jnp.clip(state.position + 2 * action - 1, 0, 4)
        ends = (state.position == 4) & (action == 1)
        reward = jnp.where(ends, 1.0, jnp.where((state.position == 0) & (action == 0), 0.1, 0.0))
        return position[None], Place(position, state.time + 1), reward, ends, {}

    def observation_space(self, params):
        return gymnasium.spaces.Box(0.0, 5.0, (1,))

    def action_space(self, params):
        return gymnasium.spaces.Discrete(2)


def walk_with_tables(agent, seed):
    """The tables of a learner that is fed with the engine's random numbers, and the lengths of its episodes."""
    learner, chance = dorax.TabularLearner(agent, 5, 2), SimpleNamespace()
    learner.random, chance.random = chance, lambda: chance.number
    draws, lengths = ticks_of_training(WALK, WalkParams(), seed), []
    for _ in range(WALKS):
        chance.number, start = next(draws)
        state, length, is_over = int(start[0]), 0, False
        while not is_over:
            action, length = learner.act(state), length + 1
            ends = (state, action) == (4, 1)
            reward = 1.0 if ends else 0.1 if (state, action) == (0, 0) else 0.0
            arrived = min(max(state + 2 * action - 1, 0), 4)
            is_over = ends or length >= 12
            chance.number, _ = next(draws)
            learner.observe(state, action, reward, arrived, terminated=ends, truncated=is_over and not ends)
            state = arrived
        lengths.append(length)
    return learner, lengths


WALK, WALKS = Walk(), 100
WALKER = dorax.LinearAgent(
    rule=dorax.LLL(dorax.Softmax(0.3)),
    counter=dorax.EValues(0.9, learning_rate=0.2),
    bonus=dorax.InverseCount(0.0),
    learning_rate=0.3,
    discount=0.9,
    features=dorax.Tiles(5, 1),
    initial_scale=0.0,
)


@pytest.mark.parametrize(("e_discount", "initial_value"), [(0.0, 0.0), (0.9, 0.0), (0.9, 2.0)])
def test_one_tile_a_state_and_a_whole_step_are_the_tabular_algorithm(e_discount, initial_value):
    table = dorax.TabularAgent(
        dorax.LLL(dorax.Softmax(0.3)),
        dorax.EValues(e_discount, 0.2),
        update=dorax.QLearning(initial_value),
        learning_rate=0.3,
        discount=0.9,
    )
    setting = {"counter.discount": e_discount, "initial_value": initial_value}
    with jax.enable_x64(True):
        data, weights = trained(WALKER, WALK, WALKS, [0, 5], settings=[setting])
        for i, seed in enumerate([0, 5]):
            learner, lengths = walk_with_tables(table, seed)
            np.testing.assert_array_equal(data["length"][0, i], lengths)
            np.testing.assert_allclose(weights[i, :5, :, 0], learner.q_table, rtol=1e-12)
            np.testing.assert_allclose(weights[i, :5, :, 1], learner.count_table, rtol=1e-12)
            np.testing.assert_array_equal(weights[i, 5:, :, 0], initial_value)
            np.testing.assert_array_equal(weights[i, 5:, :, 1], 0)
            assert set(lengths) > {12}  # some episodes are truncated, some are not
            if e_discount == 0:
                np.testing.assert_array_equal(weights[i, ..., 1], np.round(weights[i, ..., 1]))
                assert weights[i, ..., 1].sum() == sum(lengths)


def test_with_one_tile_a_state_novelty_has_the_values_that_it_has_in_tables():
    rule, bonus = dorax.Sample(dorax.Softmax(0.05)), dorax.InverseRootCount(0.3)
    table = dorax.TabularAgent(rule, dorax.Visits(), bonus, dorax.NoveltyQLearning(0.8), 0.3, 0.9)
    tiles = replace(WALKER, rule=rule, counter=dorax.Visits(), bonus=bonus, novelty_discount=0.8)
    with jax.enable_x64(True):
        data, weights = trained(tiles, WALK, WALKS, [0, 5])
        for i, seed in enumerate([0, 5]):
            learner, lengths = walk_with_tables(table, seed)
            np.testing.assert_array_equal(data["length"][i], lengths)
            expected = np.stack([learner.q_table, learner.count_table, np.asarray(learner.novelty_table)], axis=-1)
            np.testing.assert_allclose(weights[i, :5], expected, rtol=1e-9)
            np.testing.assert_allclose(weights[i, 5:, :, 2], 0.3 / (1 - 0.8))


def test_an_initial_value_is_shared_out_among_the_tilings_and_novelty_starts_at_its_largest_value():
    agent = replace(WALKER, features=dorax.Tiles(5, 8), initial_value=3.0, initial_scale=1e-3)
    agent = replace(agent, counter=dorax.Visits(), bonus=dorax.InverseRootCount(0.5), novelty_discount=0.75)
    steps = Steps.of(agent, (0.0,), (5.0,), 2)
    view = steps.view(steps.algorithm.init(jax.random.key(0)), jnp.array([2.2]))
    np.testing.assert_allclose(view.values, 3.0, atol=0.02)
    assert (view.values[0] != view.values[1]).all()
    np.testing.assert_allclose(view.novelty, 0.5 / (1 - 0.75), rtol=1e-6)


def test_values_of_novelty_without_a_bonus_are_refused(refused):
    with refused("novelty_discount is given without a bonus"):
        dorax.LinearAgent(dorax.UCB(), dorax.Visits(), novelty_discount=0.9)


class Steps(NamedTuple):
    """The methods of an agent in one environment, compiled, for one game."""

    algorithm: Any
    view: Any
    observed: Any

    @classmethod
    def of(cls, agent, low, high, actions):
        algorithm = agent.algorithm(EnvSpec("box", actions, low=low, high=high))
        view = jax.jit(lambda memory, here: jax.tree.map(lambda leaf: leaf[0], algorithm.view(memory, here[None])))
        return cls(algorithm, view, jax.jit(lambda memory, step: algorithm.observe(memory, step)[0]))


def step_of(here, there, *, action=0, reward=0.0, ends=False, next_action=0, learns=True):
    """One step of one game, from one view to another."""
    here, there, action, reward, ends, next_action, learns = jax.tree.map(
        lambda leaf: jnp.asarray(leaf)[None], (here, there, action, reward, ends, next_action, learns)
    )
    no = jnp.zeros(1, bool)
    return Step(here.features, action, reward, ends, no, no, there, next_action, learns, jnp.asarray(1))


@pytest.mark.parametrize("tilings", [1, 8])
def test_step_sizes_are_those_of_the_prediction_and_only_active_tiles_of_the_action_change(tilings):
    agent = dorax.LinearAgent(
        rule=dorax.UCB(),
        counter=dorax.EValues(0.9, step_size=0.5),
        learning_rate=0.25,
        discount=0.8,
        features=dorax.Tiles(8, tilings),
    )
    steps = Steps.of(agent, (0.0, 0.0), (1.0, 1.0), 3)
    size, here, there = steps.algorithm.coder.size, jnp.array([0.1, 0.9]), jnp.array([0.8, 0.3])
    weights = jnp.asarray(np.random.default_rng(0).uniform(0, 1, (size, 3, 2)), jnp.float32)
    before, then = steps.view(weights, here), steps.view(weights, there)
    for ends in (False, True):
        step = step_of(before, then, action=2, reward=0.7, ends=ends, next_action=1)
        changed = steps.observed(weights, step)
        after = steps.view(changed, here)
        target = 0.7 + (0 if ends else 0.8 * float(then.values.max()))
        assert float(after.values[2]) == pytest.approx(0.75 * float(before.values[2]) + 0.25 * target, rel=1e-5)
        visited = next_count(float(before.counts[2]), None if ends else float(then.counts[1]), 0.5, 0.9)
        assert float(after.counts[2]) == pytest.approx(0.5 * float(before.counts[2]) + 0.5 * visited, rel=1e-5)
        is_changed = np.asarray(changed != weights).any(axis=-1)
        assert sorted(np.argwhere(is_changed).tolist()) == [[int(tile), 2] for tile in sorted(before.features)]
        np.testing.assert_array_equal(steps.observed(weights, step._replace(learns=jnp.zeros(1, bool))), weights)


def test_plain_visits_count_one_a_visit_whatever_follows():
    steps = Steps.of(dorax.LinearAgent(dorax.UCB(), dorax.Visits()), (0.0,), (1.0,), 2)
    weights = jnp.asarray(np.random.default_rng(0).uniform(0, 1, (steps.algorithm.coder.size, 2, 2)), jnp.float32)
    here, there = (steps.view(weights, jnp.array([place])) for place in (0.2, 0.9))
    for ends in (False, True):
        after = steps.view(steps.observed(weights, step_of(here, there, ends=ends)), jnp.array([0.2]))
        assert float(after.counts[0]) == pytest.approx(float(here.counts[0]) + 1, rel=1e-5)
        assert float(after.counts[1]) == float(here.counts[1])


def walks_of_one_step(start, **setting):
    """Episodes that all start here and are over after a step: returns, values and counts of the two actions."""
    params = WalkParams(first_start=start, last_start=start, max_steps_in_episode=1)
    with jax.enable_x64(True):
        data, weights = trained(WALKER, WALK, WALKS, params=params, settings=[setting])
    assert (data["length"] == 1).all()
    return data["return"].values.ravel(), *weights[0, start].T


def test_a_truncated_end_bootstraps_in_q_and_in_e():
    """Left at the left end leads back there and is, once it has paid, all that the greedy ever take."""
    returns, values, counts = walks_of_one_step(0, temperature=0.0)
    n = np.sum(returns > 0)
    assert n >= WALKS - 1
    assert values[0] == pytest.approx(0.1 / (1 - 0.9) * (1 - (1 - 0.3 * (1 - 0.9)) ** n), rel=1e-9)
    assert counts[0] == pytest.approx(n * math.log(1 - 0.2 * (1 - 0.9)) / math.log(1 - 0.2), rel=1e-9)


def test_a_terminal_end_does_not_bootstrap_even_when_time_is_up():
    returns, values, counts = walks_of_one_step(4, temperature=1e3)
    n = returns.sum()
    assert 0 < n < WALKS
    assert values[1] == pytest.approx(1 - (1 - 0.3) ** n, rel=1e-9)
    assert counts[1] == n


def test_a_bonus_enters_what_is_learned_from_the_count_after_the_visit_and_never_the_return():
    returns, values, counts = walks_of_one_step(4, temperature=1e3, scale=2.0)
    assert set(returns) == {0, 1}
    assert counts[1] == returns.sum()
    # Q is an average of 1 + 2 / k, the k-th visit weighted by the share that the later ones left of it.
    visit = np.arange(1, counts[1] + 1)
    assert values[1] == pytest.approx(np.sum(0.3 * (1 - 0.3) ** (counts[1] - visit) * (1 + 2 / visit)), rel=1e-9)


def test_q_learning_finds_the_optimal_values_of_the_walk():
    setting = {"temperature": 1e3, "learning_rate": 0.9, "discount": 0.5, "initial_scale": 0.3}
    with jax.enable_x64(True):
        data, weights = trained(WALKER, WALK, WALKS, range(4), settings=[setting])
    values = np.array([0.2, 0.125, 0.25, 0.5, 1.0])  # 0.1 / (1 - g) at the left end, g^k from the right one
    optimal = np.stack([0.5 * values[[0, 0, 1, 2, 3]] + [0.1, 0, 0, 0, 0], [*(0.5 * values[1:]), 1.0]], axis=1)
    np.testing.assert_allclose(values, optimal.max(axis=1))
    np.testing.assert_allclose(weights[:, :5, :, 0], np.broadcast_to(optimal, (4, 5, 2)), rtol=1e-4)
    assert data.attrs["parameters"] == 6 * 2


def test_an_agent_without_a_counter_counts_nothing_and_still_learns_values():
    agent = dorax.LinearAgent(dorax.EpsilonGreedy(1.0), learning_rate=0.5, features=dorax.Tiles(8, 4))
    steps = Steps.of(agent, (0.0,), (1.0,), 2)
    weights = steps.algorithm.init(jax.random.key(0))
    assert weights.shape == (4 * 9, 2, 1)
    here = steps.view(weights, jnp.array([0.2]))
    after = steps.view(steps.observed(weights, step_of(here, here, action=1, reward=1.0, ends=True)), jnp.array([0.2]))
    assert float(after.values[1]) == pytest.approx(0.5 * float(here.values[1]) + 0.5, rel=1e-5)
    np.testing.assert_array_equal(after.counts, 0)
    np.testing.assert_array_equal(after.outputs, 0)


def test_a_bonus_is_finite_even_where_the_output_was_below_0():
    agent = dorax.LinearAgent(dorax.UCB(), dorax.EValues(0.99, step_size=0.5), dorax.InverseCount(0.01))
    steps = Steps.of(agent, (0.0,), (1.0,), 2)
    weights = jnp.full((steps.algorithm.coder.size, 2, 2), -0.1)  # as shared tiles leave it behind
    here, there = (steps.view(weights, jnp.array([place])) for place in (0.2, 0.7))
    assert np.isfinite(steps.observed(weights, step_of(here, there, next_action=1))).all()


def test_a_view_tells_values_counts_and_the_outputs_that_they_come_from():
    counter = dorax.EValues(learning_rate=0.2, form="logistic")
    steps = Steps.of(dorax.LinearAgent(dorax.UCB(), counter, features=dorax.Tiles(8, 4)), (0.0,), (1.0,), 2)
    coder = steps.algorithm.coder
    weights = jnp.asarray(np.random.default_rng(0).normal(size=(coder.size, 2, 2)), jnp.float32)
    view = steps.view(weights, jnp.asarray([0.4]))
    assert isinstance(view, View)
    by_hand = np.asarray(weights)[np.asarray(coder.active(np.array([0.4], np.float32)))].sum(axis=0)
    np.testing.assert_allclose(view.values, by_hand[:, 0], rtol=1e-5)
    np.testing.assert_allclose(view.outputs, by_hand[:, 1], rtol=1e-5)
    np.testing.assert_allclose(view.counts, np.log(1 / (1 + np.exp(-by_hand[:, 1]))) / np.log(0.8), rtol=1e-5)


def test_tiles_lie_within_their_own_bounds_where_these_are_given():
    """Also where the environment has none: beyond them nothing is told apart."""
    agent = dorax.LinearAgent(dorax.Softmax(1.0), features=dorax.Tiles(4, 1, low=[0.0], high=[1.0]))
    steps = Steps.of(agent, (-math.inf,), (math.inf,), 2)
    weights = steps.algorithm.init(jax.random.key(0))
    places = [-50.0, 0.1, 0.4, 0.6, 0.9, 50.0]
    tiles = [int(steps.view(weights, jnp.array([place])).features[0]) for place in places]
    assert tiles == [0, 0, 1, 2, 3, 4]


def test_a_policy_alone_as_rule_is_sampled_from():
    for policy in (dorax.Softmax(0.7), dorax.EpsilonGreedy(0.2)):
        assert eqx.tree_equal(dorax.LinearAgent(policy), dorax.LinearAgent(dorax.Sample(policy)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rule": None}, ["rule is None"]),
        ({"rule": "softmax"}, ["rule is 'softmax'"]),
        ({"counter": 0.9}, ["counter is 0.9", "Visits, EValues"]),
        ({"bonus": dorax.InverseCount()}, ["bonus", "without a counter"]),
        ({"bonus": "novelty", "counter": dorax.Visits()}, ["bonus is 'novelty'", "InverseRootCount()"]),
        ({"rule": dorax.LLL(dorax.Softmax(1.0))}, ["rule is LLL without a counter"]),
        ({"learning_rate": -0.1}, ["learning_rate is -0.1"]),
        ({"learning_rate": math.nan}, ["learning_rate is nan"]),
        ({"discount": 1.0}, ["discount is 1.0"]),
        ({"initial_scale": -1.0}, ["initial_scale is -1.0"]),
        ({"initial_scale": math.inf}, ["initial_scale is inf"]),
    ],
    ids=str,
)
def test_an_agent_that_cannot_be_is_refused(arguments, words, refused):
    with refused(*words):
        dorax.LinearAgent(**{"rule": dorax.EpsilonGreedy(1.0)} | arguments)


@pytest.mark.parametrize("features", [dorax.Table(), dorax.KWinners(), None, 8], ids=str)
def test_features_other_than_tiles_are_refused(features):
    with pytest.raises(dorax.InvalidInput, match="a LinearAgent supports Tiles"):
        dorax.LinearAgent(dorax.EpsilonGreedy(1.0), features=features)


def test_e_values_by_q_learning_are_refused_before_any_training():
    agent = dorax.LinearAgent(dorax.UCB(), dorax.EValues(0.9, successor_rule="max"))
    with pytest.raises(dorax.InvalidInput, match="function approximators support 'sarsa'"):
        dorax.train(agent, WALK, 10**9)


@pytest.mark.parametrize(
    ("tiles", "words"),
    [
        (dorax.Tiles(tilings=0), ["tilings is 0"]),
        (dorax.Tiles(0), ["tiles is (0,)"]),
        (dorax.Tiles((8, 8)), ["tiles is (8, 8)", "1 dimensions"]),
        (dorax.Tiles(low=[0.0, 0.0]), ["low has 2 and high 1"]),
        (dorax.Tiles(high=[0.0]), ["bounds of an observation are 0 and 0"]),
    ],
    ids=str,
)
def test_tiles_that_do_not_fit_the_environment_are_refused_before_any_training(tiles, words, refused):
    with refused(*words):
        dorax.train(dorax.LinearAgent(dorax.EpsilonGreedy(1.0), features=tiles), WALK, 10**9)
