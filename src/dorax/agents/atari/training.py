"""Training on the screen: one loop for all agents.

The games play in groups that take turns. While the device learns from replay and looks at
one group, the emulator works on the others: neither waits for long. Everything drawn at
random comes from the seed and the number of the step, so a run is the same each time, as far
as the device's arithmetic is, but for what an interruption cuts off: the games that were
being played and, unless it is kept, the replay.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from dorax.agents.atari import checkpoints, learning
from dorax.agents.atari.actors import ActorBatch
from dorax.agents.atari.agent import PixelAgent, check_whole_numbers
from dorax.agents.atari.checkpoints import flat, unflat
from dorax.agents.atari.curves import COLUMNS, Curves
from dorax.agents.atari.learning import Memory, TrainState
from dorax.agents.atari.network import Network
from dorax.agents.atari.testing import game_seeds, returns_of_tests
from dorax.core.checks import InvalidInput
from dorax.engine.running import Progress
from dorax.envs.atari import AtariGames, check_seed

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class PixelTraining:
    """A run of one agent on one game. Steps are those of all `games` played side by side, in so many `groups`."""

    agent: PixelAgent
    game: str = "freeway"
    steps: int = 3_000_000
    seed: int = 0
    games: int = 128
    groups: int = 2
    sticky: float = 0.25
    record_every: int = 10_000
    test_every: int = 100_000
    test_games: int = 4
    tests_together: int = 10
    test_steps: int = 27_000
    checkpoint_every: int = 500_000

    def __post_init__(self) -> None:
        check_whole_numbers(self, but="seed")
        check_seed(self.seed)
        if self.checkpoint_every % self.record_every:
            raise InvalidInput(
                f"checkpoint_every is {self.checkpoint_every}; allowed: a multiple of record_every, {self.record_every}"
            )
        turns = self.groups * self.agent.update_every
        if self.games % turns:
            raise InvalidInput(f"games is {self.games}; allowed: a multiple of groups x update_every, {turns}")
        if self.agent.capacity < 8 * self.games:
            raise InvalidInput(f"capacity is {self.agent.capacity}; allowed: at least 8 steps of {self.games} games")

    @property
    def what(self) -> dict[str, Any]:
        """What a checkpoint must have in common with a run that goes on from it; runs may be prolonged."""
        return {name: value for name, value in asdict(self).items() if name not in ("steps", "checkpoint_every")}


Watch = Callable[[Curves], None]  # shown all curves so far after every record


def train_on_screen(
    training: PixelTraining,
    folder: Path | None = None,
    *,
    keeps_replay: bool = False,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> tuple[xr.Dataset, Network]:
    """The curves of a run and the network that it ended with.

    With a folder the run leaves checkpoints there, and goes on from the last one if there
    is any. With its replay kept too, which may be gigabytes, only the games begin anew;
    without, it plays until there are `learning_starts` steps before it learns on.
    """
    run = ScreenRun(training)
    if folder is not None:
        run.resume(folder)
    run.begin()
    first = run.step
    while run.step < training.steps:
        run.advance()
        if run.is_due(training.record_every):
            run.record()
            if watch is not None:
                watch(run.curves)
            if progress is not None:
                progress(min(run.step / training.steps, 0.999), run.step - first)
        if run.is_due(training.test_every):
            run.set_aside()
        if folder is not None and run.step < training.steps and run.is_due(training.checkpoint_every):
            run.save(folder, keeps_replay)
    run.test()
    if watch is not None:
        watch(run.curves)
    if folder is not None:
        run.save(folder, keeps_replay=False, is_last=True)
    run.close()
    if progress is not None:
        progress(1.0, run.step - first)
    return run.curves.dataset().assign_attrs(training=json.dumps(asdict(training))), run.learner.network


class ScreenRun:
    """A run under way."""

    def __init__(self, training: PixelTraining) -> None:
        agent, self.turn = training.agent, training.games // training.groups
        self.training, self.agent = training, agent
        self.groups = [ActorBatch(self._games(self.turn)) for _ in range(training.groups)]
        self.test_games: AtariGames | None = None
        self.key = jax.random.key(training.seed)
        actions = self.groups[0].games.actions
        self.learner: TrainState = learning.new_train_state(agent, actions, jax.random.fold_in(self.key, 0))
        self.memory: Memory = learning.new_memory(agent, training.games, training.groups)
        self.metrics = learning.new_metrics()
        self.curves = Curves()
        self.rewards = 0.0
        self.untested: list[tuple[int, Network]] = []
        self.step, self.remembered, self.seconds = 0, 0, 0.0
        self.began = time.perf_counter()
        # On a CPU one update a call: see `learning.learn`.
        self.updates_a_call = 1 if jax.default_backend() == "cpu" else self.turn // agent.update_every

    def begin(self) -> None:
        """New episodes in all games. The clock begins here: loading a checkpoint is no training."""
        self._start_clock()
        seeds = game_seeds(np.random.SeedSequence((self.training.seed, self.step)), self.training.games)
        for group, its_seeds in zip(self.groups, np.split(seeds, len(self.groups)), strict=True):
            group.begin(its_seeds)

    def advance(self) -> None:
        """A turn of one group, and the updates that go with its steps."""
        agent, turn = self.agent, self.step // self.turn
        number = turn % len(self.groups)
        group = self.groups[number]
        for episode in group.arrive():
            self.curves.episode.append((self.step, self._clock(), *episode))
        self.rewards += float(group.now.reward.sum())
        self.memory, self.metrics, actions = learning.act(
            agent,
            self.learner.actor,
            self.memory,
            self.metrics,
            np.int32(number),
            group.seen(),
            np.float32(agent.epsilon(self.step)),
            self.key,
            np.int32(turn),
        )
        group.act(np.asarray(actions))
        self.step += self.turn
        self.remembered += self.turn
        if self.remembered >= max(agent.learning_starts, 2 * self.training.games):
            for _ in range(self.turn // agent.update_every // self.updates_a_call):
                self.learner, self.metrics = learning.learn(
                    agent, self.learner, self.memory.replay, self.metrics, self.key, updates=self.updates_a_call
                )

    def is_due(self, every: int) -> bool:
        """Whether this step passed a multiple of `every`, or ended the run."""
        return self.step // every > (self.step - self.turn) // every or self.step >= self.training.steps

    def record(self) -> None:
        sums = jax.device_get(self.metrics)
        self.metrics = learning.new_metrics()
        steps, updates = max(1.0, float(sums.steps)), max(1.0, float(sums.updates))
        row = {
            "step": self.step,
            "updates": int(self.learner.updates),
            "seconds": self._clock(),
            "epsilon": self.agent.epsilon(self.step),
            "reward": self.rewards / steps,
            "bonus": float(sums.bonus) / steps,
            "bonus_spread": float(sums.bonus_spread) / steps,
            "count": float(sums.counted) / steps,
            "q_loss": float(sums.q_loss) / updates,
            "e_loss": float(sums.e_loss) / updates,
        }
        self.rewards = 0.0
        self.curves.record.append(tuple(row[column] for column in COLUMNS["record"]))

    def set_aside(self) -> None:
        """The network as it stands, to be tested with others."""
        self.untested.append((self.step, jax.tree.map(jnp.copy, self.learner.network)))
        if len(self.untested) == self.training.tests_together:
            self.test()

    def test(self) -> None:
        if not self.untested:
            return
        self._stop_clock()
        steps, networks = zip(*self.untested, strict=True)
        if self.test_games is None:
            self.test_games = self._games(len(networks) * self.training.test_games)
        # The same number of games each time, so that one program serves.
        together = self.test_games.number // self.training.test_games
        padded = [*networks, *[networks[-1]] * (together - len(networks))]
        seed = self.training.seed, steps[0], 1
        returns = returns_of_tests(self.agent, padded, self.test_games, seed, self.training.test_steps)
        self.curves.test.extend((step, *row) for step, row in zip(steps, returns.tolist(), strict=False))
        self.untested = []
        self._start_clock()

    def save(self, folder: Path, keeps_replay: bool, is_last: bool = False) -> None:
        self._stop_clock()
        arrays = {f"curves/{name}": rows for name, rows in self.curves.arrays().items()}
        arrays["progress"] = np.asarray([self.step, self.remembered, self.seconds])
        arrays |= flat("learner", self.learner) | flat("density", self.memory.density)
        arrays["untested"] = np.asarray([step for step, _ in self.untested], np.int64)
        for step, network in self.untested:
            arrays |= flat(f"untested/{step}", network)
        if keeps_replay:
            arrays |= flat("rows", self.memory.replay)
        checkpoints.save(folder, self.step, self.training.what, arrays, kept=1 if is_last else 2)
        self._start_clock()

    def resume(self, folder: Path) -> None:
        arrays = checkpoints.latest(folder, self.training.what)
        if arrays is None:
            return
        step, remembered, self.seconds = arrays["progress"].tolist()
        self.step = int(step)
        self.curves = Curves.of({name: arrays[f"curves/{name}"] for name in self.curves.arrays()})
        self.learner = unflat("learner", self.learner, arrays)
        density = unflat("density", self.memory.density, arrays)
        self.memory = self.memory._replace(density=density)
        if "rows/0" in arrays:
            self.remembered = int(remembered)
            self.memory = self.memory._replace(replay=unflat("rows", self.memory.replay, arrays))
        self.untested = [
            (int(step), unflat(f"untested/{step}", self.learner.network, arrays)) for step in arrays["untested"]
        ]

    def close(self) -> None:
        for group in self.groups:
            group.games.close()
        if self.test_games is not None:
            self.test_games.close()

    def _games(self, number: int) -> AtariGames:
        return AtariGames(self.training.game, number, self.training.sticky)

    def _clock(self) -> float:
        return self.seconds + time.perf_counter() - self.began

    def _stop_clock(self) -> None:
        jax.block_until_ready(self.learner)
        self.seconds = self._clock()

    def _start_clock(self) -> None:
        self.began = time.perf_counter()
