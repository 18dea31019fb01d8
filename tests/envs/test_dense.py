"""A dense view is the MDP that it is a view of, seen through a map and beside noise."""

from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dorax import mdps
from dorax.envs import DenseView, from_gymnax
from dorax.envs.playable import playable
from dorax.envs.simulation import FunctionalDraw, environments

DIMS, NOISE_INPUTS = 64, 16


def points_of(view):
    return np.asarray(view.default_params.points)


def walk(mdp, actions):
    """Follow the actions in a deterministic MDP: states after each, rewards, whether the episode terminated."""
    state, states, rewards, ends = int(np.argmax(mdp.start)), [], [], []
    for action in actions:
        rewards.append(mdp.reward[state, action, 0])
        ends.append(bool(mdp.terminal[state, action, 0]))
        state = int(mdp.successor[state, action, 0])
        states.append(state)
    return np.array(states), np.array(rewards), np.array(ends)


@pytest.mark.parametrize("seed", range(3))
def test_an_episode_is_a_walk_through_the_mdp(seed):
    mdp = mdps.deep_sea(7, seed)
    view, actions = DenseView(mdp, seed + 10), np.random.default_rng(seed).integers(2, size=7)
    states, rewards, ends = walk(mdp, actions)
    points = points_of(view)
    observation, state = view.reset(jax.random.key(seed))
    np.testing.assert_array_equal(observation[:DIMS], points[0])
    for time, action in enumerate(actions):
        *_, reward, terminated, truncated, info = view.step(jax.random.key(time), state, action)
        observation = info["final_observation"]
        state = view.step_env(jax.random.key(time), state, action, view.default_params)[1]
        np.testing.assert_allclose(reward, rewards[time], rtol=1e-6)
        assert (bool(terminated), bool(truncated)) == (ends[time], time == 6)
        # A terminal state is not one of the MDP's: nothing but noise is seen of it.
        np.testing.assert_array_equal(observation[:DIMS], 0 if ends[time] else points[states[time]])
        assert np.all(observation[DIMS:] != 0)


def test_random_moves_and_rewards_have_the_probabilities_of_the_mdp():
    mdp = mdps.deep_sea(5, 2, is_stochastic=True)
    view, draws = DenseView(mdp), 20_000
    params, right = view.default_params, int(np.argmin(mdp.reward[0, :, 0]))
    keys = jax.random.split(jax.random.key(0), draws)
    _, start = view.reset(jax.random.key(0))
    moved = jax.vmap(view.step_env, in_axes=(0, None, None, None))(keys, start, right, params)[1].number
    assert set(np.unique(moved).tolist()) == {5, 6}
    # It fails with probability 1/5; five standard deviations of a share of 20 000 draws.
    assert np.mean(np.asarray(moved) == 5) == pytest.approx(0.2, abs=5 * (0.2 * 0.8 / draws) ** 0.5)
    last = start._replace(number=jnp.int32(24), time=jnp.int32(4))
    rewards = jax.vmap(view.step_env, in_axes=(0, None, None, None))(keys, last, 0, params)[2]
    np.testing.assert_allclose(np.unique(rewards), np.sort(mdp.reward[24, 0]), rtol=1e-6)
    assert np.mean(np.asarray(rewards) > 0) == pytest.approx(0.5, abs=5 * 0.5 / draws**0.5)


@pytest.mark.parametrize("noise", [0.0, 1.0, 2.0])
def test_squared_distances_of_views_are_what_the_noise_and_the_map_make_them(noise):
    """The difference of two normal numbers of variance v has variance 2v, so 16 noise inputs are 32 noise² apart; the
    64 numbers that stand for a state are 128 apart from those of another."""
    view = DenseView(mdps.deep_sea(20, 0), 1, noise=noise)
    params = view.default_params

    def seen(key):
        return view.reset_env(key, params)[0]

    one, other = (jax.vmap(seen)(jax.random.split(jax.random.key(i), 5000)) for i in range(2))
    of_one_state = np.sum(np.square(one - other), axis=1)
    # A sum of 16 squares has variance 2 · 16 · (2 noise²)²; five standard deviations of the mean of 5000.
    tolerance = 5 * (2 * NOISE_INPUTS) ** 0.5 * 2 * noise**2 / 5000**0.5
    assert of_one_state.mean() == pytest.approx(2 * NOISE_INPUTS * noise**2, abs=tolerance)
    points = points_of(view)
    gram = points @ points.T
    lengths = np.diag(gram)
    distances = (lengths[:, None] + lengths - 2 * gram)[~np.eye(len(points), dtype=bool)]
    assert distances.mean() == pytest.approx(2 * DIMS, rel=0.05)
    assert distances.min() > 2 * NOISE_INPUTS  # so a threshold between the two tells states apart, at noise 1


