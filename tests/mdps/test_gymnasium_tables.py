"""MDPs out of Gymnasium's transition tables."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from dorax import mdps


def test_our_cliff_is_gymnasium_s():
    ours, theirs = mdps.cliff(), mdps.from_gymnasium("CliffWalking-v1")
    for part in ("successor", "probability", "reward", "terminal", "start", "available"):
        np.testing.assert_array_equal(getattr(ours, part), getattr(theirs, part))


@pytest.mark.parametrize("name", ["FrozenLake-v1", "FrozenLake8x8-v1", "Taxi-v4", "CliffWalking-v1"])
def test_every_outcome_of_the_table_keeps_its_probability(name):
    env: Any = gymnasium.make(name).unwrapped
    mdp = mdps.from_gymnasium(name)
    assert (mdp.states, mdp.actions) == (env.observation_space.n, env.action_space.n)
    for s, a in np.ndindex(mdp.states, mdp.actions):
        theirs, ours = {}, {}
        for chance, target, reward, ends in env.P[s][a]:
            theirs[target, reward, ends] = theirs.get((target, reward, ends), 0) + chance
        for k in np.flatnonzero(mdp.probability[s, a]):
            pair = (s, a, k)
            ours[mdp.successor[pair], mdp.reward[pair], mdp.terminal[pair]] = mdp.probability[pair]
        assert ours == pytest.approx(theirs)


def test_a_slippery_lake_moves_straight_or_sideways_with_a_third_each():
    mdp = mdps.from_gymnasium("FrozenLake-v1")
    # From cell 1, going left (0) slips up or down: to 0, to 1 itself, or into the hole at 5.
    assert sorted(mdp.successor[1, 0].tolist()) == [0, 1, 5]
    np.testing.assert_allclose(mdp.probability[1, 0], 1 / 3)
    assert mdp.terminal[1, 0][mdp.successor[1, 0] == 5].all()


def test_the_time_limit_and_the_start_are_the_environment_s():
    lake, cliff, taxi = (mdps.from_gymnasium(name) for name in ("FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"))
    assert (lake.max_steps, taxi.max_steps) == (100, 200)
    assert cliff.max_steps == 1000  # it has none
    np.testing.assert_array_equal(np.unique(taxi.start), [0, 1 / 300])
    assert mdps.from_gymnasium(gymnasium.make("FrozenLake-v1", max_episode_steps=7)).max_steps == 7


def test_an_environment_object_serves_as_well_as_its_name():
    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    mdp = mdps.from_gymnasium(env)
    assert mdp.successor.shape == (16, 4, 1)
    assert mdps.from_gymnasium(env.unwrapped).name
    np.testing.assert_allclose(mdp.optimal_q(0.9)[0].max(), 0.9**5)  # six steps to the goal, the last one pays


def test_an_environment_without_a_table_is_refused(refused):
    with refused("CartPole-v1", "transition table"):
        mdps.from_gymnasium("CartPole-v1")
