"""One learner in a simulated environment, tick by tick.

A tick is one step:

    the rule chooses a' in s'  |  (s, a) learns from (s', a')  |  the environment moves on by a'

An episode's end is followed by one tick without learning, which starts the next one.
Every so many training episodes a lane plays a greedy one, from which nothing is learned.
A learner is any module with these methods, all for one lane:

    initial(key) -> memory                  all that it will ever change
    view(memory, observation) -> View       values and counts of the actions there
    choose(view, steps, uniform) -> action
    learned(memory, transition, learns) -> memory
    improved(memory, key, learns) -> memory.changing    every `update_every` ticks, unless that is None
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

_SLACK = 1e-5  # of the declared range: rounding is not a violation


class View(NamedTuple):
    """What a learner makes of an observation: features, and by action values, counts and what they come from."""

    features: jax.Array
    values: jax.Array
    counts: jax.Array
    outputs: jax.Array


class Transition(NamedTuple):
    """One step, and the action that will be taken next, chosen before anything is learned from it."""

    features: jax.Array
    action: jax.Array
    reward: jax.Array
    is_terminal: jax.Array
    next_view: View
    next_action: jax.Array


class Arrival(NamedTuple):
    """What the last step led to; or, where an episode starts, its first moment."""

    world: Any
    observation: jax.Array
    reward: jax.Array
    terminated: jax.Array
    truncated: jax.Array
    is_start: jax.Array


class Limits(NamedTuple):
    """When a lane pauses (episodes) or is done (steps)."""

    episodes: jax.Array
    steps: jax.Array


class Lane(NamedTuple):
    """One learner in its environment: where it came from and arrived, what it knows, what it has recorded."""

    previous: jax.Array
    features: jax.Array
    action: jax.Array
    arrival: Arrival
    is_testing: jax.Array
    is_running: jax.Array
    memory: Any
    block: jax.Array
    episode: jax.Array
    steps: jax.Array
    length: jax.Array
    total_reward: jax.Array
    records: jax.Array  # episodes x (return, length)
    tests: jax.Array | None  # tests x (return, length)
    visits: jax.Array | None  # how often each bin of the observation space was met in training
    offence: jax.Array  # the first observation and reward that nothing can be learned from, else zeros
    is_broken: jax.Array


class Scene(NamedTuple):
    """The environment and how its episodes are recorded; all of it structure, none of it traced."""

    env: Any
    low: tuple[float, ...]
    high: tuple[float, ...]
    episodes: int
    test_every: int | None
    bins: tuple[int, ...] | None

    @property
    def tests(self) -> int:
        return 0 if self.test_every is None else self.episodes // self.test_every

    def bin_of(self, observation: jax.Array) -> tuple[jax.Array, ...]:
        low, high, bins = np.asarray(self.low), np.asarray(self.high), np.asarray(self.bins)
        index = jnp.floor((observation - low) / (high - low) * bins).astype(jnp.int32)
        return tuple(jnp.clip(index, 0, bins - 1))


class Draws(NamedTuple):
    """What chance gives a lane at every tick: a number for the rule, a key for the world, a start if it needs one."""

    uniform: jax.Array
    key: jax.Array
    start: tuple[jax.Array, Any]


def new_lane(learner: Any, params: Any, key: jax.Array, is_running: jax.Array, scene: Scene) -> Lane:
    """A learner that knows nothing, at the start of its first episode."""
    start_key, learner_key = jax.random.split(jax.random.fold_in(key, 2**32 - 1))
    start = scene.env.reset_env(start_key, params)
    memory = learner.initial(learner_key)
    arrival = _started(start)
    zero, no = jnp.zeros((), jnp.int32), jnp.zeros((), bool)
    return Lane(
        previous=arrival.observation,
        features=learner.view(memory, arrival.observation).features,
        action=zero,
        arrival=arrival,
        is_testing=no,
        is_running=is_running,
        memory=memory,
        block=zero,
        episode=zero,
        steps=zero,
        length=zero,
        total_reward=jnp.zeros(()),
        records=jnp.full((scene.episodes, 2), jnp.nan),
        tests=None if scene.test_every is None else jnp.full((scene.tests, 2), jnp.nan),
        visits=None if scene.bins is None else jnp.zeros(scene.bins, jnp.int32),
        offence=jnp.zeros(len(scene.low) + 1),
        is_broken=no,
    )


def tick(learner: Any, scene: Scene, params: Any, limits: Limits, lane: Lane, draws: Draws) -> Lane:
    """One lane: it looks at where it arrived, chooses, learns from the step that led there, and moves on."""
    _, here, reward, terminated, truncated, is_start = lane.arrival
    moved = lane.is_running & ~is_start
    is_ending = moved & (terminated | truncated)
    learns = moved & ~lane.is_testing
    steps = lane.steps + learns

    is_broken = lane.is_running & ~(_is_within(here, scene) & jnp.isfinite(reward))
    view = learner.view(lane.memory, here)
    action = learner.choose(view, steps, draws.uniform).astype(jnp.int32)
    if scene.test_every is not None:
        action = jnp.where(lane.is_testing, jnp.argmax(view.values).astype(jnp.int32), action)
    transition = Transition(lane.features, lane.action, reward, terminated, view, action)
    memory = learner.learned(lane.memory, transition, learns & ~is_broken)

    length = lane.length + moved
    total_reward = lane.total_reward + jnp.where(moved, reward, 0.0)
    row = jnp.stack([total_reward, length.astype(total_reward.dtype)])
    # The running episode's row is rewritten until it is over; past the last row nothing is.
    records = lane.records.at[jnp.where(learns, lane.episode, scene.episodes)].set(row, mode="drop")
    episode = lane.episode + (is_ending & ~lane.is_testing)
    tests, is_testing = lane.tests, lane.is_testing
    if scene.test_every is not None and tests is not None:
        at = jnp.where(moved & lane.is_testing, lane.episode // scene.test_every - 1, scene.tests)
        tests = tests.at[at].set(row, mode="drop")
        is_due = ~lane.is_testing & (episode % scene.test_every == 0)
        is_testing = jnp.where(is_ending, is_due, lane.is_testing)
    visits = lane.visits
    if visits is not None:
        visits = visits.at[scene.bin_of(lane.previous)].add(learns.astype(jnp.int32))
    is_pausing = is_ending & ~is_testing & (episode >= limits.episodes)
    return Lane(
        previous=here,
        features=view.features,
        action=action,
        arrival=_moved(scene.env, params, lane, action, is_ending, draws),
        is_testing=is_testing,
        is_running=lane.is_running & ~is_pausing & (steps < limits.steps) & ~is_broken,
        memory=memory,
        block=lane.block,
        episode=episode,
        steps=steps,
        length=jnp.where(is_ending, 0, length),
        total_reward=jnp.where(is_ending, 0.0, total_reward),
        records=records,
        tests=tests,
        visits=visits,
        offence=jnp.where(is_broken & ~lane.is_broken, jnp.append(here, reward), lane.offence),
        is_broken=lane.is_broken | is_broken,
    )


def _moved(env: Any, params: Any, lane: Lane, action: jax.Array, is_ending: jax.Array, draws: Draws) -> Arrival:
    """The world one step on, or at the start of the next episode; of a lane that rests, as it was."""
    here, world, reward, terminated, _ = env.step_env(draws.key, lane.arrival.world, action, params)
    moved = Arrival(world, here, reward, terminated, env.is_truncated(world, params), jnp.zeros((), bool))

    def kept(old: Any, start: Any, new: Any) -> Any:
        return jnp.where(lane.is_running, jnp.where(is_ending, start, jnp.asarray(new, old.dtype)), old)

    return jax.tree.map(kept, lane.arrival, _started(draws.start), moved)


def _started(start: tuple[jax.Array, Any]) -> Arrival:
    observation, world = start
    no = jnp.zeros((), bool)
    return Arrival(world, observation, jnp.zeros(()), no, no, ~no)


def _is_within(observation: jax.Array, scene: Scene) -> jax.Array:
    """Numbers, and inside the declared bounds but for rounding."""
    low, high = np.asarray(scene.low), np.asarray(scene.high)
    slack = _SLACK * np.where(np.isfinite(low) & np.isfinite(high), high - low, 0.0)
    return jnp.all(jnp.isfinite(observation) & (observation >= low - slack) & (observation <= high + slack))
