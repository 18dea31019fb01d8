"""The host driver: runs the same algorithms as the compiled driver, in games that run outside JAX.

The games play in groups that take turns: while the device learns and acts for one group, the emulator steps the
others. A turn (view, act, observe) is one compiled program, and so is an update. All random numbers depend on the
seed and the number of the turn only, so a run is reproducible as far as the device's arithmetic is. An
interruption loses the running episodes and, unless checkpoints include it, the replay.

In addition to the protocol of algorithms, an algorithm for the host may define

    groups              number of groups of games that take turns (default 1); `games` is the size of one group
    warm_up             steps before the first update, after the start or after resuming without the replay
    columns, metrics    names and values of its metrics for each record; `cleared` resets them to 0
    frozen              returns a small memory that only acts, for a later test
    new_replay          returns an empty replay, if a full one is too large to be kept with the rest of the memory;
                        `without_replay` is then `init` without it
"""

# JAX and Equinox: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from dorax.core.checks import InvalidInput, check_probability, check_whole
from dorax.core.policies import EpsilonGreedy
from dorax.core.rules import Sample
from dorax.engine import checkpoints
from dorax.engine.checkpoints import flat, unflat
from dorax.engine.curves import Curves
from dorax.engine.describing import plain, words_of
from dorax.engine.protocols import Step
from dorax.envs.host import Arrival, Games, HostEnv
from dorax.envs.simulation import Observation


@dataclass(frozen=True)
class HostOptions:
    """How a run on the host is recorded, tested and saved.

    Args:
        record_every: steps between records.
        test_every: steps between tests; None for no tests.
        test_games: number of episodes per test, played almost greedily.
        tests_together: number of tests that are played as one batch: an emulator is more efficient with many games.
        test_steps: maximum number of steps of a test episode.
        test_epsilon: fraction of random actions in tests, because a deterministic policy can get stuck in some games.
        folder: folder for checkpoints and event files; an interrupted run resumes from it.
        checkpoint_every: steps between checkpoints, a multiple of `record_every`.
        keep_replay: whether checkpoints include the replay, which can take gigabytes.
        fresh: whether to delete what an earlier run left in the folder.
    """

    record_every: int = 10_000
    test_every: int | None = 100_000
    test_games: int = 4
    tests_together: int = 10
    test_steps: int = 27_000
    test_epsilon: float = 0.01
    folder: Path | None = None
    checkpoint_every: int = 500_000
    keep_replay: bool = False
    fresh: bool = False

    def __post_init__(self) -> None:
        for name in ("record_every", "test_every", "test_games", "tests_together", "test_steps", "checkpoint_every"):
            if name != "test_every" or self.test_every is not None:
                check_whole(name, getattr(self, name))
        check_probability("test_epsilon", self.test_epsilon)
        if self.checkpoint_every % self.record_every:
            raise InvalidInput(
                f"checkpoint_every is {self.checkpoint_every}; allowed: a multiple of record_every, {self.record_every}"
            )


@dataclass(frozen=True)
class HostTraining:
    """One run of one agent on the host.

    Args:
        agent: the agent.
        env: environment whose games run on the host.
        steps: number of steps, all games together.
        seed: seed of all random numbers.
        episodes: maximum number of episodes.
        options: how the run is recorded, tested and saved.
    """

    agent: Any
    env: HostEnv
    steps: int
    seed: int = 0
    episodes: int | None = None
    options: HostOptions = field(default_factory=HostOptions)

    def __post_init__(self) -> None:
        check_whole("steps", self.steps)
        if not 0 <= self.seed < 2**31:  # as emulators take it
            raise InvalidInput(f"seed is {self.seed!r}; allowed: a whole number from 0 to 2147483647")

    @property
    def what(self) -> dict[str, Any]:
        """Configuration that a checkpoint and the run that resumes from it must share. The length is not part of it."""
        names = ("record_every", "test_every", "test_games", "tests_together", "test_steps", "test_epsilon")
        return {
            "agent": plain(self.agent) or words_of(self.agent),
            "environment": repr(self.env),
            "seed": int(self.seed),
            **{name: getattr(self.options, name) for name in names},
        }


class Seat(NamedTuple):
    """Current situation of the games of a group.

    Attributes:
        observation: the agent's observations.
        features: features of these observations, from the algorithm's `view`.
        action: the actions chosen for them.
    """

    observation: Observation
    features: Any
    action: Int[Array, " games"]


