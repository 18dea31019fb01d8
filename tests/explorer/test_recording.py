"""A recording is the learner that the engine trains, seen after some of its episodes."""

from itertools import pairwise

import numpy as np
import pytest

import dorax
from dorax import explorer
from dorax.explorer import shown_episodes

MAZE = dorax.mdps.maze("S..#G\n.#.#.\n.~...")
LAKE = dorax.mdps.from_gymnasium("FrozenLake-v1")


def agent(e_discount=0.9, rule=None):
    rule = rule or dorax.LLL(dorax.Softmax(1.0))
    return dorax.TabularAgent(rule=rule, counter=dorax.EValues(e_discount))


@pytest.mark.parametrize(
    "mdp",
    [LAKE, *(pytest.param(mdp, marks=pytest.mark.slow) for mdp in (MAZE, dorax.mdps.tree(3)))],
    ids=lambda mdp: mdp.name,
)
def test_what_is_recorded_last_is_exactly_what_the_engine_learns(mdp):
    frames = explorer.record(mdp, agent(), episodes=30, seed=4).frames
    result = dorax.train(agent(), mdp, episodes=30, seeds=[4])
    learner, data = result.learner(4), result.data.isel(seed=0)
    np.testing.assert_array_equal(frames[-1].q, np.where(mdp.available, learner.q_table, -np.inf))
    np.testing.assert_array_equal(frames[-1].counts, learner.count_table)
    np.testing.assert_array_equal([frame.total_reward for frame in frames[1:]], data["return"])
    np.testing.assert_array_equal([len(frame.path) for frame in frames[1:]], data.length)
    np.testing.assert_array_equal([frame.steps for frame in frames[1:]], data.steps)


def test_what_is_recorded_in_between_is_what_the_engine_had_learned_by_then():
    """Where only some episodes are shown, too."""
    for frame in explorer.record(LAKE, agent(), episodes=40, seed=2, most=6).frames[1:]:
        learner = dorax.train(agent(), LAKE, episodes=frame.episode, seeds=[2]).learner()
        np.testing.assert_array_equal(frame.q, learner.q_table)
        np.testing.assert_array_equal(frame.counts, learner.count_table)


@pytest.mark.parametrize("most", [200, 9])
def test_visits_never_fall_and_sum_to_the_steps(most):
    frames = explorer.record(LAKE, agent(), episodes=60, most=most).frames
    for before, after in pairwise(frames):
        assert (after.visits >= before.visits).all()
        assert after.episode > before.episode
    assert [frame.visits.sum() for frame in frames] == [frame.steps for frame in frames]


def test_the_path_of_an_episode_is_what_its_visits_grew_by():
    frames = explorer.record(MAZE, agent(), episodes=20).frames
    for before, after in pairwise(frames):
        grown = (after.visits - before.visits).sum(axis=1)
        np.testing.assert_array_equal(np.bincount(after.path, minlength=MAZE.states), grown)


def test_a_path_goes_on_as_the_world_does_and_ends_with_its_last_action():
    for frame in explorer.record(MAZE, agent(), episodes=20).frames[1:]:
        assert frame.path[0] == 0
        for here, there in pairwise(frame.path):
            assert there in MAZE.successor[here]
        assert MAZE.terminal[frame.path[-1], frame.last_action, 0] == frame.is_terminal
        assert frame.is_terminal or len(frame.path) == MAZE.max_steps


def test_before_the_first_episode_nothing_is_known():
    first = explorer.record(dorax.mdps.tree(3), agent(), episodes=2).frames[0]
    assert (first.episode, first.steps, len(first.path)) == (0, 0, 0)
    assert not first.visits.any()
    assert not first.counts.any()
    assert np.issubdtype(first.counts.dtype, np.floating)
    assert first.q.tolist() == [[0, -np.inf, -np.inf], [0, 0, 0]]


def test_without_propagation_generalized_counts_are_visits():
    for frame in explorer.record(LAKE, agent(e_discount=0.0), episodes=40).frames:
        np.testing.assert_array_equal(frame.counts, frame.visits)


def test_with_propagation_they_are_not():
    last = explorer.record(LAKE, agent(e_discount=0.9), episodes=40).frames[-1]
    assert (last.counts <= last.visits).all()
    assert last.counts.sum() < last.visits.sum()


def test_the_same_seed_gives_the_same_recording_and_another_another():
    drawing = agent(rule=dorax.Sample(dorax.Softmax(1.0)))
    same, again, other = (explorer.record(MAZE, drawing, 10, seed).frames[-1] for seed in (1, 1, 2))
    np.testing.assert_array_equal(same.visits, again.visits)
    assert (same.visits != other.visits).any()


@pytest.mark.parametrize("episodes", [1, 2, 150, 199, 200, 201, 1000, 10**6])
def test_at_most_200_frames_are_shown_the_first_and_the_last_among_them(episodes):
    shown = shown_episodes(episodes)
    assert len(shown) == min(episodes + 1, 200)
    assert (shown[0], shown[-1]) == (0, episodes)
    gaps = np.diff(shown)
    assert gaps.min() == 1
    assert gaps[0] == 1
    assert gaps[-1] == gaps.max()


def test_all_episodes_are_shown_where_there_is_room():
    assert shown_episodes(7) == list(range(8))


@pytest.mark.parametrize(
    ("episodes", "most", "word"), [(0, 200, "episodes is 0"), (2.5, 200, "2.5"), (5, 1, "most is 1")]
)
def test_impossible_numbers_are_named(episodes, most, word, refused):
    with refused(word):
        explorer.record(MAZE, agent(), episodes, most=most)


def test_an_impossible_seed_is_named(refused):
    with refused("-1"):
        explorer.record(MAZE, agent(), 2, seed=-1)
