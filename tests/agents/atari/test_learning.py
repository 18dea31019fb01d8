"""Acting and learning from the screen, on games whose answers are known."""

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from dorax.agents.atari.learning import Seen

from dorax.agents.atari import density, learning, replay
from dorax.agents.atari.agent import PixelAgent
from dorax.agents.atari.network import outputs
from dorax.agents.atari.replay import Outcome

GAMES, ACTIONS = 4, 3
AGENT = PixelAgent(
    bonus="e-values",
    capacity=400,
    learning_starts=8,
    batch=8,
    hidden=32,
    learning_rate=3e-3,
    adam_epsilon=1e-4,
    target_every=1,
)


class OneStepGame:
    """Every action ends a game; `pays` says what each is worth. The turn after an end shows a new game."""

    def __init__(self, pays=(0, 1, 0)):
        self.pays = np.asarray(pays, np.float32)
        no = np.zeros(GAMES, bool)
        self.frames = np.full((GAMES, 84, 84), 50, np.uint8)
        self.seen = Seen(self.frames, ~no, Outcome(np.zeros(GAMES, np.float32), no, no))

    def step(self, actions):
        begins = self.seen.outcome.is_terminal
        outcome = Outcome(np.where(begins, 0, self.pays[actions]).astype(np.float32), ~begins, ~begins)
        self.seen = Seen(self.frames, begins, outcome)


STACK = jnp.zeros((1, 4, 7056), jnp.uint8).at[:, 3].set(50)  # what a game shows: its first frame


def looked(agent, turns, game=None):
    """A new learner, and memory and metrics after some turns of random play."""
    game = game or OneStepGame()
    learner = learning.new_train_state(agent, ACTIONS, jax.random.key(0))
    memory, metrics = learning.new_memory(agent, GAMES, 1), learning.new_metrics()
    key, always = jax.random.key(1), np.float32(1)
    for turn in range(turns):
        memory, metrics, actions = learning.act(
            agent, learner.actor, memory, metrics, np.int32(0), game.seen, always, key, np.int32(turn)
        )
        game.step(np.asarray(actions))
    return learner, memory, metrics


def learned(agent, learner, rows, metrics, times):
    for _ in range(times):
        learner, metrics = learning.learn(agent, learner, rows, metrics, jax.random.key(2), updates=1)
    return learner, metrics


def test_q_learns_what_actions_pay_and_e_that_an_ended_game_holds_nothing_new():
    agent = replace(AGENT, bonus_scale=0.0)
    learner, memory, metrics = looked(agent, 60)
    learner, metrics = learned(agent, learner, memory.replay, metrics, 150)
    out = outputs(learner.network, STACK)
    np.testing.assert_allclose(out.values[0], [0, 1, 0], atol=0.15)
    assert np.all(jax.nn.sigmoid(out.e[0]) < 0.2)  # towards 0, from 1/2
    assert int(learner.updates) == 150
    assert float(metrics.updates) == 150


def test_a_first_bonus_is_that_of_one_half_and_is_kept_with_the_step():
    _, memory, metrics = looked(AGENT, 5)
    expected = 0.05 / math.sqrt(math.log(2) + 0.01)
    np.testing.assert_allclose(memory.replay.bonuses[:5], expected, rtol=1e-5)
    assert float(metrics.bonus) == pytest.approx(5 * GAMES * expected, rel=1e-5)
    assert float(metrics.counted) == pytest.approx(5 * GAMES, rel=1e-5)  # E = 1/2 is one generalized visit


def test_without_a_bonus_there_is_none_and_no_second_stream():
    learner, memory, metrics = looked(replace(AGENT, bonus="none"), 5)
    assert learner.network.e is None
    assert float(jnp.abs(memory.replay.bonuses).max()) == 0
    assert float(metrics.counted) == 0


def test_several_updates_in_one_call_are_updates_one_by_one():
    """Their draws differ by design; from a replay of one and the same step they cannot."""
    agent = replace(AGENT, target_every=1000, actor_every=1000)
    learner = learning.new_train_state(agent, ACTIONS, jax.random.key(0))
    rows = replay.empty(20, GAMES)
    yes = jnp.ones((20, GAMES), bool)
    rows = rows._replace(frames=rows.frames + 50, outcomes=Outcome(yes * 1.0, ~yes, yes), begun=jnp.asarray([1000]))
    copied = jax.tree.map(jnp.copy, learner)
    together, _ = learning.learn(agent, learner, rows, learning.new_metrics(), jax.random.key(3), updates=3)
    alone, _ = learned(agent, copied, rows, learning.new_metrics(), 3)
    assert np.any(together.network.q.out_bias != together.target.q.out_bias)
    for ours, theirs in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(("name", "every"), [("target", 4), ("actor", 6)])
