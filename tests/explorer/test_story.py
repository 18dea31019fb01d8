"""The sentence about what happened, and where worlds that are no grids put their states."""

import numpy as np
import pytest

from dorax import explorer, mdps
from dorax.envs import words
from dorax.explorer.layouts import drawing_of
from dorax.explorer.recording import Frame, Recording, goal_of
from dorax.explorer.story import story
from dorax.mdps import mdp as finite

AGENT = explorer.agents(["visits"], mdps.bridge(3), 0.9, 0.9)["visits"]


def recording(first, episodes=50, seen=2):
    visits = np.zeros((3, 4), np.int32)
    visits[:seen] = 1
    last = Frame(episodes, 99, 0.0, np.zeros(1, int), 0, False, visits, visits, visits)
    return Recording(AGENT, 0, [last], first, [0.0])


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((2, 1500), (7, 90), "b first reached the goal in episode 7 (step 90), a in episode 2 (step 1,500)."),
        ((2, 15), None, "a first reached the goal in episode 2 (step 15); b never did in 50 episodes."),
        (None, (2, 15), "b first reached the goal in episode 2 (step 15); a never did in 50 episodes."),
        (None, None, "Neither a nor b reached the goal in 50 episodes; a saw 2 of 3 states and b 2."),
    ],
)
def test_the_story_tells_who_found_the_goal_when(first, second, expected):
    assert story(mdps.bridge(3), {"a": recording(first), "b": recording(second)}) == expected


def test_the_story_of_one_agent_and_of_a_world_without_rewards():
    assert story(mdps.bridge(3), {"a": recording(None, episodes=1)}) == (
        "a never reached the goal in 1 episode; a saw 2 of 3 states."
    )
    assert story(mdps.tree(3), {"a": recording(None)}) == (
        "There is no reward to find here; in 50 episodes, a saw 2 of 2 states."
    )


@pytest.mark.parametrize(
    ("world", "name", "reward"),
    [("bridge:3", "the goal", 10), ("cliff", "the goal", -1), ("Taxi-v4", "the largest reward", 20)],
)
def test_a_goal_is_the_largest_reward_or_where_every_step_costs_the_end(world, name, reward):
    goal = goal_of(words.mdp(world))
    assert goal is not None
    assert goal.name == name
    assert goal.reward == pytest.approx(reward, rel=2e-5)
    assert goal.is_end == (reward < 0)


def test_a_recording_knows_the_first_episode_that_paid_the_largest_reward_and_the_steps_by_then():
    mdp = mdps.maze("S..#G\n.#.#.\n.~...")
    found = explorer.record(mdp, explorer.agents(["e-values"], mdp, 0.9, 0.9)["e-values"], 30)
    reached = [frame for frame in found.frames[1:] if frame.total_reward >= mdp.reward.max()]
    assert found.first_reached == (reached[0].episode, reached[0].steps)
    returns = [frame.total_reward for frame in found.frames[1:]]
    expected = [np.mean(returns[max(0, i - 9) : i + 1]) for i in range(30)]
    np.testing.assert_allclose(found.mean_returns, expected)


def without_layout(states):
    """A corridor whose first action leads on, and whose second leads back to the start."""
    successor = np.stack([np.minimum(np.arange(states) + 1, states - 1), np.zeros(states)], axis=1).astype(int)
    reward = np.zeros((states, 2))
    reward[-1, 0] = 1
    return finite.deterministic("corridor", successor, reward, reward > 0, 0, 50)


def test_a_world_that_is_no_grid_stands_in_columns_by_steps_from_the_start():
    drawing = drawing_of(without_layout(5))
    assert drawing.what == "from the start"
    assert drawing.distances is not None
    assert drawing.distances.tolist() == [0, 1, 2, 3, 4]
    assert drawing.layout.rows == (". . . . .",)
    assert drawing.layout.cells == ((0, 0), (0, 2), (0, 4), (0, 6), (0, 8))


def test_where_an_episode_may_start_anywhere_columns_are_by_steps_to_the_largest_reward():
    taxi = words.mdp("Taxi-v4")
    drawing = drawing_of(taxi)
    assert drawing.what == "to the largest reward"
    assert drawing.distances is not None
    reachable = np.flatnonzero(taxi.reachable)
    cells = [drawing.layout.cells[state] for state in reachable]
    assert len(set(cells)) == len(reachable), "no two states in one place"
    for state in reachable:
        assert drawing.layout.rows[drawing.layout.cells[state][0]][drawing.layout.cells[state][1]] == "."
        nearest = min(drawing.distances[taxi.successor[state]].min(), drawing.distances[state])
        pays = (taxi.reward[state] == 20).any()
        assert drawing.distances[state] == (0 if pays else nearest + 1)


def test_a_world_without_a_layout_and_with_too_many_states_is_declined(refused):
    with refused("corridor has 1001 states and no layout"):
        drawing_of(without_layout(1001))
