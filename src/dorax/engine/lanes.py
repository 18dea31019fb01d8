"""One lane, step by step.

A step of a lane is one step of each of its games:

    the environment moves (s, a) -> s'  |  the rule chooses a' in s'  |  (s, a) learns from (s', a')

The end of an episode is followed by a step without learning, which starts the next episode:
the first action of an episode is chosen after the last pair of the previous one was updated.

A lane may play a greedy test at regular intervals. It sets its training game aside, plays
one episode with random numbers of their own and without learning, and then resumes: training
is the same with and without tests. Tests are played between updates; if several become due
between two updates, only the last one is played.
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
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dorax.engine.protocols import Algorithm, Probe, Step
from dorax.envs.simulation import Env

_TOLERANCE = 1e-5  # of the declared range of observations: rounding is not a violation
_TRAINING, _TEST_IS_DUE, _TESTING, _TEST_IS_OVER = range(4)


class Limits(NamedTuple):
    """When a lane pauses or ends.

    Attributes:
        episodes: number of episodes after which the lane is done.
        steps: number of steps after which the lane is done.
        mark: episode after which the lane pauses for a snapshot.
        step_mark: number of steps after which the lane pauses for a snapshot.
        steps_before: number of steps that the learner made before this run, if it is trained further.
    """

    episodes: Int[Array, ""]
    steps: Int[Array, ""]
    mark: Int[Array, ""]
    step_mark: Int[Array, ""]
    steps_before: Int[Array, ""]


class Recording(NamedTuple):
    """What is recorded. All fields are static.

    Attributes:
        episodes: number of rows of the episode log.
        test_every: number of episodes between greedy tests; None for no tests.
        pauses: whether lanes may pause, for tests or snapshots. Lanes that never pause stay in step with each
            other and are faster.
    """

    episodes: int
    test_every: int | None = None
    pauses: bool = True

    @property
    def tests(self) -> int:
        """Number of rows of the test log."""
        return 0 if self.test_every is None else self.episodes // self.test_every


class Setup(NamedTuple):
    """What stays the same while a lane runs.

    Attributes:
        algorithm: the algorithm.
        env: the environment.
        probes: the probes.
        limits: when the lane pauses or ends.
        recording: what is recorded.
    """

    algorithm: Algorithm[Any]
    env: Env[Any]
    probes: tuple[Probe[Any], ...]
    limits: Limits
    recording: Recording


class Game(NamedTuple):
    """Current situation of a lane's games. Leaves [games, ...].

    Attributes:
        state: state of the environment.
        features: features of the current observation.
        action: action chosen for it.
        is_starting: whether the next step starts a new episode.
        length: number of steps of the episode so far.
        total_reward: return of the episode so far.
    """

    state: Any
    features: Any
    action: Int[Array, " games"]
    is_starting: Bool[Array, " games"]
    length: Int[Array, " games"]
    total_reward: Float[Array, " games"]


class Clock(NamedTuple):
    """Position of a lane in its stream of random numbers.

    Attributes:
        block: number of the block.
        group: number of groups of steps of this block that were used.
    """

    block: Int[Array, ""]
    group: Int[Array, ""]


class Parked(NamedTuple):
    """Training games of a lane that are set aside while a test is played, and the results of the test so far.

    Attributes:
        game: the training games.
        has_played: whether a game has finished its test episode.
        total: sums of return and length over the games of the test.
    """

    game: Game
    has_played: Bool[Array, " games"]
    total: Float[Array, 2]


class Tests(NamedTuple):
    """Greedy tests of a lane.

    Attributes:
        phase: training, test due, testing, or test over.
        clock: position in the random numbers of tests.
        parked: the training games while a test is played; None for an algorithm with a single game and no updates,
            which starts a test only between two episodes, so that there is nothing to set aside.
        log: mean return and length of each test.
    """

    phase: Int[Array, ""]
    clock: Clock
    parked: Parked | None
    log: Float[Array, "tests 2"]


class Fault(NamedTuple):
    """First observation and reward that are not finite or out of bounds.

    Attributes:
        is_there: whether there is a fault.
        observation: the observation.
        reward: the reward.
    """

    is_there: Bool[Array, ""]
    observation: Float[Array, " dims"]
    reward: Float[Array, ""]


class Lane(NamedTuple):
    """One learner: its games, its memory and what was recorded.

    Attributes:
        game: current situation of its games.
        memory: the algorithm's memory.
        clock: position in its random numbers.
        is_running: whether it is not done yet.
        episode: number of finished episodes.
        steps: number of steps learned from.
        log: return, length and the probes' columns of each episode.
        probes: states of the probes.
        tests: greedy tests, or None.
        fault: first fault; None if the environment declares no bounds.
    """

    game: Game
    memory: Any
    clock: Clock
    is_running: Bool[Array, ""]
    episode: Int[Array, ""]
    steps: Int[Array, ""]
    log: Float[Array, "episodes columns"]
    probes: tuple[Any, ...]
    tests: Tests | None
    fault: Fault | None


class Mode(NamedTuple):
    """What a lane does in a group of steps: train, play a test, or neither.

    Attributes:
        trains: whether it trains.
        tests: whether it plays a test.
    """

    trains: Bool[Array, ""]
    tests: Bool[Array, ""]


def new_lane(setup: Setup, memory: Any, key: PRNGKeyArray, is_running: Bool[Array, ""]) -> Lane:
    """Make a lane whose games are about to start their first episode.

    Args:
        setup: what to run.
        memory: the algorithm's memory.
        key: random key of the lane.
        is_running: whether the lane runs at all.

    Returns:
        The lane.
    """
    algorithm, env, probes, _, recording = setup
    game = _new_game(algorithm, env, memory, key)
    zero = jnp.zeros((), jnp.int32)
    columns = 2 + sum(len(probe.columns) for probe in probes)
    tests = None
    if recording.test_every is not None:
        log = jnp.full((recording.tests, 2), jnp.nan)
        is_simple = algorithm.games == 1 and algorithm.every is None
        parked = None if is_simple else Parked(game, jnp.zeros(algorithm.games, bool), jnp.zeros(2))
        tests = Tests(zero, Clock(zero, zero), parked, log)
    fault = None
    if env.low is not None:
        fault = Fault(jnp.zeros((), bool), jnp.zeros(len(env.low)), jnp.zeros(()))
    return Lane(
        game=game,
        memory=memory,
        clock=Clock(zero, zero),
        is_running=is_running,
        episode=zero,
        steps=zero,
        log=jnp.full((recording.episodes, columns), jnp.nan),
        probes=tuple(probe.init(algorithm, memory) for probe in probes),
        tests=tests,
        fault=fault,
    )


def has_work(lane: Lane, limits: Limits, groups: int | None = None) -> Bool[Array, ""]:
    """Return whether a lane has work left before it pauses or ends.

    Args:
        lane: the lane.
        limits: when it pauses or ends.
        groups: number of groups in a block, to ask for work that this block has random numbers for.
    """
    trains, tests = _is_before_mark(lane, limits), lane.tests
    if groups is not None:
        trains = trains & (lane.clock.group < groups)
    if tests is None:
        return trains
    plays_test = (tests.phase == _TEST_IS_DUE) | (tests.phase == _TESTING)
    return trains | (plays_test if groups is None else plays_test & (tests.clock.group < groups))


def _is_before_mark(lane: Lane, limits: Limits) -> Bool[Array, ""]:
    return lane.is_running & (lane.episode < limits.mark) & (lane.steps < limits.step_mark)


def prepare(lane: Lane, setup: Setup, groups: int) -> tuple[Lane, Mode]:
    """Decide what a lane does in the next group of steps. Tests start and end here.

    Args:
        lane: the lane.
        setup: what is run.
        groups: number of groups in a block.

    Returns:
        The lane, with the game that it plays now, and its mode.
    """
    if not setup.recording.pauses:
        return lane, Mode(lane.is_running, jnp.zeros((), bool))
    trains = _is_before_mark(lane, setup.limits) & (lane.clock.group < groups)
    tests = lane.tests
    if tests is None:
        return lane, Mode(trains, jnp.zeros((), bool))
    begins, ends = tests.phase == _TEST_IS_DUE, tests.phase == _TEST_IS_OVER
    phase = jnp.where(begins, _TESTING, jnp.where(ends, _TRAINING, tests.phase))
    game, parked = lane.game, tests.parked
    if parked is not None:
        fresh = game._replace(
            is_starting=jnp.ones_like(game.is_starting),
            length=jnp.zeros_like(game.length),
            total_reward=jnp.zeros_like(game.total_reward),
        )
        parked = Parked(
            _select(begins, game, parked.game), parked.has_played & ~begins, jnp.where(begins, 0.0, parked.total)
        )
        game = _select(begins, fresh, _select(ends, parked.game, game))
    tests = tests._replace(phase=phase, parked=parked)
    is_testing = phase == _TESTING
    mode = Mode(trains & ~is_testing, is_testing & (tests.clock.group < groups))
    return lane._replace(game=game, tests=tests), mode


def step_lane(
    setup: Setup, lane: Lane, mode: Mode, world_draws: Any, uniforms: Float[Array, " games"]
) -> tuple[Lane, Any]:
    """Take one step in every game of a lane.

    Args:
        setup: what is run.
        lane: the lane before the step.
        mode: what the lane does.
        world_draws: random numbers of the environment, one draw per game.
        uniforms: random numbers of the rule, one per game.

    Returns:
        The lane after the step, and the row for the algorithm's update, or None.
    """
    algorithm, env, probes, limits, recording = setup
    mode = Mode(mode.trains & lane.is_running, mode.tests)  # it may have been done within this group
    game = lane.game
    plays = mode.trains | mode.tests
    if lane.tests is not None and lane.tests.parked is not None:
        plays = mode.trains | (mode.tests & ~lane.tests.parked.has_played)
    moved = plays & ~game.is_starting
    learns = mode.trains & ~game.is_starting
    steps = lane.steps + jnp.sum(learns, dtype=jnp.int32)

    # A finite MDP is looked up in tables, which is cheaper to repeat than to call.
    move = _moved if env.low is None else partial(isolated, limits, _moved)
    here, state, reward, terminated, truncated = move(env, game, world_draws)
    view = algorithm.view(lane.memory, here)
    time = limits.steps_before + steps
    action = algorithm.act(view, time, uniforms).astype(jnp.int32)
    if lane.tests is not None:
        action = jnp.where(mode.tests, jnp.argmax(view.values, axis=-1).astype(jnp.int32), action)

    fault, is_valid = _checked(lane.fault, env, here, reward, plays)
    learns = learns & is_valid
    step = Step(
        features=game.features,
        action=game.action,
        reward=reward,
        terminated=terminated,
        truncated=truncated,
        is_start=game.is_starting & mode.trains,
        next_view=view,
        next_action=action,
        learns=learns,
        steps=time,
    )
    memory, change, row = algorithm.observe(lane.memory, step)
    watched = tuple(probe.watch(state, step, change, here) for probe, state in zip(probes, lane.probes, strict=True))

    length = game.length + moved
    total_reward = game.total_reward + jnp.where(moved, reward, 0.0)
    is_over = moved & (terminated | truncated)
    ended = is_over & mode.trains
    episode = lane.episode + jnp.sum(ended, dtype=jnp.int32)
    is_enough = jnp.zeros((), bool)
    for probe, state_of_probe in zip(probes, watched, strict=True):
        is_enough = is_enough | probe.enough(state_of_probe)
    is_done = (episode >= limits.episodes) | (steps >= limits.steps) | (jnp.any(ended) & is_enough)
    played = Game(
        state=state,
        features=view.features,
        action=action,
        is_starting=is_over,
        length=jnp.where(is_over, 0, length),
        total_reward=jnp.where(is_over, 0.0, total_reward),
    )
    recorded = (total_reward, length.astype(total_reward.dtype))
    for probe, state_of_probe in zip(probes, watched, strict=True):
        recorded += tuple(jnp.broadcast_to(number, length.shape) for number in probe.record(state_of_probe))
    # Episodes that end together are logged in the order of their games; past the last row nothing is.
    earlier = jnp.cumsum(ended) - ended if algorithm.games > 1 else 0
    at = jnp.where(ended, lane.episode + earlier, recording.episodes)
    after = Lane(
        game=_select(plays, played, game) if recording.pauses else played,  # a lane that is done stays so
        memory=memory,
        clock=lane.clock,
        is_running=lane.is_running & ~(mode.trains & is_done) & (True if fault is None else ~fault.is_there),
        episode=episode,
        steps=steps,
        log=lane.log.at[at].set(jnp.stack(recorded, axis=-1), mode="drop"),
        probes=watched,
        tests=_tested(lane, recording, mode, is_over, episode, recorded),
        fault=fault,
    )
    return after, row


def isolated(limits: Limits, function: Any, *args: Any) -> Any:
    """Call a function so that XLA compiles it separately and does not repeat it in every fusion that uses its results.

    This is a `jax.lax.cond` whose condition is always true, which the compiler does not know.

    Args:
        limits: limits of the lane, which the condition is computed from.
        function: function to call.
        *args: its arguments; leaves that are not arrays are static.

    Returns:
        The result of the function.
    """

    def nothing(args: Any) -> Any:
        return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(called, args))

    arrays, rest = eqx.partition(args, eqx.is_array)

    def called(arrays: Any) -> Any:
        return function(*eqx.combine(arrays, rest))

    return jax.lax.cond(limits.steps > 0, called, nothing, arrays)


def _moved(env: Env[Any], game: Game, draws: Any) -> tuple[Any, Any, Array, Array, Array]:
    """Step or start every game; return observation, state, reward, terminated and truncated."""
    over_games = _one_game if game.action.shape[0] == 1 else jax.vmap
    here, state, reward, terminated, truncated = over_games(env.step)(draws, game.state, game.action)
    here, state = _select(game.is_starting, over_games(env.reset)(draws), (here, state))
    return here, state, jnp.where(game.is_starting, 0.0, reward), terminated, truncated


def _tested(
    lane: Lane, recording: Recording, mode: Mode, is_over: Array, episode: Array, recorded: tuple[Array, ...]
) -> Tests | None:
    """Update the tests: one is due every `test_every` episodes, and over when every game has ended an episode."""
    tests, every = lane.tests, recording.test_every
    if tests is None or every is None:
        return None
    parked, total, is_over_now = tests.parked, jnp.stack(recorded[:2])[:, 0], mode.tests & is_over[0]
    if parked is not None:
        has_played = parked.has_played | (is_over & mode.tests)
        ended = jnp.where(mode.tests & is_over, jnp.stack(recorded[:2]), 0.0)
        parked = parked._replace(has_played=has_played, total=parked.total + jnp.sum(ended, axis=1))
        total, is_over_now = parked.total / len(is_over), mode.tests & jnp.all(has_played)
    is_due = mode.trains & (episode // every > lane.episode // every)
    at = jnp.where(is_over_now, lane.episode // every - 1, recording.tests)
    phase = jnp.where(is_due, _TEST_IS_DUE, jnp.where(is_over_now, _TEST_IS_OVER, tests.phase))
    return tests._replace(phase=phase, parked=parked, log=tests.log.at[at].set(total, mode="drop"))


def _new_game(algorithm: Algorithm[Any], env: Env[Any], memory: Any, key: PRNGKeyArray) -> Game:
    """Make placeholders of the right shapes: the first step of every game starts an episode."""

    def start(key: PRNGKeyArray) -> tuple[Any, Any]:
        draw = jax.tree.map(lambda leaf: leaf[0], env.draws(key, jnp.zeros((), jnp.int32)).world)
        here, state = jax.vmap(env.reset)(jax.tree.map(lambda leaf: jnp.stack([leaf] * algorithm.games), draw))
        return state, algorithm.view(memory, here).features

    state, features = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(start, key))
    number = jnp.zeros(algorithm.games, jnp.int32)
    return Game(state, features, number, jnp.ones_like(number, bool), number, jnp.zeros_like(number, float))


def _checked(fault: Fault | None, env: Env[Any], here: Any, reward: Array, plays: Array) -> tuple[Fault | None, Any]:
    """Keep the first observation or reward that is not finite or out of bounds; such steps are not learned from."""
    if fault is None or env.low is None or env.high is None:
        return None, True
    low, high = np.asarray(env.low), np.asarray(env.high)
    slack = _TOLERANCE * np.where(np.isfinite(low) & np.isfinite(high), high - low, 0.0)
    is_within = jnp.isfinite(here) & (here >= low - slack) & (here <= high + slack)
    is_valid = jnp.all(is_within, axis=-1) & jnp.isfinite(reward)
    is_bad = plays & ~is_valid
    first = jnp.argmax(is_bad)
    found = Fault(jnp.any(is_bad), here[first].astype(float), reward[first].astype(float))
    return _select(fault.is_there, fault, found), is_valid


def _one_game(function: Any) -> Any:
    """Do what `jax.vmap` does for an axis of length 1 without that axis: XLA fuses arrays with fewer axes better."""

    def of_one(*args: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf[None], function(*jax.tree.map(lambda leaf: leaf[0], args)))

    return of_one


def _select(condition: Array, new: Any, old: Any) -> Any:
    """Apply `jnp.where` to trees. The condition has fewer axes than the leaves; the old leaves' dtypes are kept."""

    def select(new: Any, old: Any) -> Any:
        if eqx.is_array(old) and jnp.issubdtype(old.dtype, jax.dtypes.extended):
            return jnp.where(condition, new, old)
        new, old = jnp.asarray(new), jnp.asarray(old)
        shape = (*condition.shape, *(1 for _ in range(old.ndim - condition.ndim)))
        return jnp.where(condition.reshape(shape), new.astype(old.dtype), old)

    return jax.tree.map(select, new, old)