def test_copies_are_renewed_when_they_are_due_and_not_before(name, every):
    agent = replace(AGENT, **{"target_every": 1000, "actor_every": 1000, f"{name}_every": every})
    learner, memory, metrics = looked(agent, 12)
    first = np.asarray(learner.network.kernels[2])
    for update in range(1, every + 1):
        learner, metrics = learned(agent, learner, memory.replay, metrics, 1)
        copy = np.asarray(getattr(learner, name).kernels[2])
        if update < every:
            np.testing.assert_array_equal(copy, first)
    np.testing.assert_array_equal(copy, learner.network.kernels[2])
    assert np.any(copy != first)


def test_the_reward_with_its_bonus_is_clipped_at_one():
    """Of a terminal step that pays 5 the value goes to 1, bonus or not."""
    learner, memory, metrics = looked(AGENT, 60, OneStepGame(pays=(5, 5, 5)))
    learner, _ = learned(AGENT, learner, memory.replay, metrics, 150)
    np.testing.assert_allclose(outputs(learner.network, STACK).values[0], 1, atol=0.15)


@pytest.mark.parametrize("bonus_at", ["visit", "replay"])
def test_a_bonus_is_worth_what_it_was_at_the_visit_or_what_it_is_at_replay(bonus_at):
    """E falls to 0 as games end, and the bonus with it: of an old step it is still the first one, anew it is small."""
    agent = replace(AGENT, bonus_at=bonus_at, bonus_scale=0.5)
    learner, memory, metrics = looked(agent, 60, OneStepGame(pays=(0, 0, 0)))
    learner, _ = learned(agent, learner, memory.replay, metrics, 300)
    out = outputs(learner.network, STACK)
    first = 0.5 / math.sqrt(math.log(2) + 0.01)
    now = 0.5 / jnp.sqrt(-jax.nn.log_sigmoid(out.e[0]) + 0.01)
    assert np.all(now < 0.7 * first)
    np.testing.assert_allclose(out.values[0], first if bonus_at == "visit" else now, atol=0.1)


def constant_network(agent, values, e_outputs):
    """A network that says the same whatever it sees: all weights 0, so that the last biases are its outputs."""
    network = learning.new_train_state(agent, ACTIONS, jax.random.key(0)).network
    network = jax.tree.map(jnp.zeros_like, network)
    network = network._replace(q=network.q._replace(out_bias=jnp.asarray(values)))
    if network.e is None:
        return network
    return network._replace(e=network.e._replace(out_bias=jnp.asarray(e_outputs)))


@pytest.mark.parametrize(
    ("change", "output", "expected"),
    [
        ({}, -100 * math.log(2), 0.05 / math.sqrt(100 * math.log(2) + 0.01)),
        ({"e_form": "count"}, 99.0, 0.05 / math.sqrt(100 * math.log(2) + 0.01)),  # counts start at 0, this visit added
        ({"bonus": "none"}, 99.0, 0.0),
        ({"bonus": "none", "acts_by": "lll", "e_form": "count"}, 99.0, 0.0),
    ],
)
def test_the_bonus_of_a_hundred_visits(change, output, expected):
    """E = 2^-100 is a hundred visits."""
    agent, game = replace(AGENT, **change), OneStepGame()
    network = constant_network(agent, [0.0] * ACTIONS, [output] * ACTIONS)
    memory, _, _ = learning.act(
        agent,
        network,
        learning.new_memory(agent, GAMES, 1),
        learning.new_metrics(),
        np.int32(0),
        game.seen,
        np.float32(1),
        jax.random.key(1),
        np.int32(0),
    )
    np.testing.assert_allclose(memory.replay.bonuses[0], expected, rtol=1e-5)


