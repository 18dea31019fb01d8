"""The engine with learners of many games, with rows for updates, and with an environment of its own for each seed."""

from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dorax
from dorax import mdps
from dorax.engine.driver import block_draws
from dorax.engine.protocols import View
from dorax.envs.simulation import environments

GAMES, EVERY = 8, 4


class Rows(NamedTuple):
    state: Any
    action: Any
    reward: Any
    learns: Any


class Seen(NamedTuple):
    """Visits as they were made, the same from rows, updates so far, and the random bits that these were given."""

    visits: Any
    from_rows: Any
    paid: Any
    updates: Any
    bits: Any


class Walker(eqx.Module):
    """Eight games that walk at random and share what they count: at once, and again from the rows of each update."""

    laziness: float = 0.0

    def algorithm(self, env):
        return WalkerAlgorithm(self, env.available.shape)

    def check_env(self, env):
        pass

    def learner(self, spec, memory=None, *, steps=0, seed=0):
        return memory


class WalkerAlgorithm(eqx.Module):
    agent: Walker
    shape: tuple[int, int] = eqx.field(static=True)
    games: int = eqx.field(default=GAMES, static=True)
    every: int = eqx.field(default=EVERY, static=True)

    def init(self, key):
        table, zero = jnp.zeros(self.shape, jnp.int32), jnp.zeros((), jnp.int32)
        return Seen(table, table, jnp.zeros(()), zero, jnp.zeros((), jnp.uint32))

    def view(self, memory, observation):
        nothing = jnp.zeros((len(observation), self.shape[1])) - jnp.arange(self.shape[1])
        return View(observation, nothing, nothing, nothing)

    def act(self, view, steps, uniform):
        return jnp.floor(uniform * self.shape[1]).astype(jnp.int32)

    def observe(self, memory, step):
        at = step.features, step.action
        visits = memory.visits.at[at].add(step.learns.astype(jnp.int32))
        return memory._replace(visits=visits), None, Rows(step.features, step.action, step.reward, step.learns)

    def update(self, memory, rows, key, learns):
        counted = rows.learns & learns
        return memory._replace(
            from_rows=memory.from_rows.at[rows.state, rows.action].add(counted.astype(jnp.int32)),
            paid=memory.paid + jnp.sum(jnp.where(counted, rows.reward, 0.0)),
            updates=memory.updates + learns,
            bits=memory.bits + jnp.where(learns, jax.random.bits(key), jnp.uint32(0)),
        )


def walk(mdp, seed, steps):
    """The same walk in plain Python: visits, and the episodes in the order in which they ended."""
    env = environments(mdp, None, 1).shared
    visits, ended, made = np.zeros((mdp.states, mdp.actions), int), [], 0
    key, block = jax.random.key(seed), 0
    games = [{"state": None, "action": 0, "length": 0, "total": 0.0} for _ in range(GAMES)]
    while True:
        draws = block_draws(env, key, jnp.asarray(block), GAMES)
        world, rule = np.asarray(draws.world), np.asarray(draws.rule)
        block += 1
        for t in range(len(world)):
            learned = 0
            for g, game in enumerate(games):
                if game["state"] is None:
                    game |= {"state": int(np.argmax(mdp.start)), "length": 0, "total": 0.0}
                else:
                    s, a = game["state"], game["action"]
                    visits[s, a] += 1
                    learned += 1
                    game["length"] += 1
                    game["total"] += mdp.reward[s, a, 0]
                    game["state"] = int(mdp.successor[s, a, 0])
                    if mdp.terminal[s, a, 0] or game["length"] >= mdp.max_steps:
                        ended.append((game["total"], game["length"]))
                        game["state"] = None
                game["action"] = int(rule[t, g] * mdp.actions)
            made += learned
            if made >= steps:
                return visits, ended, made


@pytest.mark.parametrize("mdp", [mdps.bridge(4), replace(mdps.bridge(4), max_steps=2)], ids=["ends", "truncated too"])
def test_eight_games_of_one_learner_are_eight_walks_that_share_their_visits(mdp):
    result = dorax.train(Walker(), mdp, steps=600, seeds=[3, 5])
    visits, ended, made = walk(mdp, 3, 600)
    memory = result.learner(3)
    np.testing.assert_array_equal(memory.visits[: mdp.states], visits)
    lone = result.data.sel(seed=3)
    assert int(lone.total_steps) == made
    found = np.stack([lone["return"], lone["length"]], axis=1)[: len(ended)]
    np.testing.assert_array_equal(found, np.asarray(ended, np.float32))


def test_rows_reach_every_update_once_and_in_full():
    memory = dorax.train(Walker(), mdps.bridge(4), steps=600, seeds=[3]).learner()
    # What was seen since the last update has reached no update yet.
    behind = memory.visits - memory.from_rows
    assert 0 <= behind.sum() <= GAMES * EVERY
    assert (behind >= 0).all()
    assert memory.updates >= 600 // (GAMES * EVERY)


@pytest.mark.slow
def test_many_games_are_the_same_bit_for_bit_alone_and_in_company_and_with_tests():
    mdp = mdps.bridge(4)
    alone = dorax.train(Walker(), mdp, steps=600, seeds=[3]).learner()
    company: list[dict[str, Any]] = [{"seeds": [3, 4, 5]}, {"seeds": [3], "test_every": 5}, {"seeds": [3], "lanes": 70}]
    for others in company:
        again = dorax.train(Walker(), mdp, steps=600, **others).learner(3)
        jax.tree.map(np.testing.assert_array_equal, again, alone)


@pytest.mark.slow
def test_a_test_of_many_games_is_the_mean_of_one_greedy_episode_each():
    # Greedy is north, off the bridge: -100 after one step, in each of the games.
    data = dorax.train(Walker(), mdps.bridge(4), episodes=200, test_every=50).data
    assert data.sizes["test"] == 4
    np.testing.assert_array_equal(data.test_return, -100)
    np.testing.assert_array_equal(data.test_length, 1)


@pytest.mark.slow
def test_each_seed_may_have_an_environment_with_numbers_of_its_own():
    seas = [mdps.deep_sea(6, seed) for seed in range(3)]
    agent = dorax.TabularAgent(dorax.LLL(dorax.Softmax(0.1)), dorax.EValues(0.9))
    together = dorax.train(agent, seas, 50, seeds=3, learners=3)
    for seed, sea in enumerate(seas):
        alone = dorax.train(agent, sea, 50, seeds=[seed])
        np.testing.assert_array_equal(together.data["return"][seed], alone.data["return"][0])
        np.testing.assert_array_equal(together.learner(seed).q_table, alone.learner().q_table)
