"""The loop on scripted games: what they show, pay and end with is known, and so is what must come of it."""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dorax.agents.atari.testing import returns_of_tests
from dorax.agents.atari.training import PixelTraining, ScreenRun

from dorax.agents.atari import density, replay, training
from dorax.agents.atari.agent import PixelAgent
from dorax.agents.atari.network import in_blocks, outputs
from dorax.envs.atari import Arrival

pytestmark = pytest.mark.slow

ACTIONS = 6
GREEDY = PixelAgent(
    bonus="e-values",
    capacity=256,
    learning_starts=32,
    hidden=8,
    batch=4,
    learning_rate=0.01,
    target_every=3,
    actor_every=1_000_000,
    epsilon_first=0.0,
    epsilon_last=0.0,
)
SMALL = PixelTraining(
    GREEDY, steps=1_000_000, games=16, record_every=80, test_every=1_000_000, checkpoint_every=80, test_games=2
)


@dataclass
class Sight:
    """A frame of a game, those before it in its episode, and what came of the action on it."""

    frame: np.ndarray
    before: list[np.ndarray]
    action: int = -1
    reward: float = 0.0
    is_terminal: bool = False
    is_step: bool = False
    after: "Sight | None" = None

    @property
    def kind(self):
        if not self.is_step:
            return "between games"
        if not self.after.is_step and self.after.action >= 0:
            return "last" if self.is_terminal else "cut off"
        return "early" if len(self.before) < 3 else "late"

    @property
    def stack(self):
        frames = [np.zeros((84, 84), np.uint8)] * 3 + [*self.before, self.frame]
        return np.stack(frames[-4:])


@dataclass
class Script:
    """All games that were made, and all that they showed, by the number that each frame bears."""

    sights: dict[int, Sight] = field(default_factory=dict)
    seeds: list[list[int]] = field(default_factory=list)
    episodes: list[tuple[float, int]] = field(default_factory=list)
    order: list[np.ndarray] = field(default_factory=list)
    is_plain: bool = False  # then frames look alike, but for their number

    def games(self, game, number, sticky=0.25):
        return ScriptedGames(self, number)


class ScriptedGames:
    """Games of 3 to 7 steps that end in turn by themselves and by a time limit; each step pays something else."""

    actions = ACTIONS

    def __init__(self, script, number):
        self.script, self.number = script, number

    def begin(self, seeds):
        self.script.seeds.append(list(seeds))
        self.played, self.left = np.zeros(self.number, int), 3 + np.arange(self.number) % 5
        self.totals, self.lengths = np.zeros(self.number), np.zeros(self.number, int)
        self.is_over = np.zeros(self.number, bool)
        self.now = [self._shown([]) for _ in range(self.number)]
        no = np.zeros(self.number, bool)
        return Arrival(self._frames(), np.zeros(self.number, np.float32), no, no, ~no)

    def act(self, actions):
        for sight, action in zip(self.now, actions, strict=True):
            sight.action = int(action)

    def arrive(self):
        is_first, rewards = self.is_over.copy(), np.zeros(self.number, np.float32)
        is_terminal, is_truncated = np.zeros(self.number, bool), np.zeros(self.number, bool)
        for i, sight in enumerate(self.now):
            if is_first[i]:
                self.now[i] = self._shown([])
                continue
            self.left[i] -= 1
            rewards[i] = len(self.script.sights) % 7
            if self.left[i] == 0:
                (is_terminal if self.played[i] % 2 == 0 else is_truncated)[i] = True
                self.played[i] += 1
                self.left[i] = 3 + (i + self.played[i]) % 5
            self.now[i] = sight.after = self._shown([*sight.before, sight.frame])
            sight.reward, sight.is_terminal, sight.is_step = float(rewards[i]), bool(is_terminal[i]), True
            self.totals[i] += rewards[i]
            self.lengths[i] += 1
        self.is_over = is_terminal | is_truncated
        for i in np.flatnonzero(self.is_over):
            self.script.episodes.append((self.totals[i], self.lengths[i]))
            self.totals[i] = self.lengths[i] = 0
        return Arrival(self._frames(), rewards, is_terminal, is_truncated, is_first)

    def close(self):
        pass

    def _shown(self, before):
        number = len(self.script.sights) + 1
        noise = np.random.default_rng(number).integers(0, 256, (84, 84))
        frame = np.where(self.script.is_plain, 90, noise).astype(np.uint8)
        frame[0, :4] = np.frombuffer(np.uint32(number).tobytes(), np.uint8)
        self.script.sights[number] = Sight(frame, before)
        return self.script.sights[number]

    def _frames(self):
        frames = np.stack([sight.frame for sight in self.now])
        self.script.order.append(frames)
        return frames


@pytest.fixture
def script(monkeypatch):
    script = Script()
    monkeypatch.setattr(training, "AtariGames", script.games)
    return script


def begun(work=SMALL, turns=0):
    run = ScreenRun(work)
    run.begin()
    for _ in range(turns):
        run.advance()
    return run


