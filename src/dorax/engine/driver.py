"""The compiled driver: runs many lanes in parallel, over all devices, in blocks of steps.

    shard_map over devices > while a lane has work > scan over groups of steps > vmap over lanes > one step

A group is the steps between two updates of an algorithm, or a single step if it has no updates.
Random numbers are drawn for a whole block of steps at a time. They depend only on the lane's
seed and its own clock, so neither other lanes, nor chunks, nor pauses for probes change what
a lane does.
"""

# JAX and Equinox: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from dorax.engine.lanes import Clock, Lane, Limits, Mode, Recording, Setup, has_work, new_lane, prepare, step_lane
from dorax.engine.protocols import View
from dorax.envs.simulation import Draws, Env

_FIRST = 2**32 - 1  # the number of the block before the first: what is drawn before a run
_STEPS_FIRST: Any = Draws(1, 1, 0)  # type: ignore[arg-type] - axes of lanes or games: behind the steps
_TESTS = 2**31  # folded into the key of a lane: the random numbers of its tests


class Program(NamedTuple):
    """What stays the same while the lanes run.

    The numbers of an environment are in `env` or, where they differ between lanes, in `own_env`;
    a leaf that is in one of them is None in the other.

    Attributes:
        agent: agent whose numbers have a leading axis over lanes.
        env: environment, shared by all lanes.
        own_env: numbers of the environment with a leading axis over lanes.
        probes: probes, shared by all lanes.
        limits: when lanes pause or end.
        keys: random key of each lane.
    """

    agent: Any
    env: Any
    own_env: Any
    probes: tuple[Any, ...]
    limits: Limits
    keys: PRNGKeyArray


