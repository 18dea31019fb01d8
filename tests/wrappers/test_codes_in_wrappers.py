"""Hashed codes, prototypes and the smallest of several entries, as the wrappers count by them."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import dorax
from dorax import EValues, HashedCodes, KWinners, Prototypes, Table, Visits
from dorax.wrappers import Exploration, GeneralizedCounts

POINTS = spaces.Box(-np.inf, np.inf, (16,), np.float32)
PICTURES = spaces.Box(0, 255, (20, 20, 3), np.uint8)
TWO = spaces.Discrete(2)
EACH = [HashedCodes(), Prototypes(), KWinners(units=512, counts="smallest")]


def walk(exploration, states, views, steps, seed=0):
    """Walk at random; return the true visits, and the bonuses."""
    random, visits, bonuses = np.random.default_rng(seed), np.zeros((len(views), 2)), []
    exploration.begin(views[0])
    state = 0
    for _ in range(steps):
        action = int(random.integers(2))
        visits[state, action] += 1
        state = int(random.integers(states))
        bonuses.append(exploration.visit(action, 0.0, views[state], False, False)[0])
    exploration.begin(views[0])
    return visits, bonuses


def points(number, seed=0):
    return np.random.default_rng(seed).standard_normal((number, 16)).astype(np.float32)


def settle(counts):
    """Show the first observations, which set the normalisation, before anything is counted."""
    for view in points(1000, seed=9):
        counts._coder.observe(view)


def test_counts_of_hashed_codes_are_at_least_the_visits():
    """Two tables of four entries for thirty states: collisions only add."""
    views = points(30)
    exploration = Exploration(POINTS, TWO, counter=Visits(), features=HashedCodes(tables=2, bits=2))
    settle(exploration.counts)
    visits, _ = walk(exploration, 30, views, 500)
    counts = exploration.counts.of(views)
    assert (counts >= visits).all()
    assert (exploration.counts.visits_of(views) >= visits).all()
    assert (counts > visits).any()


@pytest.mark.parametrize("box", [POINTS, PICTURES], ids=str)
def test_prototypes_count_every_observation_by_itself_as_long_as_there_is_room(box):
    random = np.random.default_rng(0)
    views = points(40) if box is POINTS else random.integers(0, 255, (40, *box.shape), np.uint8)
    exploration = Exploration(box, TWO, counter=Visits(), features=Prototypes(size=64))
    visits, _ = walk(exploration, 40, views, 400)
    np.testing.assert_array_equal(exploration.counts.of(views), visits)
    np.testing.assert_array_equal(exploration.counts.visits_of(views), visits)


def test_prototypes_merge_views_that_differ_by_noise_and_keep_all_visits():
    random, places = np.random.default_rng(1), points(10)
    counts = GeneralizedCounts(POINTS, TWO, counter=Visits(), features=Prototypes(size=40))
    visits = np.zeros(10)
    counts.begin(places[0])
    state = 0
    for _ in range(600):
        visits[state] += 1
        state = int(random.integers(10))
        counts.visit(0, places[state] + 0.1 * random.standard_normal(16), False, False)
    counts.begin(places[0])
    table, _ = counts.table()
    assert table.sum() == 600
    # What was merged away and has come back as an entry of its own starts at 0 again: most visits are in the rest.
    assert (counts.of(places)[:, 0] > 0).all()
    entries = counts._coder.arrays()
    nearest = np.argmin(np.linalg.norm(entries["points"][:, None] - places, axis=2), axis=1)
    held = dict(zip(entries["entries"].tolist(), nearest.tolist(), strict=True))
    by_place = np.zeros(10)
    for key, row in counts._table._counts.items():
        by_place[held[key]] += row[0]
    np.testing.assert_array_equal(by_place, visits)


def test_looking_at_an_observation_makes_no_prototype():
    counts = GeneralizedCounts(POINTS, TWO, features=Prototypes())
    views = points(3)
    counts.begin(views[0])
    assert (counts.of(views) == 0).all()
    assert len(counts._coder.arrays()["entries"]) == 1
    counts.visit(0, views[1], False, False, is_counted=False)
    assert len(counts._coder.arrays()["entries"]) == 1
    counts.visit(0, views[2], False, False)  # from a state without an entry: followed, but there is nothing to count
    counts.begin(views[0])
    assert (counts.of(views) == 0).all()


def test_the_smallest_of_several_entries_does_not_make_rare_states_look_known():
    """One state visited a thousand times and one never, with half of their active units in common."""
    views = np.repeat(points(1), 2, axis=0)
    views[1, :4] *= -1
    known = {}
    for how in ("sum", "smallest"):
        counts = GeneralizedCounts(POINTS, TWO, counter=Visits(), features=KWinners(units=1024, counts=how))
        settle(counts)
        for _ in range(1000):
            counts.begin(views[0])
            counts.visit(0, points(1, 1)[0], True, False)
        known[how] = counts.of(views)[:, 0]
    assert known["smallest"].tolist() == [1000, 0]
    assert known["sum"][1] > 100


@pytest.mark.parametrize("features", EACH, ids=str)
@pytest.mark.parametrize("box", [POINTS, PICTURES], ids=str)
def test_counts_go_on_from_a_file_as_if_nothing_had_happened(features, box, tmp_path):
    views = points(200) if box is POINTS else np.random.default_rng(0).integers(0, 255, (200, *box.shape), np.uint8)
    if isinstance(features, Prototypes):
        features = Prototypes(size=50)  # so that it overflows
    exploration, again = (Exploration(box, TWO, counter=EValues(0.9), features=features) for _ in range(2))
    walk(exploration, 200, views, 300)
    exploration.save(tmp_path / "counts.npz")
    again.load(tmp_path / "counts.npz")
    assert walk(exploration, 200, views, 200, seed=1)[1] == walk(again, 200, views, 200, seed=1)[1]
    np.testing.assert_array_equal(exploration.counts.of(views), again.counts.of(views))
    assert "400 steps" not in repr(dorax.diagnose(again))
    assert "500 steps" in repr(dorax.diagnose(again))
    other = Exploration(box, TWO, counter=EValues(0.9), features=Table())
    with pytest.raises(dorax.InvalidInput, match="was saved for features"):
        other.load(tmp_path / "counts.npz")


def test_hashed_codes_depend_on_the_seed_and_a_file_knows_which(tmp_path):
    one, other = (Exploration(POINTS, TWO, features=HashedCodes(), seed=seed) for seed in (0, 1))
    one.save(tmp_path / "counts.npz")
    with pytest.raises(dorax.InvalidInput, match="was saved for seed: 0"):
        other.load(tmp_path / "counts.npz")


@pytest.mark.parametrize("features", [HashedCodes(), Prototypes(size=2)], ids=str)
def test_in_a_finite_space_every_state_has_an_entry(features):
    counts = GeneralizedCounts(spaces.Discrete(30), TWO, counter=Visits(), features=features)
    counts.begin(0)
    for state in range(1, 30):
        counts.visit(0, state, False, False)
    counts.begin(0)
    np.testing.assert_array_equal(counts.of(range(29))[:, 0], np.ones(29))


@pytest.mark.parametrize("features", EACH, ids=str)
def test_wrapped_environments_take_them(features):
    env = dorax.EValueBonus(gymnasium.make("CartPole-v1"), features=features)
    envs = dorax.VectorEValueBonus(gymnasium.make_vec("CartPole-v1", 3), features=features)
    env.reset(seed=0)
    envs.reset(seed=0)
    vector_bonuses = np.zeros(3)
    for _ in range(20):
        _, reward, terminated, truncated, info = env.step(0)
        assert reward == info["true_reward"] + info["bonus"]
        if terminated or truncated:
            env.reset()
        vector_bonuses += envs.step(np.zeros(3, int))[-1]["bonus"]
    assert (vector_bonuses > 0).all()
    env.close()
    envs.close()


@pytest.mark.parametrize("features", EACH, ids=str)
def test_an_observation_of_another_shape_is_refused(features):
    with pytest.raises(dorax.InvalidInput, match="has the shape"):
        GeneralizedCounts(POINTS, TWO, features=features).begin(np.zeros(15))


def test_unknown_ways_to_count_are_refused():
    with pytest.raises(dorax.InvalidInput, match="allowed: 'sum', 'smallest'"):
        KWinners(counts="mean")  # pyright: ignore[reportArgumentType]
    with pytest.raises(dorax.InvalidInput, match="and tuples and dictionaries of them"):
        GeneralizedCounts(spaces.Sequence(POINTS), TWO, features=Prototypes())