def blocks(frames):
    return np.asarray(in_blocks(jnp.asarray(frames)))


@pytest.mark.parametrize("groups", [1, 2])
def test_what_is_replayed_is_what_was_played(groups, script):
    """Forty rows of which the ring holds sixteen."""
    run = begun(replace(SMALL, groups=groups), turns=40 * groups)
    steps = jax.device_get(replay.sample(run.memory.replay, jax.random.key(1), 400))
    kinds = {"between games": 0, "last": 0, "cut off": 0, "early": 0, "late": 0}
    for i in range(400):
        number = int(steps.stacks[i, -1, :4].copy().view(np.uint32)[0])
        sight = script.sights[number]
        np.testing.assert_array_equal(steps.stacks[i], blocks(sight.stack))
        assert steps.actions[i] == sight.action
        assert steps.outcome.is_step[i] == sight.is_step
        if sight.is_step:
            np.testing.assert_array_equal(steps.next_stacks[i], blocks(sight.after.stack))
            assert steps.next_actions[i] == sight.after.action
            assert steps.outcome.reward[i] == sight.reward
            assert steps.outcome.is_terminal[i] == sight.is_terminal
        kinds[sight.kind] += 1
    assert min(kinds.values()) > 10


def test_episodes_are_told_as_they_were_played(script):
    run = begun(turns=80)
    told = [row[2:] for row in run.curves.episode]
    assert len(told) > 50
    assert told == script.episodes


def test_a_record_has_the_mean_reward_since_the_one_before(script):
    run = begun()
    paid = []
    for _ in range(3):
        before = sum(sight.reward for sight in script.sights.values())
        for _ in range(10):
            run.advance()
        run.record()
        paid.append((sum(sight.reward for sight in script.sights.values()) - before) / 80)
    np.testing.assert_allclose([row[4] for row in run.curves.record], paid)


def test_as_epsilon_falls_games_are_played_as_the_actor_thinks_best_of_the_frames_in_sight(script):
    """The actor is the network of the start; the one that learns has long changed its mind."""
    run = begun(replace(SMALL, agent=replace(GREEDY, epsilon_first=1.0, epsilon_steps=160)))
    actor = jax.tree.map(jnp.copy, run.learner.actor)
    for _ in range(60):
        run.advance()
    seen = [sight for sight in script.sights.values() if sight.action >= 0]  # one a step
    stacks = blocks(np.stack([sight.stack for sight in seen]))
    played = np.asarray([sight.action for sight in seen])
    best, now_best = (np.asarray(outputs(net, stacks).values).argmax(1) for net in (actor, run.learner.network))
    np.testing.assert_array_equal(played[160:], best[160:])
    assert np.mean(played[:40] != best[:40]) > 0.4
    assert len(set(best)) > 1
    assert np.mean(best != now_best) > 0.1


@pytest.fixture(scope="module")
def density_work():
    agent = replace(GREEDY, bonus="density", learning_starts=96)
    return replace(SMALL, agent=agent)


def test_a_density_agent_is_paid_by_the_density_of_the_frames_that_came_before(script, density_work, tmp_path):
    script.is_plain = True
    run = begun(density_work, turns=6)
    model, expected = density.new_density(), []
    for frames in script.order[:6]:  # the two groups begin, then they take turns
        model, counts = density.seen(model, jnp.asarray(frames))
        expected.append(0.05 / np.sqrt(np.asarray(counts) + 0.01))
    bonuses = np.asarray(run.memory.replay.bonuses)[:3].reshape(6, 8)
    np.testing.assert_allclose(bonuses, expected, rtol=1e-3)
    assert bonuses[-1].max() < 0.8 * bonuses[0, 0]
    run.save(tmp_path, keeps_replay=False)
    again = ScreenRun(density_work)
    again.resume(tmp_path)
    jax.tree.map(np.testing.assert_array_equal, again.memory.density, run.memory.density)


def test_games_after_an_interruption_are_others(script, tmp_path):
    run = begun(turns=4)
    run.save(tmp_path, keeps_replay=False)
    again = ScreenRun(SMALL)
    again.resume(tmp_path)
    again.begin()
    seeds = [seed for group in script.seeds for seed in group]
    assert len(set(seeds)) == len(seeds) == 32


def test_test_games_are_played_once_almost_greedily():
    script = Script()
    games = script.games("freeway", 80)
    network = training.learning.new_train_state(GREEDY, ACTIONS, jax.random.key(0)).network
    returns = returns_of_tests(GREEDY, [network] * 4, games, (0, 1), max_steps=50)
    firsts = [sight for sight in script.sights.values() if not sight.before][:80]
    totals, mistakes = [], []
    for sight in firsts:
        total = 0.0
        while sight.is_step:
            best = int(np.asarray(outputs(network, blocks(sight.stack)[None]).values).argmax())
            mistakes.append(best != sight.action)
            total, sight = total + sight.reward, sight.after
        totals.append(total)
    np.testing.assert_array_equal(returns, np.reshape(totals, (4, 20)))
    assert 0 < np.mean(mistakes) < 0.05