@eqx.filter_jit(donate="all-except-first")
def run_blocks(
    program: Program,
    lanes: Lane,
    blocks: Int[Array, ""],
    *,
    recording: Recording,
    mesh: Mesh,
    at_once: int | None = None,
) -> Lane:
    """Run every lane for some blocks of steps. Each device runs its own share of the lanes.

    Args:
        program: what to run.
        lanes: the lanes, which are donated.
        blocks: maximum number of blocks.
        recording: what is recorded.
        mesh: the devices.
        at_once: number of lanes that a device runs side by side, while its others wait; by default all of them.

    Returns:
        The lanes after these blocks.
    """
    numbers, structure = eqx.partition(program.agent, eqx.is_array)
    shared, shared_structure = eqx.partition((program.env, program.probes), eqx.is_array)
    own, own_structure = eqx.partition(program.own_env, eqx.is_array)

    @partial(
        jax.shard_map, mesh=mesh, check_vma=False,
        in_specs=(P("lane"), P(), P("lane"), P(), P("lane"), P("lane"), P()), out_specs=P("lane"),
    )  # fmt: skip
    def run(numbers: Any, shared: Any, own: Any, limits: Limits, keys: Any, lanes: Lane, blocks: Any) -> Lane:
        env, probes = eqx.combine(shared, shared_structure)

        def setup_of(numbers: Any, own: Any) -> Setup:
            whole = eqx.combine(env, own, own_structure)
            agent = eqx.combine(numbers, structure)
            return Setup(agent.algorithm(whole), whole, probes, limits, recording)

        def run_some(some: tuple[Any, Any, Any, Lane]) -> Lane:
            numbers, own, keys, lanes = some

            def one_block(carry: tuple[Any, Lane]) -> tuple[Any, Lane]:
                done, lanes = carry
                return done + 1, _block(setup_of, limits, numbers, own, keys, lanes)

            def is_needed(carry: tuple[Any, Lane]) -> Any:
                done, lanes = carry
                return (done < blocks) & jnp.any(jax.vmap(has_work, in_axes=(0, None))(lanes, limits))

            return jax.lax.while_loop(is_needed, one_block, (jnp.zeros((), jnp.int32), lanes))[1]

        number = len(lanes.is_running)
        some = at_once or number
        if some == number:
            return run_some((numbers, own, keys, lanes))

        def run_next(i: Any, lanes: Lane) -> Lane:
            first = i * some
            chosen = jax.tree.map(
                lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, first, some), (numbers, own, keys, lanes)
            )
            ran = run_some(chosen)
            return jax.tree.map(lambda old, new: jax.lax.dynamic_update_slice_in_dim(old, new, first, 0), lanes, ran)

        return jax.lax.fori_loop(0, number // some, run_next, lanes)

    return run(numbers, shared, own, program.limits, program.keys, lanes, blocks)


def _block(setup_of: Any, limits: Limits, numbers: Any, own: Any, keys: PRNGKeyArray, lanes: Lane) -> Lane:
    """Run one block of every lane: draw its random numbers, then run group after group."""
    setup: Setup = eqx.filter_eval_shape(setup_of, *jax.tree.map(lambda leaf: leaf[0], (numbers, own)))
    every, games, groups = _shape_of(setup)
    pauses = setup.recording.pauses

    def draws_of(numbers: Any, own: Any, key: PRNGKeyArray, clock: Clock) -> Draws:
        return _by_group(block_draws(setup_of(numbers, own).env, key, clock.block, games), groups, every)

    def draws_of_lane(numbers: Any, own: Any, key: PRNGKeyArray, lane: Lane) -> Draws:
        """Draw the random numbers of training, followed by those of tests if there are any."""
        if lane.tests is None:
            return draws_of(numbers, own, key, lane.clock)
        keys = jnp.stack([key, jax.random.fold_in(key, _TESTS)])
        clocks = jax.tree.map(lambda *leaves: jnp.stack(leaves), lane.clock, lane.tests.clock)
        both = jax.vmap(draws_of, in_axes=(None, None, 0, 0))(numbers, own, keys, clocks)
        merged = jax.tree.map(lambda leaf: leaf.reshape(2 * groups, *leaf.shape[2:]), (both.world, both.rule))
        world, rule = merged
        return Draws(world, rule, both.learner[0])

    draws = jax.vmap(draws_of_lane, out_axes=_STEPS_FIRST)(numbers, own, keys, lanes)

    def one_group(i: Any, numbers: Any, own: Any, draws: Draws, lane: Lane) -> Lane:
        setup = setup_of(numbers, own)
        lane, mode = prepare(lane, setup, groups)
        group = at = lane.clock.group if pauses else i
        if lane.tests is not None:
            at = jnp.where(mode.tests, groups + lane.tests.clock.group, group)
        lane, rows = _steps(setup, lane, mode, _at(draws, at))
        if every is not None:
            key = jax.random.fold_in(draws.learner, group)
            memory = setup.algorithm.update(lane.memory, rows, key, mode.trains & lane.is_running)
            lane = lane._replace(memory=memory)
        return _advance_clocks(lane, mode) if pauses else lane

    over_lanes = jax.vmap(one_group, in_axes=(None, 0, 0, _STEPS_FIRST, 0))
    if pauses and every is not None:  # groups are costly: after the last lane has paused, the others are left out

        def is_needed(carry: tuple[Any, Lane]) -> Any:
            i, lanes = carry
            return (i < groups) & jnp.any(jax.vmap(has_work, in_axes=(0, None, None))(lanes, limits, groups))

        def next_group(carry: tuple[Any, Lane]) -> tuple[Any, Lane]:
            i, lanes = carry
            return i + 1, over_lanes(i, numbers, own, draws, lanes)

        lanes = jax.lax.while_loop(is_needed, next_group, (jnp.zeros((), jnp.int32), lanes))[1]
    else:
        lanes = jax.lax.fori_loop(0, groups, lambda i, lanes: over_lanes(i, numbers, own, draws, lanes), lanes)
    if not pauses:
        return lanes._replace(clock=lanes.clock._replace(block=lanes.clock.block + 1))
    lanes = lanes._replace(clock=_next_block(lanes.clock, groups))
    if lanes.tests is not None:
        lanes = lanes._replace(tests=lanes.tests._replace(clock=_next_block(lanes.tests.clock, groups)))
    return lanes


def block_draws(env: Env[Any], key: PRNGKeyArray, block: Int[Array, ""], games: int) -> Draws:
    """Draw the random numbers of a block for all games of a lane.

    Args:
        env: the environment.
        key: random key of the lane.
        block: number of the block.
        games: number of games.

    Returns:
        The draws; leaves [steps, games, ...].
    """
    keys = key[None] if games == 1 else jax.random.split(key, games)  # a single game has the lane's own key
    drawn = jax.vmap(env.draws, in_axes=(0, None), out_axes=_STEPS_FIRST)(keys, block)
    return drawn._replace(learner=drawn.learner[0])


def _by_group(draws: Draws, groups: int, every: int | None) -> Draws:
    """Reshape the steps of a block to groups x steps of a group."""
    shaped = jax.tree.map(lambda leaf: leaf.reshape(groups, every or 1, *leaf.shape[1:]), (draws.world, draws.rule))
    return Draws(shaped[0], shaped[1], draws.learner)


def _at(draws: Draws, group: Any) -> tuple[Any, Any]:
    """Select the draws of one group."""
    return jax.tree.map(lambda leaf: leaf.at[group].get(mode="clip"), (draws.world, draws.rule))


def _steps(setup: Setup, lane: Lane, mode: Mode, draws: tuple[Any, Any]) -> tuple[Lane, Any]:
    """Run the steps of a group; return the lane and the rows for the update."""

    def step(lane: Lane, draw: tuple[Any, Any]) -> tuple[Lane, Any]:
        return step_lane(setup, lane, mode, *draw)

    if setup.algorithm.every is None:
        return step(lane, jax.tree.map(lambda leaf: leaf[0], draws))
    return jax.lax.scan(step, lane, draws)


def _advance_clocks(lane: Lane, mode: Mode) -> Lane:
    lane = lane._replace(clock=lane.clock._replace(group=lane.clock.group + mode.trains))
    if lane.tests is None:
        return lane
    clock = lane.tests.clock
    return lane._replace(tests=lane.tests._replace(clock=clock._replace(group=clock.group + mode.tests)))


def _next_block(clock: Clock, groups: int) -> Clock:
    is_used_up = clock.group >= groups
    return Clock(clock.block + is_used_up, jnp.where(is_used_up, 0, clock.group))


def _shape_of(setup: Setup) -> tuple[int | None, int, int]:
    every, games = setup.algorithm.every, setup.algorithm.games
    return every, games, setup.env.block // (every or 1)


@eqx.filter_jit
def new_lanes(
    program: Program,
    memories: Any,
    is_running: Bool[Array, " lanes"],
    *,
    recording: Recording,
    sharding: NamedSharding,
) -> Lane:
    """Make lanes that are about to start.

    Args:
        program: what to run.
        memories: memories with a leading axis over lanes; None for those of new learners.
        is_running: whether a lane runs at all.
        recording: what is recorded.
        sharding: how they are laid out over the devices. Otherwise each device would get all zeros of all lanes.

    Returns:
        The lanes.
    """
    numbers, structure = eqx.partition(program.agent, eqx.is_array)
    own, own_structure = eqx.partition(program.own_env, eqx.is_array)

    def make(numbers: Any, own: Any, memory: Any, key: PRNGKeyArray, is_running: Array) -> Lane:
        env = eqx.combine(program.env, own, own_structure)
        algorithm = eqx.combine(numbers, structure).algorithm(env)
        setup = Setup(algorithm, env, program.probes, program.limits, recording)
        if memory is None:
            memory = algorithm.init(jax.random.split(jax.random.fold_in(key, _FIRST))[1])
        return new_lane(setup, memory, key, is_running)

    lanes = jax.vmap(make)(numbers, own, memories, program.keys, is_running)
    return jax.lax.with_sharding_constraint(jax.tree.map(_strongly_typed, lanes), sharding)


def _strongly_typed(leaf: Array) -> Array:
    """Give an array the type that it has in a checkpoint, so that both kinds of start use the same program."""
    is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return leaf if is_key else jax.lax.convert_element_type(leaf, leaf.dtype)


@eqx.filter_jit
def views(program: Program, memories: Any, observations: Any) -> View:
    """Compute every lane's view of some observations.

    Args:
        program: what is run.
        memories: memories of all lanes.
        observations: the observations.

    Returns:
        The views; leaves [lanes, observations, ...].
    """
    numbers, structure = eqx.partition(program.agent, eqx.is_array)
    own, own_structure = eqx.partition(program.own_env, eqx.is_array)

    def of_lane(numbers: Any, own: Any, memory: Any) -> View:
        algorithm = eqx.combine(numbers, structure).algorithm(eqx.combine(program.env, own, own_structure))
        seen = jax.vmap(lambda one: algorithm.view(memory, one[None]))(observations)
        return jax.tree.map(lambda leaf: leaf[:, 0], seen)

    return jax.vmap(of_lane)(numbers, own, memories)
