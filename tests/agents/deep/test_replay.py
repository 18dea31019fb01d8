"""Replay: what is kept, what is overwritten, and how evenly it is drawn from."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from dorax.agents.deep.replay import Transition, added, empty, sample

CAPACITY = 10
NOTHING = Transition(jnp.zeros(2), jnp.int32(0), jnp.zeros(()), jnp.asarray(False), jnp.zeros(2), jnp.int32(0))


def numbered(i):
    """A step that tells its number in every part."""
    observation, terminated = jnp.full(2, i, float), jnp.asarray(i % 2 == 1)
    return Transition(observation, jnp.int32(i), jnp.float32(i), terminated, -observation, i)


@jax.jit
def filled(steps):
    """A replay to which the steps 1, 2, ... were added."""
    always = jnp.asarray(True)
    return jax.lax.fori_loop(
        1, steps + 1, lambda i, replay: added(replay, numbered(i), always), empty(NOTHING, CAPACITY)
    )


@pytest.mark.parametrize("steps", [0, 1, 9, 10, 11, 25])
def test_a_ring_holds_the_latest_steps_whole_and_has_overwritten_the_oldest(steps):
    replay = filled(steps)
    assert (replay.capacity, int(replay.size), int(replay.added)) == (CAPACITY, min(steps, CAPACITY), steps)
    kept = np.asarray(replay.steps.action)[: int(replay.size)]
    assert sorted(kept.tolist()) == list(range(max(steps - CAPACITY, 0) + 1, steps + 1))
    for part, expected in zip(replay.steps, jax.vmap(numbered)(jnp.asarray(kept)), strict=True):
        np.testing.assert_array_equal(part[: len(kept)], expected)


@pytest.mark.parametrize("steps", [0, 4, 25])
def test_a_step_that_is_not_wanted_leaves_the_ring_as_it_was(steps):
    before = filled(steps)
    after = jax.jit(added)(before, numbered(99), jnp.asarray(False))
    jax.tree.map(np.testing.assert_array_equal, before, after)


def test_parts_keep_their_types():
    parts = zip(filled(3).steps, NOTHING, strict=True)
    assert all(kept.dtype == jnp.asarray(part).dtype for kept, part in parts)


@pytest.mark.parametrize("steps", [1, 3, 10, 25])
def test_a_batch_is_drawn_evenly_from_what_is_there_and_never_from_empty_room(steps):
    batch = jax.jit(sample, static_argnums=2)(filled(steps), jax.random.key(0), 5000)
    there = range(max(steps - CAPACITY, 0) + 1, steps + 1)
    times = [int((batch.action == i).sum()) for i in there]
    assert sum(times) == 5000
    if len(times) > 1:
        assert stats.chisquare(times).pvalue > 0.001
    jax.tree.map(np.testing.assert_array_equal, batch, jax.vmap(numbered)(batch.action))


def test_other_keys_draw_other_batches():
    draw = jax.jit(lambda key: sample(filled(10), key, 20).action)
    assert len(np.unique([draw(jax.random.key(i)) for i in range(10)], axis=0)) == 10
