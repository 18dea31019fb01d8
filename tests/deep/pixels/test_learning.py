"""Acting and learning from the screen, on games whose answers are known."""

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dorax.deep.pixels import learning, replay
from dorax.deep.pixels.agent import PixelAgent
from dorax.deep.pixels.learning import Seen
from dorax.deep.pixels.network import outputs
from dorax.deep.pixels.replay import Outcome

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
    """A new learner, and memory and tally after some turns of random play."""
    game = game or OneStepGame()
    learner = learning.new_learner(agent, ACTIONS, jax.random.key(0))
    memory, tally = learning.new_memory(agent, GAMES, 1), learning.new_tally()
    key, always = jax.random.key(1), np.float32(1)
    for turn in range(turns):
        memory, tally, actions = learning.look(
            agent, learner.actor, memory, tally, np.int32(0), game.seen, always, key, np.int32(turn)
        )
        game.step(np.asarray(actions))
    return learner, memory, tally


def learned(agent, learner, rows, tally, times):
    for _ in range(times):
        learner, tally = learning.learn(agent, learner, rows, tally, jax.random.key(2), updates=1)
    return learner, tally


def test_q_learns_what_actions_pay_and_e_that_an_ended_game_holds_nothing_new():
    agent = replace(AGENT, bonus_scale=0.0)
    learner, memory, tally = looked(agent, 60)
    learner, tally = learned(agent, learner, memory.rows, tally, 150)
    out = outputs(learner.network, STACK)
    np.testing.assert_allclose(out.values[0], [0, 1, 0], atol=0.15)
    assert np.all(jax.nn.sigmoid(out.e[0]) < 0.2)  # towards 0, from 1/2
    assert int(learner.updates) == 150
    assert float(tally.updates) == 150


def test_a_first_bonus_is_that_of_one_half_and_is_kept_with_the_step():
    _, memory, tally = looked(AGENT, 5)
    expected = 0.05 / math.sqrt(math.log(2) + 0.01)
    np.testing.assert_allclose(memory.rows.bonuses[:5], expected, rtol=1e-5)
    assert float(tally.bonus) == pytest.approx(5 * GAMES * expected, rel=1e-5)
    assert float(tally.counted) == pytest.approx(5 * GAMES, rel=1e-5)  # E = 1/2 is one generalized visit


def test_without_a_bonus_there_is_none_and_no_second_stream():
    learner, memory, tally = looked(replace(AGENT, bonus="none"), 5)
    assert learner.network.e is None
    assert float(jnp.abs(memory.rows.bonuses).max()) == 0
    assert float(tally.counted) == 0


def test_several_updates_in_one_call_are_updates_one_by_one():
    """Their draws differ by design; from a replay of one and the same step they cannot."""
    agent = replace(AGENT, target_every=1000, actor_every=1000)
    learner = learning.new_learner(agent, ACTIONS, jax.random.key(0))
    rows = replay.empty(20, GAMES)
    yes = jnp.ones((20, GAMES), bool)
    rows = rows._replace(frames=rows.frames + 50, outcomes=Outcome(yes * 1.0, ~yes, yes), begun=jnp.asarray([1000]))
    copied = jax.tree.map(jnp.copy, learner)
    together, _ = learning.learn(agent, learner, rows, learning.new_tally(), jax.random.key(3), updates=3)
    alone, _ = learned(agent, copied, rows, learning.new_tally(), 3)
    assert np.any(together.network.q.out_bias != together.target.q.out_bias)
    for ours, theirs in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(("name", "every"), [("target", 4), ("actor", 6)])
def test_copies_are_renewed_when_they_are_due_and_not_before(name, every):
    agent = replace(AGENT, **{"target_every": 1000, "actor_every": 1000, f"{name}_every": every})
    learner, memory, tally = looked(agent, 12)
    first = np.asarray(learner.network.kernels[2])
    for update in range(1, every + 1):
        learner, tally = learned(agent, learner, memory.rows, tally, 1)
        copy = np.asarray(getattr(learner, name).kernels[2])
        if update < every:
            np.testing.assert_array_equal(copy, first)
    np.testing.assert_array_equal(copy, learner.network.kernels[2])
    assert np.any(copy != first)


def test_the_reward_with_its_bonus_is_clipped_at_one():
    """Of a terminal step that pays 5 the value goes to 1, bonus or not."""
    learner, memory, tally = looked(AGENT, 60, OneStepGame(pays=(5, 5, 5)))
    learner, _ = learned(AGENT, learner, memory.rows, tally, 150)
    np.testing.assert_allclose(outputs(learner.network, STACK).values[0], 1, atol=0.15)


@pytest.mark.parametrize("bonus_at", ["visit", "replay"])
def test_a_bonus_is_worth_what_it_was_at_the_visit_or_what_it_is_at_replay(bonus_at):
    """E falls to 0 as games end, and the bonus with it: of an old step it is still the first one, anew it is small."""
    agent = replace(AGENT, bonus_at=bonus_at, bonus_scale=0.5)
    learner, memory, tally = looked(agent, 60, OneStepGame(pays=(0, 0, 0)))
    learner, _ = learned(agent, learner, memory.rows, tally, 300)
    out = outputs(learner.network, STACK)
    first = 0.5 / math.sqrt(math.log(2) + 0.01)
    now = 0.5 / jnp.sqrt(-jax.nn.log_sigmoid(out.e[0]) + 0.01)
    assert np.all(now < 0.7 * first)
    np.testing.assert_allclose(out.values[0], first if bonus_at == "visit" else now, atol=0.1)


def test_lll_takes_the_action_that_was_counted_least():
    agent = replace(AGENT, acts_by="lll")
    learner = learning.new_learner(agent, ACTIONS, jax.random.key(0))
    bias = jnp.asarray([-3.0, 2.0, -3.0])  # of E: the middle action has the largest E, the smallest count
    network = learner.network._replace(e=learner.network.e._replace(out_bias=bias))
    out = outputs(network, jnp.zeros((GAMES, 4, 7056), jnp.uint8))
    actions = learning.chosen(agent, out, jnp.asarray(1.0), jax.random.key(0))
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
