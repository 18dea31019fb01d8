"""Worlds that parallel agents learn in (pictures, dense views, the car, the acrobot) and worlds that they refuse."""

from typing import Any, NamedTuple

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dorax
from dorax import LLL, EpsilonGreedy, EValues, ParallelAgent, Softmax, Visits, envs, mdps
from dorax.envs.functional import FunctionalEnv
from dorax.envs.simulation import environments

E_VALUES = EValues(0.99, learning_rate=0.5)
ROWS, COLUMNS, CHANNELS = 3, 5, 2


def small(**changed):
    """Make an agent that compiles and runs quickly."""
    options = {"rule": LLL(Softmax(0.05)), "counter": E_VALUES, "games": 16, "width": 32, "rollout": 16}
    return ParallelAgent(**(options | changed))


class WalkState(NamedTuple):
    column: jax.Array
    time: jax.Array


class WalkParams(NamedTuple):
    max_steps_in_episode: int = 12


class Walk(FunctionalEnv):
    """A picture of a walker in the first channel and of its goal, at the right end, in the second one."""

    kind: Any = eqx.field(default=bool, static=True)

    @property
    def default_params(self):
        return WalkParams()

    def reset_env(self, key, params):
        del key, params
        state = WalkState(jnp.int32(0), jnp.int32(0))
        return self._picture(state), state

    def step_env(self, key, state, action, params):
        del key, params
        column = jnp.clip(state.column + jnp.where(action == 1, 1, -1), 0, COLUMNS - 1)
        state = WalkState(column, state.time + 1)
        is_there = column == COLUMNS - 1
        return self._picture(state), state, is_there.astype(float), is_there, {}

    def observation_space(self, params) -> Any:
        return gymnasium.spaces.Box(0, 1, (ROWS, COLUMNS, CHANNELS), self.kind)

    def action_space(self, params):
        return gymnasium.spaces.Discrete(2)

    def _picture(self, state):
        picture = jnp.zeros((ROWS, COLUMNS, CHANNELS), self.kind)
        return picture.at[1, state.column, 0].set(True).at[1, COLUMNS - 1, 1].set(True)


@pytest.fixture(scope="module")
def trained():
    return dorax.train(small(learning_rate=2e-3), Walk(), steps=16_000)


def picture_at(column):
    picture = np.zeros((ROWS, COLUMNS, CHANNELS), bool)
    picture[1, column, 0] = picture[1, COLUMNS - 1, 1] = True
    return picture


def test_pictures_are_learned_from(trained):
    assert np.nanmean(trained.data.greedy_return.values[:, -20:]) == 1
    learner = trained.learner()
    values = np.array([learner.q(picture_at(column)) for column in range(COLUMNS - 1)])
    assert (values.argmax(axis=1) == 1).all()
    # Nearer to the goal is worth more: discount 0.99 for each step.
    np.testing.assert_allclose(values.max(axis=1), 0.99 ** np.arange(COLUMNS - 2, -1, -1), atol=0.03)


def test_pictures_are_seen_through_filters(trained):
    """16 filters of 3 × 3 × channels with a bias and a gain each, at every place; then two layers, then the values."""
    places, width = (ROWS - 2) * (COLUMNS - 2), 32
    filters = 16 * (9 * CHANNELS + 2)
    layers = width * (16 * places + 2) + width * (width + 2)
    assert trained.data.attrs["parameters"] == filters + layers + 2 * (width + 1)


def test_all_states_of_pictures_are_counted_apart(trained):
    learner = trained.learner()
    counts = np.array([learner.counts(picture_at(column)) for column in range(COLUMNS - 1)])
    assert (counts > 0).all()
    book = trained.trained[0, 0].memory.explorers[0].book
    assert int(book.size) == COLUMNS  # with the goal, at which nothing is counted


def test_a_learner_takes_a_picture_or_its_numbers_in_a_row(trained):
    learner, picture = trained.learner(), picture_at(2)
    for function in (learner.q, learner.counts):
        np.testing.assert_array_equal(function(picture), function(picture.ravel().astype(np.float32)))
    for wrong in (picture[..., 0], picture.transpose(1, 0, 2), np.zeros(29)):
        with pytest.raises(dorax.InvalidInput, match=r"allowed: \(3, 5, 2\), as of Walk"):
            learner.q(wrong)


def test_a_learner_of_pictures_is_saved_evaluated_played_and_trained_further(trained, tmp_path):
    learner = trained.learner()
    learner.save(tmp_path / "learner.npz")
    again = dorax.load(tmp_path / "learner.npz")
    assert again.spec.shape == (ROWS, COLUMNS, CHANNELS)
    assert again.spec.size == learner.spec.size
    np.testing.assert_array_equal(again.q(picture_at(1)), learner.q(picture_at(1)))
    np.testing.assert_array_equal(dorax.evaluate(again, Walk(), 2), 1)
    assert dorax.play(again, Walk(), tmp_path / "film.gif") == 1
    assert (tmp_path / "film.gif").stat().st_size > 0
    observed = again.steps
    again.observe(picture_at(0), again.act(picture_at(0)), 0.0, picture_at(1), False)
    assert again.steps == observed + 1