class Group:
    """Games that take their turn together, with the returns and lengths of their running episodes.

    Args:
        games: the games.
        seat: their situation before the first observation.
    """

    def __init__(self, games: Games, seat: Seat) -> None:
        self.games, self.seat = games, seat
        self.is_acting = False
        self.returns, self.lengths = np.zeros(games.number), np.zeros(games.number, int)

    def begin(self, seeds: np.ndarray) -> None:
        """Start a new episode in every game.

        Args:
            seeds: one seed per game.
        """
        self.now: Arrival = self.games.begin(seeds)
        self.returns[:] = self.lengths[:] = 0

    def act(self, actions: np.ndarray) -> None:
        """Send actions without waiting for the results.

        Args:
            actions: one action per game.
        """
        self.games.act(actions)
        self.is_acting = True

    def arrive(self) -> list[tuple[float, int]]:
        """Wait for the results of the last actions.

        Returns:
            Return and length of each episode that ended.
        """
        if not self.is_acting:
            return []
        self.now = now = self.games.arrive()
        self.returns += now.reward
        self.lengths += ~now.is_first
        is_over = now.terminated | now.truncated
        ended = [(float(self.returns[i]), int(self.lengths[i])) for i in np.flatnonzero(is_over)]
        self.returns[is_over] = self.lengths[is_over] = 0
        return ended


