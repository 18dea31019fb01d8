"""Counts by networks and learned features in wrappers, by the explorers of agents."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import dorax
from dorax import CountNetwork, EValues, LearnedPrototypes, RandomStart, Table, Visits
from dorax.wrappers import Exploration, GeneralizedCounts

POINTS, TWO = spaces.Box(-1, 1, (3,), np.float32), spaces.Discrete(2)
VIEWS = np.random.default_rng(0).uniform(-1, 1, (6, 3)).astype(np.float32)
PROTOTYPES = LearnedPrototypes(32, first_renewal=100_000, width=8)
NETWORKS = [CountNetwork(learning_rate=0.01, width=8), RandomStart(learning_rate=0.01, width=8)]


def name_of(part):
    return type(part).__name__


def walk(exploration, steps, seed=0, is_cut=False):
    """Walk at random over the views in episodes of 7 steps; yield counts after each visit."""
    random, state = np.random.default_rng(seed), 0
    exploration.begin(VIEWS[0])
    for t in range(steps):
        action, state = int(random.integers(2)), int(random.integers(6))
        ends = t % 7 == 6
        yield exploration.visit(action, 0.0, VIEWS[state], ends and not is_cut, ends and is_cut)[1]
        if ends:
            exploration.begin(VIEWS[0])


@pytest.mark.parametrize("counter", [EValues(0.9), Visits()], ids=name_of)
def test_prototypes_of_learned_features_count_different_points_like_a_table(counter):
    """With noise-free points and the first features, every point is an entry of its own."""
    explorations = [Exploration(POINTS, TWO, counter=counter, features=one) for one in (PROTOTYPES, Table())]
    found, expected = ([*walk(one, 70)] for one in explorations)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    np.testing.assert_allclose(*(one.counts.of(VIEWS) for one in explorations), rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("features", NETWORKS, ids=name_of)
def test_in_a_network_counts_of_an_action_taken_again_and_again_rise_above_those_of_the_other(features):
    exploration = Exploration(POINTS, TWO, features=features, scale=1.0)
    bonuses = []
    for _ in range(1000):
        exploration.begin(VIEWS[0])
        bonuses.append(exploration.visit(0, 0.0, VIEWS[1], True, False)[0])
    taken, other = exploration.counts.of(VIEWS[:1])[0]
    assert taken > other + 1
    assert bonuses[-1] < 0.8 * bonuses[0]


@pytest.mark.parametrize(
    "features", [PROTOTYPES, *(pytest.param(each, marks=pytest.mark.slow) for each in NETWORKS)], ids=name_of
)
def test_they_go_on_from_a_file_as_if_the_running_episode_had_been_cut_off(features, tmp_path):
    one, again = (Exploration(POINTS, TWO, features=features) for _ in range(2))
    assert len([*walk(one, 75, is_cut=True)]) == 75  # the last portion and the last episode are not complete
    one.save(tmp_path / "counts.npz")
    again.load(tmp_path / "counts.npz")
    assert [*walk(one, 75, seed=1)] == [*walk(again, 75, seed=1)]
    np.testing.assert_array_equal(one.counts.of(VIEWS), again.counts.of(VIEWS))
    with one.off():
        one.begin(VIEWS[0])
        before = one.counts.of(VIEWS)
        assert one.visit(1, 0.0, VIEWS[2], False, False) == (0.0, before[0, 1])
        np.testing.assert_array_equal(one.counts.of(VIEWS), before)
    with pytest.raises(dorax.InvalidInput, match="was saved for seed: 0"):
        Exploration(POINTS, TWO, features=features, seed=1).load(tmp_path / "counts.npz")


def test_wrapped_environments_take_them_also_where_states_are_finite():
    env = dorax.EValueBonus(gymnasium.make("FrozenLake-v1"), features=NETWORKS[1])
    envs = dorax.VectorEValueBonus(gymnasium.make_vec("CartPole-v1", 3), features=NETWORKS[0])
    env.reset(seed=0)
    envs.reset(seed=0)
    for _ in range(40):
        _, reward, terminated, truncated, info = env.step(0)
        assert reward == info["true_reward"] + info["bonus"] > 0
        if terminated or truncated:
            env.reset()
        assert np.isfinite(envs.step(np.zeros(3, int))[1]).all()
    assert "40 steps" in repr(dorax.diagnose(env))
    env.close()
    envs.close()


def test_what_networks_do_not_know_is_refused_in_one_line():
    exploration = Exploration(POINTS, TWO, features=NETWORKS[0])
    for ask in (lambda: exploration.counts.visits_of(VIEWS), exploration.counts.table):
        with pytest.raises(dorax.InvalidInput, match="with CountNetwork; allowed: features with tables"):
            ask()
    with pytest.raises(dorax.InvalidInput, match="environment 0 has no episode"):
        exploration.visit(0, 0.0, VIEWS[0], False, False)
    exploration.begin(VIEWS[0])
    with pytest.raises(dorax.InvalidInput, match="the action is 2"):
        exploration.visit(2, 0.0, VIEWS[0], False, False)
    with pytest.raises(dorax.InvalidInput, match="has the shape"):
        exploration.begin(np.zeros(4))
    with pytest.raises(dorax.InvalidInput, match="allowed: CountNetwork in an Exploration or a wrapper"):
        GeneralizedCounts(POINTS, TWO, features=NETWORKS[0])
    with pytest.raises(dorax.InvalidInput, match="and tuples and dictionaries of them"):
        Exploration(spaces.Sequence(POINTS), TWO, features=NETWORKS[1])
    with pytest.raises(dorax.InvalidInput, match="wrappers support 'count'"):
        Exploration(POINTS, TWO, counter=EValues(0.9, form="logistic"), features=NETWORKS[0])
    with pytest.raises(dorax.InvalidInput, match=r"allowed: Table\(\), .*RandomStart\(\) or None"):
        Exploration(POINTS, TWO, features="pixels")  # pyright: ignore[reportArgumentType]
