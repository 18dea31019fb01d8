"""The driver on the host, on scripted games: what they show, pay and end with is known, and so is what follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dorax.agents.atari import AtariAgent, DensityModel, replay
from dorax.agents.atari.network import outputs
from dorax.core import EpsilonGreedy, EValues, InverseRootCount, InverseRootLogE, LinearSchedule
from dorax.engine.host import HostOptions, HostRun, HostTraining, returns_of_tests
from dorax.envs.atari import Atari, in_blocks
from dorax.envs.host import Arrival, HostEnv
from dorax.envs.simulation import EnvSpec

pytestmark = pytest.mark.slow

ACTIONS = 6
GREEDY = AtariAgent(
    rule=EpsilonGreedy(0.0),
    counter=EValues(0.99, form="logistic"),
    bonus=InverseRootLogE(0.05, floor=0.01),
    capacity=256,
    learning_starts=32,
    hidden=8,
    batch=4,
    learning_rate=0.01,
    target_every=3,
    actor_every=1_000_000,
    games=16,
)
OPTIONS = HostOptions(record_every=80, test_every=1_000_000, checkpoint_every=80, test_games=2, test_steps=50)


@dataclass
class Sight:
    """A frame of a game, those before it in its episode, and what came of the action on it."""

    frame: np.ndarray
    before: list[np.ndarray]
    action: int = -1
    reward: float = 0.0
    terminated: bool = False
    after: Sight | None = None

    @property
    def is_step(self) -> bool:
        return self.after is not None

    @property
    def kind(self) -> str:
        if self.after is None:
            return "between games"
        if not self.after.is_step and self.after.action >= 0:
            return "last" if self.terminated else "truncated"
        return "early" if len(self.before) < 3 else "late"

    @property
    def stack(self) -> np.ndarray:
        frames = [np.zeros((84, 84), np.uint8)] * 3 + [*self.before, self.frame]
        return np.stack(frames[-4:])


class ScriptedEnv:
    """An environment whose agents see frames as in Atari games; it keeps all that its games showed.

    Attributes:
        sights: what was shown, by the number that each frame bears.
        seeds: of every group of games that began.
        episodes: return and length of every finished episode.
        order: the frames of all games, turn by turn.
    """

    def __init__(self, is_plain: bool = False) -> None:
        self.spec = EnvSpec("scripted", ACTIONS)
        self.is_plain = is_plain  # frames look alike, but for their number
        self.sights: dict[int, Sight] = {}
        self.seeds: list[list[int]] = []
        self.episodes: list[tuple[float, int]] = []
        self.order: list[np.ndarray] = []
        self._atari = Atari("freeway")

    def games(self, number: int) -> ScriptedGames:
        return ScriptedGames(self, number)

    def blank(self, number: int) -> Any:
        return self._atari.blank(number)

    def observed(self, previous: Any, arrived: Any, is_first: Any) -> Any:
        return self._atari.observed(previous, arrived, is_first)


class ScriptedGames:
    """Games of 3 to 7 steps, alternately terminated and truncated; each step pays something else."""

    def __init__(self, env: ScriptedEnv, number: int) -> None:
        self.env, self.number = env, number

    def begin(self, seeds: Sequence[int] | np.ndarray) -> Arrival:
        self.env.seeds.append([int(seed) for seed in seeds])
        self.played, self.left = np.zeros(self.number, int), 3 + np.arange(self.number) % 5
        self.totals, self.lengths = np.zeros(self.number), np.zeros(self.number, int)
        self.is_over = np.zeros(self.number, bool)
        self.now = [self._shown([]) for _ in range(self.number)]
        no = np.zeros(self.number, bool)
        return Arrival(self._frames(), np.zeros(self.number, np.float32), no, no, ~no)

    def act(self, actions: np.ndarray) -> None:
        for sight, action in zip(self.now, actions, strict=True):
            sight.action = int(action)

    def arrive(self) -> Arrival:
        is_first, rewards = self.is_over.copy(), np.zeros(self.number, np.float32)
        terminated, truncated = np.zeros(self.number, bool), np.zeros(self.number, bool)
        for i, sight in enumerate(self.now):
            if is_first[i]:
                self.now[i] = self._shown([])
                continue
            self.left[i] -= 1
            rewards[i] = len(self.env.sights) % 7
            if self.left[i] == 0:
                (terminated if self.played[i] % 2 == 0 else truncated)[i] = True
                self.played[i] += 1
                self.left[i] = 3 + (i + self.played[i]) % 5
            self.now[i] = sight.after = self._shown([*sight.before, sight.frame])
            sight.reward, sight.terminated = float(rewards[i]), bool(terminated[i])
            self.totals[i] += rewards[i]
            self.lengths[i] += 1
        self.is_over = terminated | truncated
        for i in np.flatnonzero(self.is_over):
            self.env.episodes.append((float(self.totals[i]), int(self.lengths[i])))
            self.totals[i] = self.lengths[i] = 0
        return Arrival(self._frames(), rewards, terminated, truncated, is_first)

    def close(self) -> None:
        pass

    def _shown(self, before: list[np.ndarray]) -> Sight:
        number = len(self.env.sights) + 1
        noise = np.random.default_rng(number).integers(0, 256, (84, 84))
        frame = np.where(self.env.is_plain, 90, noise).astype(np.uint8)
        frame[0, :4] = np.frombuffer(np.uint32(number).tobytes(), np.uint8)
        self.env.sights[number] = Sight(frame, before)
        return self.env.sights[number]

    def _frames(self) -> np.ndarray:
        frames = np.stack([sight.frame for sight in self.now])
        self.env.order.append(frames)
        return frames


@pytest.fixture
def env() -> ScriptedEnv:
    return ScriptedEnv()


def begun(
    env: HostEnv, agent: AtariAgent = GREEDY, turns: int = 0, options: HostOptions = OPTIONS, start: Any = None
) -> HostRun:
    run = HostRun(HostTraining(agent, env, steps=1_000_000, options=options), start)
    run.begin()
    for _ in range(turns):
        run.advance()
    return run


@pytest.mark.parametrize("groups", [1, 2])
def test_what_is_replayed_is_what_was_played(groups: int, env: ScriptedEnv) -> None:
    """Forty rows of which the ring holds sixteen."""
    run = begun(env, replace(GREEDY, groups=groups), turns=40 * groups)
    steps = jax.device_get(replay.sample(run.memory.replay, jax.random.bits(jax.random.key(1), (1, 2, 400))))
    kinds = {"between games": 0, "last": 0, "truncated": 0, "early": 0, "late": 0}
    for i in range(400):
        number = int(steps.stacks[i, -1, :4].copy().view(np.uint32)[0])
        sight = env.sights[number]
        np.testing.assert_array_equal(steps.stacks[i], in_blocks(sight.stack))
        assert steps.actions[i] == sight.action
        assert steps.outcome.is_step[i] == sight.is_step
        if sight.after is not None:
            np.testing.assert_array_equal(steps.next_stacks[i], in_blocks(sight.after.stack))
            assert steps.next_actions[i] == sight.after.action
            assert steps.outcome.reward[i] == sight.reward
            assert steps.outcome.terminated[i] == sight.terminated
        kinds[sight.kind] += 1
    assert min(kinds.values()) > 10


def test_episodes_are_told_as_they_were_played(env: ScriptedEnv) -> None:
    run = begun(env, turns=80)
    told = [row[2:] for row in run.curves.episode]
    assert len(told) > 50
    assert told == env.episodes


def test_a_record_has_the_mean_reward_since_the_one_before(env: ScriptedEnv) -> None:
    run = begun(env)
    paid: list[float] = []
    for _ in range(3):
        before = sum(sight.reward for sight in env.sights.values())
        for _ in range(10):
            run.advance()
        run.record()
        paid.append((sum(sight.reward for sight in env.sights.values()) - before) / 80)
    assert run.curves.columns[2] == "reward"
    np.testing.assert_allclose([row[2] for row in run.curves.record], paid)


def test_as_epsilon_falls_games_are_played_as_the_actor_thinks_best_of_the_frames_in_sight(env: ScriptedEnv) -> None:
    """The actor is the network of the start; the one that learns has long changed its mind."""
    run = begun(env, replace(GREEDY, rule=EpsilonGreedy(LinearSchedule(1.0, 0.0, 160))))
    actor = jax.tree.map(jnp.copy, run.memory.networks.actor)
    for _ in range(60):
        run.advance()
    seen = [sight for sight in env.sights.values() if sight.action >= 0]  # one a step
    stacks = in_blocks(np.stack([sight.stack for sight in seen]))
    chosen = np.asarray([sight.action for sight in seen])
    networks = actor, run.memory.networks.network
    best, now_best = (np.asarray(outputs(network, jnp.asarray(stacks)).values).argmax(1) for network in networks)
    np.testing.assert_array_equal(chosen[160:], best[160:])
    assert np.mean(chosen[:40] != best[:40]) > 0.4
    assert len(set(best)) > 1
    assert np.mean(best != now_best) > 0.1


def test_the_density_bonus_is_by_the_frames_that_came_before(tmp_path: Path) -> None:
    env, model = ScriptedEnv(is_plain=True), DensityModel()
    agent = replace(GREEDY, counter=model, bonus=InverseRootCount(0.05, floor=0.01), learning_starts=96)
    options = replace(OPTIONS, folder=tmp_path)
    run = begun(env, agent, turns=6, options=options)
    state, expected = model.init(), []
    for frames in env.order[:6]:  # the two groups begin, then they take turns
        state, counts = model.seen(state, jnp.asarray(in_blocks(frames)))
        expected.append(0.05 / np.sqrt(np.asarray(counts) + 0.01))
    bonuses = np.asarray(run.memory.replay.bonuses)[:3].reshape(6, 8)
    np.testing.assert_allclose(bonuses, expected, rtol=1e-3)
    assert bonuses[-1].max() < 0.8 * bonuses[0, 0]
    run.save(keep_replay=False)
    again = HostRun(run.training)
    again.resume()
    jax.tree.map(np.testing.assert_array_equal, again.memory.density, run.memory.density)


def test_games_after_an_interruption_are_others(env: ScriptedEnv, tmp_path: Path) -> None:
    run = begun(env, turns=4, options=replace(OPTIONS, folder=tmp_path))
    run.save(keep_replay=False)
    again = HostRun(run.training)
    again.resume()
    again.begin()
    seeds = [seed for group in env.seeds for seed in group]
    assert len(set(seeds)) == len(seeds) == 32


@pytest.mark.parametrize("keep_replay", [True, False])
def test_a_checkpoint_holds_the_memory_and_the_replay_if_it_is_kept(
    keep_replay: bool, env: ScriptedEnv, tmp_path: Path
) -> None:
    run = begun(env, turns=8, options=replace(OPTIONS, folder=tmp_path))
    run.set_aside()
    run.save(keep_replay)
    again = HostRun(run.training)
    again.resume()
    assert again.step == run.step == 64
    assert again.remembered == (64 if keep_replay else 0)
    assert [step for step, _ in again.untested] == [64]
    jax.tree.map(np.testing.assert_array_equal, again.untested[0][1], run.untested[0][1])
    expected = run.memory if keep_replay else run.memory._replace(replay=run.algorithm.new_replay())
    jax.tree.map(np.testing.assert_array_equal, again.memory, expected)


def test_a_run_that_starts_from_a_learner_goes_on_with_its_schedule(env: ScriptedEnv) -> None:
    """After 160 steps ε is 0: a run of a learner with so many steps plays greedily from the first turn."""
    agent = replace(GREEDY, rule=EpsilonGreedy(LinearSchedule(1.0, 0.0, 160)))
    learner = agent.learner(env.spec, steps=160)
    run = begun(env, agent, turns=10, start=learner)
    seen = [sight for sight in env.sights.values() if sight.action >= 0]
    stacks = jnp.asarray(in_blocks(np.stack([sight.stack for sight in seen])))
    best = np.asarray(outputs(learner.memory.networks.actor, stacks).values).argmax(1)
    np.testing.assert_array_equal([sight.action for sight in seen], best)
    run.record()
    assert dict(zip(run.curves.columns, run.curves.record[0], strict=True))["epsilon"] == 0


def test_test_games_are_played_once_almost_greedily(env: ScriptedEnv) -> None:
    run = HostRun(HostTraining(GREEDY, env, steps=1_000_000, options=OPTIONS))
    network = run.memory.networks.network
    returns = returns_of_tests(run, [run.algorithm.frozen(run.memory)] * 4, env.games(80), (0, 1))
    firsts = [sight for sight in env.sights.values() if not sight.before][:80]
    totals: list[float] = []
    mistakes: list[bool] = []
    for sight in firsts:
        total = 0.0
        while sight.after is not None:
            best = int(np.asarray(outputs(network, jnp.asarray(in_blocks(sight.stack)[None])).values).argmax())
            mistakes.append(best != sight.action)
            total, sight = total + sight.reward, sight.after
        totals.append(total)
    np.testing.assert_array_equal(returns, np.reshape(totals, (4, 20)))
    assert 0 < np.mean(mistakes) < 0.05
