"""The engine for simulated environments: many learners, each in its own copy of one.

A tick moves every lane by one step, so lanes in long episodes never wait for others:

    the rule chooses a' in s'  |  (s, a) learns from (s', a')  |  the environment moves on by a'

An episode's end is followed by one tick without learning, which starts the next one.
Every so many training episodes a lane plays a greedy one, from which nothing is learned.
A learner is any module with these methods, all for one lane:

    initial(key) -> memory                  all that it will ever change
    view(memory, observation) -> View       values and counts of the actions there
    choose(view, steps, uniform) -> action
    learned(memory, transition, learns) -> memory
    improved(memory, key, learns) -> memory.changing    every `update_every` ticks, unless that is None

Random numbers of a lane depend on its seed and on its own blocks of ticks alone.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

BLOCK = 256  # ticks whose random numbers are drawn together
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


class Program(NamedTuple):
    """All that stays the same while the lanes run."""

    learner: Any
    params: Any
    limits: Limits
    keys: jax.Array


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


@eqx.filter_jit(donate="all-except-first")
def run_blocks(program: Program, lanes: Lane, blocks: jax.Array, *, scene: Scene, mesh: Mesh) -> Lane:
    """Up to `blocks` blocks of ticks for every lane, each device running its own share of the lanes."""
    numbers, structure = eqx.partition(program.learner, eqx.is_array)

    @partial(
        jax.shard_map, mesh=mesh, check_vma=False,
        in_specs=(P("lane"), P(), P(), P("lane"), P("lane"), P()), out_specs=P("lane"),
    )  # fmt: skip
    def run(numbers: Any, params: Any, limits: Limits, keys: jax.Array, lanes: Lane, blocks: jax.Array) -> Lane:
        def one_tick(numbers: Any, lane: Lane, draws: Draws) -> Lane:
            return tick(eqx.combine(numbers, structure), scene, params, limits, lane, draws)

        def one_improvement(numbers: Any, lane: Lane, key: jax.Array) -> Any:
            learner, learns = eqx.combine(numbers, structure), lane.is_running & ~lane.is_testing
            return lane.memory._replace(changing=learner.improved(lane.memory, key, learns))

        def ticks(lanes: Lane, draws: Draws, first: Any, count: int) -> Lane:
            def at(t: jax.Array, lanes: Lane) -> Lane:
                return jax.vmap(one_tick)(numbers, lanes, jax.tree.map(lambda leaf: leaf[first + t], draws))

            return jax.lax.fori_loop(0, count, at, lanes)

        def ticks_and_improvements(lanes: Lane, draws: Draws, keys: jax.Array, every: int) -> Lane:
            def group(i: jax.Array, lanes: Lane) -> Lane:
                lanes = ticks(lanes, draws, every * i, every)
                return lanes._replace(memory=jax.vmap(one_improvement)(numbers, lanes, keys[i]))

            return jax.lax.fori_loop(0, BLOCK // every, group, lanes)

        def one_block(carry: tuple[jax.Array, Lane]) -> tuple[jax.Array, Lane]:
            done, lanes = carry
            draws, learner_keys = jax.vmap(partial(_draws_of_block, scene.env, params), out_axes=1)(keys, lanes.block)
            lanes = lanes._replace(block=lanes.block + lanes.is_running)
            if structure.update_every is None:
                lanes = ticks(lanes, draws, 0, BLOCK)
            else:
                lanes = ticks_and_improvements(lanes, draws, learner_keys, structure.update_every)
            return done + 1, lanes

        def is_needed(carry: tuple[jax.Array, Lane]) -> jax.Array:
            done, lanes = carry
            return (done < blocks) & jnp.any(lanes.is_running)

        return jax.lax.while_loop(is_needed, one_block, (jnp.zeros((), jnp.int32), lanes))[1]

    return run(numbers, program.params, program.limits, program.keys, lanes, blocks)


@eqx.filter_jit
def new_lanes(learner: Any, params: Any, keys: jax.Array, is_running: jax.Array, scene: Scene) -> Lane:
    numbers, structure = eqx.partition(learner, eqx.is_array)
    make = lambda numbers, key, is_running: new_lane(  # noqa: E731
        eqx.combine(numbers, structure), params, key, is_running, scene
    )
    return jax.vmap(make)(numbers, keys, is_running)


@eqx.filter_jit
def counts_at(learner: Any, memory: Any, observations: jax.Array) -> jax.Array:
    """The counts of every action at these observations, for every lane."""
    numbers, structure = eqx.partition(learner, eqx.is_array)

    def of_lane(numbers: Any, memory: Any) -> jax.Array:
        learner = eqx.combine(numbers, structure)
        return jax.vmap(lambda observation: learner.view(memory, observation).counts)(observations)

    return jax.vmap(of_lane)(numbers, memory)


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


def _draws_of_block(env: Any, params: Any, key: jax.Array, block: jax.Array) -> tuple[Draws, jax.Array]:
    """What a lane needs in a block of ticks, and keys for its learner.

    Drawn together, ticks side by side: a start drawn and not used is cheaper than a
    branch in every tick.
    """
    for_rule, for_world, for_learner = jax.random.split(jax.random.fold_in(key, block), 3)
    keys = jax.random.split(for_world, BLOCK)
    starts = jax.vmap(env.reset_env, in_axes=(0, None))(keys, params)
    return Draws(jax.random.uniform(for_rule, (BLOCK,)), keys, starts), jax.random.split(for_learner, BLOCK)