class HostRun:
    """A run in progress.

    Args:
        training: what to run.
        start: trained learner to start from; None to start with a new one.

    Attributes:
        memory: the learner's current memory.
        curves: what was recorded so far.
        step: number of steps so far, all games together.
        steps_before: number of steps that the learner made before this run.
    """

    def __init__(self, training: HostTraining, start: Any = None) -> None:
        self.training, self.options, self.env = training, training.options, training.env
        self.algorithm: Any = training.agent.algorithm(self.env.spec)
        self.key = jax.random.key(training.seed)
        new = self.algorithm.without_replay if self._has_large_replay else self.algorithm.init
        known = new(self.key) if start is None else self.without_replay(start.memory)
        self.memory = self._with_replay(jax.tree.map(jnp.copy, known))  # copies, to be donated
        self.steps_before: int = 0 if start is None else start.steps
        self.turn_size: int = self.algorithm.games
        self.groups = [self._group() for _ in range(getattr(self.algorithm, "groups", 1))]
        self.test_games: Games | None = None
        self.curves = Curves(tuple(getattr(self.algorithm, "columns", ())))
        self.rewards, self.rows = 0.0, []
        self.untested: list[tuple[int, Any]] = []
        self.step, self.remembered, self.seconds = 0, 0, 0.0
        self.began = time.perf_counter()

    @property
    def share_done(self) -> float:
        """Fraction of the run that is done, by steps or by episodes, whichever is larger."""
        episodes = self.training.episodes
        by_episode = 0.0 if episodes is None else len(self.curves.episode) / episodes
        return max(self.step / self.training.steps, by_episode)

    @property
    def is_done(self) -> bool:
        """Whether the run has reached its number of steps or episodes."""
        return self.share_done >= 1

    def begin(self) -> None:
        """Start a new episode in every game, and the clock: loading a checkpoint is not training time."""
        self._start_clock()
        number = sum(group.games.number for group in self.groups)
        seeds = game_seeds(np.random.SeedSequence((self.training.seed, self.step)), number)
        for group, its_seeds in zip(self.groups, np.split(seeds, len(self.groups)), strict=True):
            group.begin(its_seeds)

    def advance(self) -> None:
        """Run one turn of one group, then the update if one is due."""
        turn = self.step // self.turn_size
        group = self.groups[turn % len(self.groups)]
        for episode in group.arrive():
            self.curves.episode.append((self.step, self._clock(), *episode))
        self.rewards += float(group.now.reward.sum())
        steps = np.int32(self.steps_before + self.step)
        shared = (self.algorithm, self.env, self.key, group.now, np.int32(turn), steps)
        self.memory, group.seat, row = _turn(shared, self.memory, group.seat)
        group.act(np.asarray(group.seat.action))
        self.step += self.turn_size
        self.remembered += self.turn_size
        every = self.algorithm.every
        if every is None:
            return
        self.rows.append(row)
        if (turn + 1) % every == 0:
            if self.remembered >= getattr(self.algorithm, "warm_up", 0):
                self.memory = _update((self.algorithm, self.rows, self.key, np.int32(turn)), self.memory)
            self.rows = []

    def is_due(self, every: int) -> bool:
        """Return whether the last turn passed a multiple of a number of steps, or ended the run.

        Args:
            every: the number of steps.
        """
        return self.step // every > (self.step - self.turn_size) // every or self.is_done

    def record(self) -> None:
        """Add a record of the means since the previous one."""
        steps = max(1, self.step - int(self.curves.record[-1][0] if self.curves.record else 0))
        metrics = self.algorithm.metrics(self.memory, self.steps_before + self.step) if self.curves.metrics else ()
        if self.curves.metrics:
            self.memory = self.algorithm.cleared(self.memory)
        self.curves.record.append((self.step, self._clock(), self.rewards / steps, *metrics))
        self.rewards = 0.0

    def set_aside(self) -> None:
        """Queue a copy of the current learner for a test; the queue is tested once it is full."""
        frozen = getattr(self.algorithm, "frozen", partial(jax.tree.map, jnp.copy))
        self.untested.append((self.step, frozen(self.memory)))
        if len(self.untested) == self.options.tests_together:
            self.test()

    def test(self) -> None:
        """Test the learners in the queue."""
        if not self.untested:
            return
        self._stop_clock()
        steps, memories = zip(*self.untested, strict=True)
        if self.test_games is None:
            self.test_games = self.env.games(len(memories) * self.options.test_games)
        # Always the same number of games, so that one compiled program serves all tests.
        together = self.test_games.number // self.options.test_games
        padded = [*memories, *[memories[-1]] * (together - len(memories))]
        returns = returns_of_tests(self, padded, self.test_games, (self.training.seed, int(steps[0]), 1))
        self.curves.test.extend((step, *row) for step, row in zip(steps, returns.tolist(), strict=False))
        self.untested = []
        self._start_clock()

    def save(self, keep_replay: bool, is_last: bool = False) -> None:
        """Write a checkpoint, if the run has a folder.

        Args:
            keep_replay: whether to include the replay.
            is_last: whether the run is done, so that only this checkpoint is kept.
        """
        if self.options.folder is None:
            return
        self._stop_clock()
        arrays = {f"curves/{name}": rows for name, rows in self.curves.arrays().items()}
        arrays["progress"] = np.asarray([self.step, self.remembered, self.seconds])
        arrays |= flat("memory", self.without_replay(self.memory))
        arrays["untested"] = np.asarray([step for step, _ in self.untested], np.int64)
        for step, memory in self.untested:
            arrays |= flat(f"untested/{step}", memory)
        if keep_replay and self._has_large_replay:
            arrays |= flat("replay", self.memory.replay)
        checkpoints.save(self.options.folder, self.step, self.training.what, arrays, kept=1 if is_last else 2)
        self._start_clock()

    def resume(self) -> None:
        """Load the newest checkpoint of the run's folder, if there is one."""
        folder = self.options.folder
        arrays = None if folder is None else checkpoints.latest(folder, self.training.what)
        if arrays is None:
            return
        step, remembered, self.seconds = arrays["progress"].tolist()
        self.step = int(step)
        self.curves.restore({name: arrays[f"curves/{name}"] for name in self.curves.arrays()})
        frozen = getattr(self.algorithm, "frozen", lambda memory: memory)
        like = frozen(self.memory)
        self.untested = [(int(step), unflat(f"untested/{step}", like, arrays)) for step in arrays["untested"]]
        replay = getattr(self.memory, "replay", None)
        self.memory = self._with_replay(unflat("memory", self.without_replay(self.memory), arrays))
        if "replay/0" in arrays:
            self.remembered = int(remembered)
            self.memory = self.memory._replace(replay=unflat("replay", replay, arrays))

    def close(self) -> None:
        """Close all games."""
        for group in self.groups:
            group.games.close()
        if self.test_games is not None:
            self.test_games.close()

    def without_replay(self, memory: Any) -> Any:
        """Return the part of a memory that is kept after a run: all of it, or all but the replay if that is large.

        Args:
            memory: the memory.
        """
        return memory._replace(replay=None) if self._has_large_replay else memory

    def _with_replay(self, memory: Any) -> Any:
        return memory._replace(replay=self.algorithm.new_replay()) if self._has_large_replay else memory

    @property
    def _has_large_replay(self) -> bool:
        return hasattr(self.algorithm, "new_replay")

    def _group(self) -> Group:
        games, number = self.env.games(self.turn_size), self.turn_size
        blank = jnp.asarray(self.env.blank(number))
        features = jax.eval_shape(lambda memory: self.algorithm.view(memory, blank).features, self.memory)
        features = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), features)
        return Group(games, Seat(blank, features, jnp.zeros(number, jnp.int32)))

    def _clock(self) -> float:
        return self.seconds + time.perf_counter() - self.began

    def _stop_clock(self) -> None:
        jax.block_until_ready(self.memory)
        self.seconds = self._clock()

    def _start_clock(self) -> None:
        self.began = time.perf_counter()


