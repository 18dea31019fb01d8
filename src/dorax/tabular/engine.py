"""The engine: many learners side by side in one compiled program.

A lane is one learner with one seed and one setting. A tick moves every lane by one
step of its own world, so lanes that live in long episodes never wait for the others:

    world moves (s, a) -> s'  |  the rule chooses a' in s'  |  (s, a) learns from (s', a')

An episode's end is followed by one tick without learning, which starts the next one:
the first action of an episode is chosen after the last pair of the one before has
learned. Every tick of a lane uses two uniform numbers that depend on its seed and on
the tick alone; neither the other lanes nor the chunks that the ticks run in matter.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from dorax.tabular.agent import Arrival, TabularAgent
from dorax.tabular.world import World

BLOCK = 64  # ticks whose random numbers are drawn together


class Limits(NamedTuple):
    """When a lane is done: episodes, steps in all, or q_error at or below a share of its start (-1: never)."""

    episodes: jax.Array
    steps: jax.Array
    q_error_share: jax.Array


class Lane(NamedTuple):
    """One learner: where it is, what it knows, what it has recorded."""

    state: jax.Array
    action: jax.Array
    is_starting: jax.Array
    is_running: jax.Array
    tables: dict[str, jax.Array]
    shared: dict[str, jax.Array]
    counts: jax.Array
    episode: jax.Array
    steps: jax.Array
    length: jax.Array
    total_reward: jax.Array
    q_error: jax.Array
    q_error_lost: jax.Array
    q_error_at_start: jax.Array
    records: jax.Array  # episodes x (return, length, q_error)


class Program(NamedTuple):
    """All that stays the same while the lanes run."""

    agent: TabularAgent
    world: World
    limits: Limits
    keys: jax.Array


def new_lane(agent: TabularAgent, world: World, episodes: int, is_running: jax.Array) -> Lane:
    """A learner that knows nothing. Actions that a state lacks have value -inf for good."""
    entry = agent.learner.initial_entry(agent.discount)
    tables = {name: jnp.full(world.available.shape, value, float) for name, value in entry.items()}
    mean, variance = world.answer_moments
    q_error = jnp.asarray((entry["q"] - mean) ** 2 + variance, float)
    tables["q"] = jnp.where(world.available, tables["q"], -jnp.inf)
    zero = jnp.zeros((), jnp.int32)
    return Lane(
        state=zero,
        action=zero,
        is_starting=jnp.ones((), bool),
        is_running=is_running,
        tables=tables,
        shared={name: jnp.asarray(value, float) for name, value in agent.learner.initial_shared().items()},
        counts=jnp.zeros(world.available.shape),
        episode=zero,
        steps=zero,
        length=zero,
        total_reward=jnp.zeros(()),
        q_error=q_error,
        q_error_lost=jnp.zeros(()),
        q_error_at_start=q_error,
        records=jnp.full((episodes, 3), jnp.nan),
    )


def tick(agent: TabularAgent, world: World, limits: Limits, lane: Lane, uniforms: jax.Array) -> Lane:
    """One step of one lane."""
    s, a = lane.state, lane.action
    learns = lane.is_running & ~lane.is_starting
    steps = lane.steps + learns

    successor, reward, is_terminal = world.move(s, a, uniforms[0])
    here = jnp.where(lane.is_starting, world.start(uniforms[0]), successor)
    values, counts = lane.tables["q"][here], lane.counts[here]
    action = agent.rule(values, counts, steps, uniforms[1]).astype(jnp.int32)

    old = {name: table[s, a] for name, table in lane.tables.items()}
    arrival = Arrival(reward, is_terminal, values, counts, action)
    new, shared, count = agent.learned(old, lane.shared, lane.counts[s, a], arrival, steps)
    new = {name: jnp.where(learns, new[name], old[name]) for name in old}
    shared = {name: jnp.where(learns, shared[name], lane.shared[name]) for name in shared}

    optimum, weight = world.answer[s, a]
    q_error, lost = lane.q_error, lane.q_error_lost
    gain = jnp.where(learns, weight * (new["q"] - optimum) ** 2, 0.0)
    loss = jnp.where(learns, weight * (old["q"] - optimum) ** 2, 0.0)
    q_error, lost = _compensated_sum(q_error, lost, gain)
    q_error, lost = _compensated_sum(q_error, lost, -loss)

    length = lane.length + learns
    total_reward = lane.total_reward + jnp.where(learns, reward, 0.0)
    is_over = learns & (is_terminal | (length >= world.max_steps))
    episode = lane.episode + is_over
    error_now = jnp.maximum(q_error + lost, 0.0)
    is_enough = (limits.q_error_share >= 0) & (error_now <= limits.q_error_share * lane.q_error_at_start)
    is_done = (episode >= limits.episodes) | (steps >= limits.steps) | (is_over & is_enough)
    return Lane(
        state=here,
        action=action,
        is_starting=jnp.where(lane.is_running, is_over, lane.is_starting),
        is_running=lane.is_running & ~is_done,
        tables={name: table.at[s, a].set(new[name]) for name, table in lane.tables.items()},
        shared=shared,
        counts=lane.counts.at[s, a].set(jnp.where(learns, count, lane.counts[s, a])),
        episode=episode,
        steps=steps,
        length=jnp.where(is_over, 0, length),
        total_reward=jnp.where(is_over, 0.0, total_reward),
        q_error=q_error,
        q_error_lost=lost,
        q_error_at_start=lane.q_error_at_start,
        # The running episode's row is rewritten until it is over; past the last row nothing is.
        records=lane.records.at[jnp.where(learns, lane.episode, lane.records.shape[0])].set(
            jnp.stack([total_reward, length.astype(total_reward.dtype), error_now]), mode="drop"
        ),
    )


def uniforms_of_block(key: jax.Array, block: jax.Array) -> jax.Array:
    """The random numbers of one lane for the ticks of one block."""
    return jax.random.uniform(jax.random.fold_in(key, block), (BLOCK, 2))


@eqx.filter_jit(donate="all-except-first")
def run_blocks(program: Program, lanes: Lane, first: jax.Array, blocks: jax.Array, *, mesh: Mesh) -> Lane:
    """Up to `blocks` blocks of ticks for every lane, each device running its own share of the lanes."""
    numbers, structure = eqx.partition(program.agent, eqx.is_array)

    @partial(
        jax.shard_map, mesh=mesh, check_vma=False,
        in_specs=(P("lane"), P(), P(), P("lane"), P("lane"), P(), P()), out_specs=P("lane"),
    )  # fmt: skip
    def run(numbers: Any, world: World, limits: Limits, keys: jax.Array, lanes: Lane, first: Any, blocks: Any) -> Lane:
        def one_tick(numbers: Any, lane: Lane, uniforms: jax.Array) -> Lane:
            return tick(eqx.combine(numbers, structure), world, limits, lane, uniforms)

        def one_block(carry: tuple[jax.Array, Lane]) -> tuple[jax.Array, Lane]:
            block, lanes = carry
            uniforms = jax.vmap(uniforms_of_block, in_axes=(0, None), out_axes=1)(keys, first + block)
            lanes = jax.lax.fori_loop(0, BLOCK, lambda t, lanes: jax.vmap(one_tick)(numbers, lanes, uniforms[t]), lanes)
            return block + 1, lanes

        def is_needed(carry: tuple[jax.Array, Lane]) -> jax.Array:
            block, lanes = carry
            return (block < blocks) & jnp.any(lanes.is_running)

        return jax.lax.while_loop(is_needed, one_block, (jnp.zeros((), jnp.int32), lanes))[1]

    return run(numbers, program.world, program.limits, program.keys, lanes, first, blocks)


@eqx.filter_jit
def new_lanes(agent: TabularAgent, world: World, episodes: int, is_running: jax.Array) -> Lane:
    numbers, structure = eqx.partition(agent, eqx.is_array)
    make = lambda numbers, is_running: new_lane(eqx.combine(numbers, structure), world, episodes, is_running)  # noqa: E731
    return jax.vmap(make)(numbers, is_running)


def _compensated_sum(total: jax.Array, lost: jax.Array, term: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Neumaier's summation: what rounding takes from the total is kept beside it."""
    updated = total + term
    is_total_larger = jnp.abs(total) >= jnp.abs(term)
    larger, smaller = jnp.where(is_total_larger, total, term), jnp.where(is_total_larger, term, total)
    return updated, lost + ((larger - updated) + smaller)
