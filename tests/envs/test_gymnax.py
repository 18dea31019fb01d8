"""Environments of gymnax, by name."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dorax.envs import from_gymnax, with_params
from dorax.envs.playable import SimulatedEnv
from dorax.envs.simulation import environments

gymnax = pytest.importorskip("gymnax")
GAMES = {  # channels, actions, time limit
    "Asterix-MinAtar": (4, 5, 1000),
    "Breakout-MinAtar": (4, 3, 1000),
    "Freeway-MinAtar": (7, 3, 2500),
    "Seaquest-MinAtar": (10, 6, 1000),
    "SpaceInvaders-MinAtar": (6, 4, 1000),
}


@pytest.mark.parametrize("name", GAMES)
def test_a_game_of_minatar_is_a_simulation_of_flat_pictures(name):
    channels, actions, limit = GAMES[name]
    found = environments(from_gymnax(name), None, 1)
    size = 100 * channels
    assert found.spec.shape == (10, 10, channels)
    assert (found.spec.name, found.spec.actions) == (name, actions)
    assert found.spec.low == (0.0,) * size
    assert found.spec.high == (1.0,) * size
    assert int(found.shared.params.max_steps_in_episode) == limit

    def played(key):
        draw = jax.tree.map(lambda leaf: leaf[0], found.shared.draws(key, jnp.int32(0)).world)
        here, state = found.shared.reset(draw)
        return (here, state), found.shared.step(draw, state, jnp.int32(0))

    (start, state), (here, reached, reward, terminated, truncated) = jax.eval_shape(played, jax.random.key(0))
    assert start.shape == here.shape == (size,)
    assert here.dtype == reward.dtype == jnp.float32
    assert terminated.dtype == truncated.dtype == bool
    # A game is carried through a loop, so its state must not change its kind.
    for before, after in zip(jax.tree.leaves(state), jax.tree.leaves(reached), strict=True):
        assert (before.shape, before.dtype) == (after.shape, after.dtype)


def test_a_lost_ball_terminates_and_the_time_limit_truncates():
    breakout = from_gymnax("Breakout-MinAtar")
    played = SimulatedEnv(breakout)
    observation, _ = played.reset(seed=0)
    paddle = int(np.argmax(observation[9, :, 0]))
    ends = []
    while not any(ends):  # the ball starts at a wall and the paddle in the middle, so standing still loses it at once
        observation, _, *ends, _ = played.step(0)
    assert ends == [True, False]
    assert paddle == 4
    played = SimulatedEnv(with_params(breakout, max_steps_in_episode=2))
    played.reset(seed=0)
    assert [played.step(0)[2:4] for _ in range(2)] == [(False, False), (False, True)]


def test_a_game_is_drawn_with_a_colour_for_every_channel():
    played = SimulatedEnv(from_gymnax("Breakout-MinAtar"), render_mode="rgb_array")
    observation, _ = played.reset(seed=0)
    picture = played.render()
    assert picture.shape == (200, 200, 3)
    cells = picture[::20, ::20]
    colours = {tuple(cells[tuple(np.argwhere(observation[..., channel])[0])]) for channel in (0, 1, 3)}
    assert len(colours) == 3
    assert (cells[~observation.any(axis=2)] == 0).all()
    assert (cells[observation.any(axis=2)] != 0).any(axis=1).all()


def test_the_same_name_and_options_are_the_same_object():
    assert from_gymnax("Freeway-MinAtar") is from_gymnax("Freeway-MinAtar")
    both = [from_gymnax("DeepSea-bsuite", size=size) for size in (4, 5)]
    assert environments(both[0], None, 1).spec.shape == (4, 4, 1)
    assert environments(both[1], None, 1).spec.shape == (5, 5, 1)


def test_unknown_names_and_options_are_refused(refused):
    with refused("'freeway-minatar'", "did you mean Freeway-MinAtar?"):
        from_gymnax("freeway-minatar")
    with refused("'zzz'", "a name in gymnax.registered_envs"):
        from_gymnax("zzz")
    with refused("options of Freeway-MinAtar", "rows"):
        from_gymnax("Freeway-MinAtar", rows=3)


def test_a_missing_package_is_named_with_what_installs_it(monkeypatch):
    from dorax import InvalidInput

    monkeypatch.setitem(sys.modules, "gymnax", None)
    with pytest.raises(InvalidInput) as caught:
        from_gymnax("Freeway-MinAtar")
    assert str(caught.value) == "gymnax is not installed; install it with pip install 'dorax[worlds]'"