@pytest.mark.parametrize("acts_by", ["epsilon-greedy", "lll"])
def test_the_bonus_of_a_pseudo_count_whoever_acts(acts_by):
    agent, game = replace(AGENT, bonus="density", acts_by=acts_by), OneStepGame()
    often, _ = density.seen(density.new_density(), jnp.asarray(np.repeat(game.frames[:1], 200, axis=0)))
    _, counts = density.seen(often, jnp.asarray(game.frames))
    assert np.min(counts) > 10
    memory, metrics, _ = learning.act(
        agent,
        constant_network(agent, [0.0] * ACTIONS, [3.0] * ACTIONS),
        learning.new_memory(agent, GAMES, 1)._replace(density=often),
        learning.new_metrics(),
        np.int32(0),
        game.seen,
        np.float32(1),
        jax.random.key(1),
        np.int32(0),
    )
    expected = 0.05 / np.sqrt(np.asarray(counts) + 0.01)
    np.testing.assert_allclose(memory.replay.bonuses[0], expected, rtol=1e-3)
    assert float(metrics.counted) == pytest.approx(float(jnp.sum(counts)), rel=1e-3)
    assert float(metrics.bonus_spread) == pytest.approx(GAMES * np.std(expected), rel=1e-2)


def slope_of_one_update(agent, network, target, steps):
    """The gradient of one update from a replay that holds these steps, one a game, and the mean squared error of Q.

    A step is an action, the next one, reward, bonus, whether it is terminal and whether it is a step at all. Adam's
    first moment is a tenth of the first gradient.
    """
    columns = (jnp.asarray(np.asarray(column)) for column in zip(*steps, strict=True))
    actions, next_actions, reward, bonus, is_terminal, is_step = columns
    group, games = jnp.asarray(0), len(steps)
    nothing, no = jnp.zeros((games, 7056), jnp.uint8), jnp.zeros(games, bool)
    rows = replay.with_row(replay.empty(8, games), group, nothing, no, actions, bonus)
    rows = replay.with_outcome(rows, group, Outcome(reward, is_terminal, is_step))
    rows = replay.with_row(rows, group, nothing, no, next_actions, jnp.zeros(games))
    learner = learning.new_train_state(agent, ACTIONS, jax.random.key(0))._replace(network=network, target=target)
    learner, metrics = learning.learn(agent, learner, rows, learning.new_metrics(), jax.random.key(0), updates=1)
    moments = optax.tree_utils.tree_get(learner.opt_state, "mu")
    return jax.tree.map(lambda moment: np.asarray(moment) / 0.1, moments), float(metrics.q_loss)


HAND = replace(AGENT, discount=0.9, e_discount=0.5, clip=9.0, bonus_scale=1.0, target_every=1000, actor_every=1000)
VALUES, E_OUTPUTS = [0.2, 0.4, 10.0], [0.3, -0.5, 0.1]
E_AFTER = [0.6, -0.4, 0.2]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def e_error(output, successor):
    e = sigmoid(output)
    return (0.5 * successor - e) * e * (1 - e)


@pytest.mark.parametrize(
    ("step", "after", "q_error", "error_of_e"),
    [
        # One that goes on: the best of the successors, and E of the action that was taken there.
        ((0, 2, 0.0, 0.1, False, True), [0.1, 0.7, 0.5], 0.1 + 0.9 * 0.7 - 0.2, e_error(0.3, sigmoid(0.2))),
        # A terminal one has no successor; 1 + 0.3 is clipped to 1.
        ((1, 0, 1.0, 0.3, True, True), [9.0, 9.0, 9.0], 1.0 - 0.4, e_error(-0.5, 0)),
        # One cut off by a time limit has.
        (
            (1, 1, 0.25, 0.05, False, True),
            [0.0, 0.2, 0.1],
            0.25 + 0.05 + 0.9 * 0.2 - 0.4,
            e_error(-0.5, sigmoid(-0.4)),
        ),
        # None at all.
        ((0, 0, 1.0, 0.1, False, False), [9.0, 9.0, 9.0], 0.0, 0.0),
        # A huge error, held at -3.
        ((2, 0, 0.0, 0.0, False, True), [0.0, 0.0, 0.0], -3.0, e_error(0.1, sigmoid(0.6))),
    ],
    ids=["goes on", "terminal", "cut off", "no step", "huge"],
)
def test_the_slope_of_the_loss_is_that_of_the_errors_worked_out_by_hand(step, after, q_error, error_of_e):
    network, target = (constant_network(HAND, *both) for both in ((VALUES, E_OUTPUTS), (after, E_AFTER)))
    slope, loss = slope_of_one_update(HAND, network, target, [step])
    is_taken = np.arange(ACTIONS) == step[0]
    np.testing.assert_allclose(slope.q.out_bias, np.where(is_taken, -2 * q_error, 0), rtol=1e-4)
    np.testing.assert_allclose(slope.e.out_bias, np.where(is_taken, -2 * error_of_e, 0), rtol=1e-4)
    assert loss == pytest.approx(q_error**2, rel=1e-4)