@pytest.mark.parametrize("kind", [bool, np.uint8, np.float32])
def test_pictures_of_any_kind_of_number_are_vectors_of_floats_in_the_engine(kind):
    found = environments(Walk(kind), None, 1)
    draw = jax.tree.map(lambda leaf: leaf[0], found.shared.draws(jax.random.key(0), jnp.int32(0)).world)
    here, state = found.shared.reset(draw)
    reached = found.shared.step(draw, state, jnp.int32(1))[0]
    for observation, column in ((here, 0), (reached, 1)):
        assert observation.dtype == jnp.float32
        np.testing.assert_array_equal(observation, picture_at(column).ravel())
    assert found.spec.low == (0.0,) * 30
    assert found.spec.high == (1.0,) * 30


@pytest.mark.parametrize("agent", [
    dorax.LinearAgent(LLL(Softmax(0.1)), Visits(), features=dorax.Tiles(4)),
    dorax.DeepAgent(EpsilonGreedy(0.1)),
])  # fmt: skip
def test_agents_without_filters_refuse_pictures(agent, refused):
    name = type(agent).__name__
    with refused(f"the observations for a {name} are pictures of shape (3, 5, 2)", "ParallelAgent"):
        dorax.train(agent, Walk(), steps=100)


class Odd(Walk):
    """A walk with other spaces or other observations."""

    space: Any = eqx.field(default=None, static=True)
    actions: Any = eqx.field(default=None, static=True)
    shows: Any = eqx.field(default=None, static=True)

    def observation_space(self, params):
        return super().observation_space(params) if self.space is None else self.space

    def action_space(self, params):
        return super().action_space(params) if self.actions is None else self.actions

    def _picture(self, state):
        seen = super()._picture(state)
        return seen if self.shows is None else self.shows(seen)


BOX = gymnasium.spaces.Box(-1, 1, (2,))


@pytest.mark.parametrize(("changed", "words"), [
    ({"actions": BOX}, "the action space of Odd is Box(-1.0, 1.0, (2,), float32)"),
    ({"space": gymnasium.spaces.Dict(a=BOX)}, "the observation space of Odd is Dict('a'"),
    ({"space": gymnasium.spaces.Tuple([BOX])}, "the observation space of Odd is Tuple("),
    ({"space": gymnasium.spaces.Box(0, 1, (2, 9, 1))}, "pictures from 3 × 3 on"),
    ({"space": gymnasium.spaces.Box(0, 1, (1, 4, 4, 1))}, "(1, 4, 4, 1)"),
    ({"shows": lambda seen: {"seen": seen}}, "an observation of Odd is {'seen'"),
    ({"shows": lambda seen: (seen, seen)}, "an observation of Odd is (ShapeDtypeStruct("),
    ({"shows": lambda seen: seen[..., 0]}, "an array of shape (3, 5, 2)"),
])  # fmt: skip
def test_worlds_that_it_cannot_play_are_refused_before_compilation(changed, words, refused, monkeypatch):
    monkeypatch.setattr("dorax.engine.compiled.run_blocks", lambda *_, **__: pytest.fail("a program was compiled"))
    with refused(words):
        dorax.train(small(), Odd(**changed), steps=100)


def test_too_few_games_for_a_greedy_share_are_refused(refused):
    with refused("greedy_share is 0.25 of 1 games", "or 0"):
        small(games=1)
    assert small(games=1, greedy_share=0.0).greedy_games == 0


def test_pictures_without_channels_have_one():
    plain = Odd(space=gymnasium.spaces.Box(0, 1, (3, 5)), shows=lambda seen: seen[..., 0])
    found = environments(plain, None, 1)
    assert (found.spec.shape, len(found.spec.low or ())) == ((3, 5, 1), 15)
    learner = small().learner(found.spec)
    np.testing.assert_array_equal(learner.q(picture_at(1)[..., 0]), learner.q(picture_at(1)[..., :1]))


@pytest.mark.slow
def test_every_seed_can_have_a_dense_sea_of_its_own():
    seas = [envs.DenseView(mdps.deep_sea(5, seed), seed) for seed in range(2)]
    both = dorax.train(small(), seas, steps=6000, seeds=2, learners=[1])
    alone = dorax.train(small(), seas[1], steps=6000, seeds=[1])
    np.testing.assert_array_equal(both.data["return"].sel(seed=1), alone.data["return"].sel(seed=1))
    assert (np.nanmean(both.data.greedy_return.values[:, -20:], axis=1) > 0.9).all()
    np.testing.assert_allclose(dorax.evaluate(both.learner(1), seas[1], 2), 0.99, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("make", "limit"), [(envs.SparseMountainCar, 500), (envs.SparseAcrobot, 60)])
def test_classics_are_played_up_to_a_limit_of_one_s_own(make, limit):
    env = envs.with_params(make(), max_steps_in_episode=limit)
    data = dorax.train(small(takes_turns=False), env, steps=12_000).data
    lengths = data["length"].values[np.isfinite(data["length"].values)]
    assert lengths.max() == limit
    np.testing.assert_array_equal(data["return"].values[data["length"].values < limit], 1)


@pytest.mark.slow
def test_breakout_is_played():
    """A few thousand steps are too few to learn it; games are won and lost, and values are finite."""
    pytest.importorskip("gymnax")
    breakout = envs.from_gymnax("Breakout-MinAtar")
    result = dorax.train(small(), breakout, steps=8000)
    returns = result.data["return"].values[0]
    returns = returns[np.isfinite(returns)]
    assert len(returns) > 100
    assert 0 < returns.mean() < 20
    learner = result.learner()
    assert np.isfinite(learner.q(np.zeros((10, 10, 4)))).all()
    assert dorax.evaluate(learner, breakout, 1).shape == (1,)