def test_every_observation_has_new_noise():
    view = DenseView(mdps.river_swim())
    params = view.default_params
    _, state = view.reset(jax.random.key(0))
    one, other = (view.step_env(jax.random.key(i), state, 0, params) for i in range(2))
    assert int(one[1].number) == int(other[1].number)
    np.testing.assert_array_equal(one[0][:DIMS], other[0][:DIMS])
    assert np.all(one[0][DIMS:] != other[0][DIMS:])


def test_the_seed_decides_the_map_and_the_mdp_decides_the_moves():
    sea = mdps.deep_sea(5, 0)
    np.testing.assert_array_equal(points_of(DenseView(sea, 4)), points_of(DenseView(mdps.deep_sea(5, 1), 4)))
    assert np.all(points_of(DenseView(sea, 4)) != points_of(DenseView(sea, 5)))
    first, second = DenseView(sea, 4), DenseView(sea, 5)
    assert first.structure == second.structure
    # Equal structures share a compiled program, which must not fix the parameters of the first one.
    assert np.all(first.reset(jax.random.key(0))[0][:DIMS] != second.reset(jax.random.key(0))[0][:DIMS])


def test_views_of_different_seeds_are_one_program_with_numbers_of_their_own():
    views = [DenseView(mdps.deep_sea(6, seed), seed, noise=seed + 1.0) for seed in range(3)]
    found = environments(views, None, 3)
    assert found.spec.size == (2, None, (-np.inf,) * 80, (np.inf,) * 80, None)
    for i, view in enumerate(views):
        lane: Any = eqx.combine(found.shared, jax.tree.map(lambda leaf, i=i: jnp.asarray(leaf[i]), found.own))
        key = jax.random.key(i)
        here, state = lane.reset(FunctionalDraw(key, view.reset_env(key, view.default_params)))
        reached, _, reward, *_ = lane.step(FunctionalDraw(key, cast("Any", None)), state, jnp.int32(1))
        expected, _, expected_reward, *_ = view.step_env(key, state, 1, view.default_params)
        np.testing.assert_array_equal(here[:DIMS], points_of(view)[0])
        np.testing.assert_allclose(reached, expected, rtol=1e-6)
        assert reward == expected_reward


def test_a_view_of_another_size_is_another_program(refused):
    views = [DenseView(mdps.deep_sea(size)) for size in (5, 6)]
    with refused("differ in kind or size"):
        environments(views, None, 2)


def test_the_mdp_s_time_limit_truncates():
    played = playable(DenseView(mdps.river_swim()))
    played.reset(seed=0)
    for time in range(20):
        observation, _, terminated, truncated, _ = played.step(1)
        assert (terminated, truncated) == (False, time == 19)
        assert observation.shape == (DIMS + NOISE_INPUTS,)
        assert observation in played.observation_space


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"mdp": "deep_sea"}, "mdp is 'deep_sea'"),
        ({"mdp": mdps.tree(3)}, "tree(3), where some states lack actions"),
        ({"noise": -1.0}, "noise is -1.0"),
        ({"noise": np.inf}, "noise is inf"),
        ({"noise_inputs": -1}, "noise_inputs is -1"),
        ({"dims": 0}, "dims is 0"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_impossible_views_are_refused(changed, words, refused):
    with refused(words):
        DenseView(**({"mdp": mdps.deep_sea(4)} | changed))


@pytest.mark.parametrize("size", [3, 8])
def test_the_deep_sea_is_gymnax_s(size):
    """On the same ways, each by the actions that go there, cells, rewards and ends agree."""
    pytest.importorskip("gymnax")
    theirs = from_gymnax("DeepSea-bsuite", size=size)
    params, mdp = theirs.default_params, mdps.deep_sea(size, 5)
    view = DenseView(mdp)
    points, step, their_step = points_of(view), jax.jit(view.step_env), jax.jit(theirs.step_env)
    right = np.argmin(mdp.reward[..., 0], axis=1)
    right[-1] = np.argmax(mdp.reward[-1, :, 0])
    ways = [np.ones(size, int), *np.random.default_rng(0).integers(2, size=(5, size))]
    for way in ways:
        end = False
        observation, state = view.reset(jax.random.key(0))
        their_observation, their_state = theirs.reset_env(jax.random.key(0), params)
        for goes_right in way:
            cell = int(np.argmax(np.asarray(their_observation)))
            np.testing.assert_array_equal(observation[:DIMS], points[cell])
            mapped = int(their_state.action_mapping.reshape(-1)[cell])
            action, their_action = (int(a if goes_right else 1 - a) for a in (right[cell], mapped))
            observation, state, reward, end, _ = step(jax.random.key(1), state, action, view.default_params)
            their_observation, their_state, their_reward, their_end, _ = their_step(
                jax.random.key(1), their_state, their_action, params
            )
            assert float(reward) == pytest.approx(float(their_reward), abs=1e-6)
            assert bool(end) == bool(their_end)
        assert bool(end)