def test_what_is_no_step_weighs_nothing_and_counts_among_the_batch():
    """However many of the batch are steps: their share is in the slope as it is in the mean squared error."""
    network, target = (constant_network(HAND, *both) for both in ((VALUES, E_OUTPUTS), ([0.1, 0.7, 0.5], E_AFTER)))
    steps = [(0, 2, 0.0, 0.1, False, True), (1, 0, 1.0, 0.1, False, False)]
    slope, loss = slope_of_one_update(HAND, network, target, steps)
    q_error, error_of_e = 0.1 + 0.9 * 0.7 - 0.2, e_error(0.3, sigmoid(0.2))
    share = loss / q_error**2
    assert round(share * HAND.batch, 3) in range(1, HAND.batch)
    np.testing.assert_allclose(slope.q.out_bias, [-2 * share * q_error, 0, 0], rtol=1e-4)
    np.testing.assert_allclose(slope.e.out_bias, [-2 * share * error_of_e, 0, 0], rtol=1e-4)


def test_groups_see_their_own_frames_and_replay_shows_what_was_acted_on():
    agent = replace(AGENT, bonus="none")
    learner = learning.new_train_state(agent, ACTIONS, jax.random.key(0))
    memory, metrics = learning.new_memory(agent, 4, 2), learning.new_metrics()
    no, shown, key = np.zeros(2, bool), {0: [], 1: []}, jax.random.key(1)
    for turn in range(12):
        group = turn % 2
        tones = np.asarray([10 * turn + 1, 10 * turn + 2])
        shown[group].append(tones)
        frames = np.broadcast_to(tones[:, None, None], (2, 84, 84)).astype(np.uint8)
        seen = Seen(frames, ~no if turn < 2 else no, Outcome(np.zeros(2, np.float32), no, ~no))
        memory, metrics, _ = learning.act(
            agent,
            learner.actor,
            memory,
            metrics,
            np.int32(group),
            seen,
            np.float32(1),
            key,
            np.int32(turn),
        )
    for group in (0, 1):
        expected = np.stack(shown[group][-4:], axis=1)  # game x frame
        np.testing.assert_array_equal(memory.stacks[2 * group : 2 * group + 2, :, 0], expected)
    acted_on = {tuple(np.stack(shown[g][t - 3 : t + 1])[:, i]) for g in (0, 1) for t in (3, 4) for i in (0, 1)}
    batch = replay.sample(memory.replay, jax.random.key(0), 400)
    replayed = {tuple(stack) for stack in np.asarray(batch.stacks[:, :, 0]) if stack[0] > 0}
    assert replayed == acted_on


def test_lll_takes_the_action_that_was_counted_least():
    agent = replace(AGENT, acts_by="lll")
    learner = learning.new_train_state(agent, ACTIONS, jax.random.key(0))
    bias = jnp.asarray([-3.0, 2.0, -3.0])  # of E: the middle action has the largest E, the smallest count
    network = learner.network._replace(e=learner.network.e._replace(out_bias=bias))
    out = outputs(network, jnp.zeros((GAMES, 4, 7056), jnp.uint8))
    actions = learning.choose_actions(agent, out, jnp.asarray(1.0), jax.random.key(0))
    np.testing.assert_array_equal(actions, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"bonus": "novelty"},
        {"acts_by": "greed"},
        {"discount": 1.0},
        {"e_discount": -0.1},
        {"batch": 0},
        {"epsilon_last": 1.5},
        {"capacity": 4},
        {"bonus": "density", "bonus_at": "replay"},
        {"learning_rate": math.nan},
    ],
)
def test_an_agent_that_cannot_be_is_refused(change, refused):
    with refused("allowed"):
        PixelAgent(**change)


def test_epsilon_falls_evenly_and_then_stays():
    agent = PixelAgent(epsilon_steps=1000)
    assert [agent.epsilon(step) for step in (0, 500, 1000, 5000)] == pytest.approx([1, 0.55, 0.1, 0.1])
