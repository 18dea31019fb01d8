"""Random network distillation: the bonus of a plain loop in NumPy, and runs that are the same bit for bit."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dorax
from dorax.engine.protocols import Step, View
from dorax.envs.simulation import EnvSpec

WARM_UP, EVERY, SCALE, RATE = 6, 4, 0.5, 0.01
BONUS = dorax.RND(SCALE, learning_rate=RATE, width=8, outputs=5, warm_up=WARM_UP)
AGENT = dorax.DeepAgent(dorax.EpsilonGreedy(1.0), bonus=BONUS, width=8, batch=4, capacity=64, update_every=EVERY)
BOX = EnvSpec("box", 2, low=(0.0, -2.0), high=(2.0, 2.0))
ALGORITHM = AGENT.algorithm(BOX)


def layers_of(network):
    return [(np.asarray(layer.weight, float), np.asarray(layer.bias, float)) for layer in network.layers]


def outputs(layers, x):
    """Inputs of every layer, and the outputs of the last."""
    inputs = []
    for i, (weight, bias) in enumerate(layers):
        inputs.append(x)
        x = x @ weight.T + bias
        x = np.maximum(x, 0) if i < len(layers) - 1 else x
    return inputs, x


class PlainRND:
    """The same algorithm with explicit backpropagation and Adam, in float64, from the same two networks."""

    def __init__(self, memory):
        self.target, self.predictor = layers_of(memory.target), layers_of(memory.predictor)
        self.moments = [[(np.zeros_like(a), np.zeros_like(a)) for a in layer] for layer in self.predictor]
        self.seen, self.sums, self.waiting, self.updates = [], [0.0], [], 0

    def visit(self, x):
        self.seen.append(x)
        seen = np.asarray(self.seen)
        x = np.clip((x - seen.mean(axis=0)) / np.sqrt(seen.var(axis=0) + 1e-8), -5, 5)
        error = np.mean((outputs(self.predictor, x)[1] - outputs(self.target, x)[1]) ** 2)
        self.sums.append(0.99 * self.sums[-1] + error)
        if len(self.seen) <= WARM_UP:
            return 0.0
        self.waiting.append(x)
        return SCALE * error / np.sqrt(np.var(self.sums[1:]) + 1e-8)

    def update(self):
        if not self.waiting:
            return
        x = np.asarray(self.waiting)
        inputs, predicted = outputs(self.predictor, x)
        slope = 2 * (predicted - outputs(self.target, x)[1]) / predicted.size
        self.updates, self.waiting = self.updates + 1, []
        for i in reversed(range(len(self.predictor))):
            weight, bias = self.predictor[i]
            grads = slope.T @ inputs[i], slope.sum(axis=0)
            slope = (slope @ weight) * (inputs[i] > 0)
            self.predictor[i] = self.adam(i, 0, weight, grads[0]), self.adam(i, 1, bias, grads[1])

    def adam(self, layer, part, value, grad):
        first, second = self.moments[layer][part]
        first, second = 0.9 * first + 0.1 * grad, 0.999 * second + 0.001 * grad**2
        self.moments[layer][part] = first, second
        unbiased, square = first / (1 - 0.9**self.updates), second / (1 - 0.999**self.updates)
        return value - RATE * unbiased / (np.sqrt(square) + 1e-8)


@jax.jit
def observed(memory, here, there, learns):
    def one(x):
        return jnp.asarray(x)[None]

    nothing = jnp.zeros((1, 2))
    view = View(one(there), nothing, nothing, nothing)
    no, action = one(False), one(0)
    step = Step(one(here), action, one(0.25), no, no, no, view, action, one(learns), jnp.asarray(1))
    memory, _, row = ALGORITHM.observe(memory, step)
    return memory, row


updated = jax.jit(lambda memory, rows: ALGORITHM.update(memory, rows, jax.random.key(0), jnp.asarray(True)))


def played(places, is_learned):
    """Rewards with bonuses of the steps that are learned from, and the memory at the end."""
    memory: Any = ALGORITHM.init(jax.random.key(3))
    start, rows = memory, []
    for i, (place, learns) in enumerate(zip(places, is_learned, strict=True), 1):
        memory, row = observed(memory, places[i - 2], place, learns)
        rows.append(row)
        if i % EVERY == 0:
            memory, rows = updated(memory, jax.tree.map(lambda *leaves: jnp.stack(leaves), *rows)), []
    return np.asarray(memory.replay.steps.reward)[: sum(is_learned)], start, memory


@pytest.mark.slow
def test_the_bonus_of_a_step_is_that_of_a_plain_loop():
    random = np.random.default_rng(0)
    places = random.uniform(-1, 1, (40, 2)).astype(np.float32)
    is_learned = random.random(40) < 0.8
    rewards, start, end = played(places, is_learned.tolist())
    plain, expected = PlainRND(start.rnd), []
    for i, (place, learns) in enumerate(zip(places, is_learned, strict=True), 1):
        if learns:
            expected.append(0.25 + plain.visit(place.astype(float)))
        if i % EVERY == 0:
            plain.update()
    assert (np.asarray(expected[:WARM_UP]) == 0.25).all()
    assert min(expected[WARM_UP:]) > 0.25
    np.testing.assert_allclose(rewards, expected, rtol=1e-4)
    for ours, theirs in zip(layers_of(end.rnd.predictor), plain.predictor, strict=True):
        for ours_part, theirs_part in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(ours_part, theirs_part, atol=1e-4)
    jax.tree.map(np.testing.assert_array_equal, end.rnd.target, start.rnd.target)


def test_the_bonus_of_a_place_that_is_visited_again_and_again_vanishes_and_a_new_place_has_more():
    random = np.random.default_rng(1)
    places = [*random.uniform(-1, 1, (20, 2)), *np.tile([0.3, -0.4], (400, 1)), np.array([-0.9, 0.9])]
    rewards, *_ = played(np.asarray(places, np.float32), [True] * len(places))
    bonuses = rewards[-65:] - 0.25  # as many as the replay still holds; its order is that of a ring
    assert np.sort(bonuses)[-1] > 100 * np.median(bonuses)


def test_where_nothing_is_learned_nothing_changes():
    memory = ALGORITHM.init(jax.random.key(0))
    after, row = observed(memory, jnp.zeros(2), jnp.ones(2), False)
    jax.tree.map(np.testing.assert_array_equal, memory, after)
    rows = jax.tree.map(lambda leaf: jnp.stack([leaf] * EVERY), row)
    jax.tree.map(np.testing.assert_array_equal, memory, updated(memory, rows))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"scale": float("nan")}, ["the scale of the bonus is nan"]),
        ({"learning_rate": -1.0}, ["the learning rate of the bonus is -1.0"]),
        ({"outputs": 0}, ["outputs is 0"]),
        ({"warm_up": 1}, ["warm_up is 1"]),
    ],
    ids=str,
)
def test_a_bonus_that_cannot_be_is_refused(arguments, words, refused):
    with refused(*words):
        dorax.RND(**arguments)


def test_tables_and_tiles_have_no_such_bonus(refused):
    bonus: Any = dorax.RND()
    for agent in (dorax.TabularAgent, dorax.LinearAgent):
        with refused("bonus is RND("):
            agent(dorax.EpsilonGreedy(0.1), dorax.Visits(), bonus)


@pytest.mark.slow
def test_a_seed_is_the_same_bit_for_bit_alone_and_among_others_and_with_tests_and_maps_or_without():
    agent = dorax.DeepAgent(
        dorax.EpsilonGreedy(0.3), bonus=dorax.RND(0.1, width=8, outputs=4, warm_up=20), width=8, capacity=200
    )
    car = dorax.envs.SparseMountainCar()
    short: dict[str, Any] = {"params": car.default_params._replace(max_steps_in_episode=100)}
    watched: dict[str, Any] = {"test_every": 2, "maps": dorax.Maps((3, 3), every=2)}
    four = dorax.train(agent, car, 30, 4, learners=4, **short, **watched)
    assert int(four.learner(2).memory.rnd.steps) == 3000
    for again in (
        dorax.train(agent, car, 30, [2], learners=[2], **short, **watched),
        dorax.train(agent, car, 30, 4, learners=4, **short),
    ):
        jax.tree.map(np.testing.assert_array_equal, four.learner(2).memory, again.learner(2).memory)