def returns_of_tests(
    run: HostRun, memories: Sequence[Any], games: Games, seed: Sequence[int]
) -> Float[np.ndarray, "learners games"]:
    """Play one almost greedy episode in each game, without learning.

    Args:
        run: run whose learners are tested.
        memories: memories of the learners; each plays an equal share of the games.
        games: the games.
        seed: seed of the games and of the random actions.

    Returns:
        The returns, learners x games.
    """
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *memories)
    seeds = np.random.SeedSequence(seed)
    arrival = games.begin(game_seeds(seeds, games.number))
    key = jax.random.key(int(seeds.generate_state(1)[0]))
    observation = jnp.asarray(run.env.blank(games.number))
    total, is_playing, turn = np.zeros(games.number), np.ones(games.number, bool), 0
    shared = run.algorithm, run.env, run.options.test_epsilon
    while is_playing.any() and turn < run.options.test_steps:
        observation, actions = _test_turn((*shared, stacked, arrival, key, np.int32(turn)), observation)
        games.act(np.asarray(actions))
        arrival = games.arrive()
        total += np.where(is_playing, arrival.reward, 0)
        is_playing &= ~(arrival.terminated | arrival.truncated)
        turn += 1
    return total.reshape(len(memories), -1)


def game_seeds(seeds: np.random.SeedSequence, number: int) -> Int[np.ndarray, " games"]:
    """Derive one seed per game.

    Args:
        seeds: the seed sequence.
        number: number of games.

    Returns:
        Seeds of 31 bits, as emulators require.
    """
    return seeds.generate_state(number).astype(np.int64) % 2**31


@eqx.filter_jit(donate="all-except-first")
def _turn(shared: tuple[Any, ...], memory: Any, seat: Seat) -> tuple[Any, Seat, Any]:
    """Run one turn of one group: view, act, observe."""
    algorithm, env, key, arrival, turn, steps = shared
    observation = env.observed(seat.observation, arrival.observation, arrival.is_first)
    view = algorithm.view(memory, observation)
    uniform = jax.random.uniform(jax.random.fold_in(jax.random.fold_in(key, 1), turn), arrival.reward.shape)
    action = algorithm.act(view, steps, uniform).astype(jnp.int32)
    step = Step(
        features=seat.features,
        action=seat.action,
        reward=arrival.reward,
        terminated=arrival.terminated,
        truncated=arrival.truncated,
        is_start=arrival.is_first,
        next_view=view,
        next_action=action,
        learns=~arrival.is_first,
        steps=steps,
    )
    memory, _, row = algorithm.observe(memory, step)
    return memory, Seat(observation, view.features, action), row


@eqx.filter_jit(donate="all-except-first")
def _update(shared: tuple[Any, ...], memory: Any) -> Any:
    algorithm, rows, key, turn = shared
    # In here, since on a GPU each call outside of a compiled program costs as much as acting.
    key = jax.random.fold_in(jax.random.fold_in(key, 2), turn)
    rows = jax.tree.map(lambda *leaves: jnp.stack(leaves), *rows)
    return algorithm.update(memory, rows, key, jnp.ones((), bool))


@eqx.filter_jit(donate="all-except-first")
def _test_turn(shared: tuple[Any, ...], observation: Observation) -> tuple[Observation, Int[Array, " games"]]:
    algorithm, env, epsilon, memories, arrival, key, turn = shared
    observation = env.observed(observation, arrival.observation, arrival.is_first)
    number = jax.tree.leaves(memories)[0].shape[0]
    by_learner = jax.tree.map(lambda leaf: leaf.reshape(number, -1, *leaf.shape[1:]), observation)
    keys = jax.random.split(jax.random.fold_in(key, turn), number)
    rule = Sample(EpsilonGreedy(epsilon))

    def act(one: tuple[Any, Any, Any]) -> Int[Array, " games"]:
        memory, seen, key = one
        values = jax.vmap(lambda one: algorithm.view(memory, one[None]).values[0])(seen)
        uniform = jax.random.uniform(key, values.shape[:1])
        return jax.vmap(rule, in_axes=(0, None, None, 0))(values, None, None, uniform)

    return observation, jax.lax.map(act, (memories, by_learner, keys)).reshape(-1)
