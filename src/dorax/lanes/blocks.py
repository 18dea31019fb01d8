"""Many learners, each in its own copy of a simulated environment: compiled, in blocks of ticks, over all devices.

Every tick moves every lane by one step, so lanes in long episodes never wait for others.
Random numbers of a lane depend on its seed and on its own blocks alone.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from dorax.lanes.episodes import Draws, Lane, Limits, Scene, new_lane, tick

BLOCK = 256  # ticks whose random numbers are drawn together


class Program(NamedTuple):
    """All that stays the same while the lanes run."""

    learner: Any
    params: Any
    limits: Limits
    keys: jax.Array


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


def _draws_of_block(env: Any, params: Any, key: jax.Array, block: jax.Array) -> tuple[Draws, jax.Array]:
    """What a lane needs in a block of ticks, and keys for its learner.

    Drawn together, ticks side by side: a start drawn and not used is cheaper than a
    branch in every tick.
    """
    for_rule, for_world, for_learner = jax.random.split(jax.random.fold_in(key, block), 3)
    keys = jax.random.split(for_world, BLOCK)
    starts = jax.vmap(env.reset_env, in_axes=(0, None))(keys, params)
    return Draws(jax.random.uniform(for_rule, (BLOCK,)), keys, starts), jax.random.split(for_learner, BLOCK)
