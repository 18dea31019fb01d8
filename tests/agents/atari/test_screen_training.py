"""Runs on the screen, small ones: what they leave behind, how they go on, and what their learners can do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import dorax
from dorax.agents.atari import AtariAgent
from dorax.archive import write_archive
from dorax.core import LLL, EpsilonGreedy, EValues, InverseRootLogE, LinearSchedule
from dorax.engine.curves import Curves
from dorax.engine.host import HostOptions, HostRun, HostTraining
from dorax.engine.host_training import run_on_host
from dorax.envs import Atari
from dorax.envs.atari import AtariGames
from dorax.envs.playable import playable

pytestmark = pytest.mark.slow

FREEWAY = Atari("freeway")
AGENT = AtariAgent(
    rule=EpsilonGreedy(LinearSchedule(1.0, 0.1, 200)),
    counter=EValues(0.99, form="logistic"),
    bonus=InverseRootLogE(0.05, floor=0.01),
    capacity=500,
    learning_starts=64,
    hidden=16,
    batch=4,
    games=8,
)
OPTIONS = HostOptions(
    record_every=40, test_every=160, test_games=1, tests_together=2, test_steps=12, checkpoint_every=80
)


def trained(agent: AtariAgent = AGENT, steps: int = 320, seed: int = 0, **options: Any) -> dorax.Result:
    return dorax.train(agent, FREEWAY, steps=steps, seeds=[seed], host=replace(OPTIONS, **options))


@pytest.fixture(scope="module")
def whole() -> dorax.Result:
    return trained()


def curve(result: dorax.Result, name: str) -> np.ndarray:
    """A variable of the only seed."""
    return result.data[name].values[0]


def test_a_run_leaves_its_curves(whole: dorax.Result) -> None:
    np.testing.assert_array_equal(curve(whole, "record_step"), np.arange(40, 321, 40))
    np.testing.assert_array_equal(curve(whole, "test_step"), [160, 320])
    assert whole.data.test_return.shape == (1, 2, 1)
    learned_from = 64  # updates begin with the turn that fills up to here
    assert curve(whole, "record_updates")[-1] == (320 - learned_from) / 4 + 1
    np.testing.assert_allclose(curve(whole, "record_epsilon")[[0, -1]], [1 - 0.9 * 40 / 200, 0.1])
    assert np.all(np.diff(curve(whole, "record_seconds")) > 0)
    bonus, spread = curve(whole, "record_bonus"), curve(whole, "record_bonus_spread")
    assert np.all(bonus > 0)
    assert np.all(spread < bonus)
    assert spread[0] == pytest.approx(0, abs=1e-6)  # before any update all bonuses are one
    assert whole.data.attrs["environment"] == "freeway"
    assert whole.learner().agent == AGENT


def test_the_same_seed_gives_the_same_run_and_another_one_another(whole: dorax.Result) -> None:
    again = trained()
    for name in ("record_bonus", "record_q_loss", "record_reward", "test_return"):
        np.testing.assert_array_equal(curve(again, name), curve(whole, name))
    jax.tree.map(np.testing.assert_array_equal, again.learner().memory, whole.learner().memory)
    other = trained(seed=1, steps=160)
    assert np.any(curve(other, "record_q_loss")[1:4] != curve(whole, "record_q_loss")[1:4])


class Killed(Exception):
    pass


def kill_after(records: int) -> Any:
    def watch(curves: Curves) -> None:
        if len(curves.record) == records:
            raise Killed

    return watch


def killed(records: int, steps: int, options: HostOptions) -> None:
    """A run that is killed after so many records."""
    with pytest.raises(Killed):
        run_on_host(HostTraining(AGENT, FREEWAY, steps, options=options), watch=kill_after(records))


@pytest.mark.parametrize("keep_replay", [True, False])
def test_after_a_kill_a_run_goes_on_without_a_lost_or_doubled_row(
    keep_replay: bool, tmp_path: Path, whole: dorax.Result
) -> None:
    options = replace(OPTIONS, folder=tmp_path / "run", keep_replay=keep_replay)
    killed(5, 320, options)  # at step 200, 40 after a checkpoint
    resumed = dorax.train(AGENT, FREEWAY, steps=320, seeds=[0], host=options)
    for name in ("record_step", "record_epsilon", "test_step"):
        np.testing.assert_array_equal(curve(resumed, name), curve(whole, name))
    before = curve(resumed, "record_step") <= 160
    np.testing.assert_array_equal(curve(resumed, "record_q_loss")[before], curve(whole, "record_q_loss")[before])
    # Without its replay a run has to play before it learns on.
    missing = 0 if keep_replay else 64 / 4 - 1
    assert curve(resumed, "record_updates")[-1] == curve(whole, "record_updates")[-1] - missing
    assert np.all(np.diff(curve(resumed, "record_seconds")) > 0)


def test_a_finished_run_is_prolonged_from_where_it_ended_and_fresh_begins_anew(tmp_path: Path) -> None:
    trained(steps=80, folder=tmp_path / "run")
    assert [path.name for path in (tmp_path / "run").glob("*.npz")] == ["checkpoint-0000000080.npz"]
    longer = trained(steps=160, folder=tmp_path / "run")
    np.testing.assert_array_equal(curve(longer, "record_step"), [40, 80, 120, 160])
    fresh = trained(steps=80, folder=tmp_path / "run", fresh=True)
    np.testing.assert_array_equal(curve(fresh, "record_step"), [40, 80])


def test_a_checkpoint_of_another_agent_is_refused(tmp_path: Path, refused: Any) -> None:
    trained(steps=80, folder=tmp_path / "run")
    before = scalars(tmp_path / "run" / "events", "training/bonus")
    assert len(before) == 2
    with refused("agent.bonus", "not None", "removing"):
        trained(replace(AGENT, bonus=None), folder=tmp_path / "run")
    with refused("agent.rule.type = 'Sample', not 'LLL'"):
        trained(replace(AGENT, rule=LLL(EpsilonGreedy(LinearSchedule(1.0, 0.1, 200)))), folder=tmp_path / "run")
    assert scalars(tmp_path / "run" / "events", "training/bonus") == before, "events of the earlier run are left alone"


def test_event_files_hold_every_row_once_after_an_interruption(tmp_path: Path) -> None:
    options = replace(OPTIONS, folder=tmp_path / "run")
    killed(3, 160, options)
    result = dorax.train(AGENT, FREEWAY, steps=160, seeds=[0], host=options)
    events = tmp_path / "run" / "events"
    bonuses = scalars(events, "training/bonus")
    assert [step for step, _ in bonuses] == [40, 80, 120, 160]
    np.testing.assert_allclose([value for _, value in bonuses], curve(result, "record_bonus"), rtol=1e-6)
    spreads = [value for _, value in scalars(events, "training/bonus_spread")]
    np.testing.assert_allclose(spreads, curve(result, "record_bonus_spread"), rtol=1e-6)
    rates = [value for _, value in scalars(events, "training/steps_a_second")]
    np.testing.assert_allclose(rates, 40 / np.diff(curve(result, "record_seconds"), prepend=0), rtol=1e-5)


def scalars(folder: Path, tag: str) -> list[tuple[int, float]]:
    """Step and value of each row of one curve in the event files of a folder."""
    from tensorboardX.proto import event_pb2

    found: list[tuple[int, float]] = []
    message: Any = event_pb2
    for path in folder.iterdir():
        content, at = path.read_bytes(), 0
        while at < len(content):  # records: length, its checksum, the event, its checksum
            size = int.from_bytes(content[at : at + 8], "little")
            event = message.Event.FromString(content[at + 12 : at + 12 + size])
            found += [(event.step, value.simple_value) for value in event.summary.value if value.tag == tag]
            at += 12 + size + 4
    return found


def test_a_learner_is_evaluated_and_filmed_without_learning(whole: dorax.Result, tmp_path: Path) -> None:
    learner = whole.learner()
    assert dorax.evaluate(learner, FREEWAY, episodes=1, max_steps=10).shape == (1,)
    dorax.play(learner, FREEWAY, tmp_path / "play.gif", steps=20)
    jax.tree.map(np.testing.assert_array_equal, learner.memory, whole.learner().memory)
    from PIL import Image

    with Image.open(tmp_path / "play.gif") as gif:
        assert getattr(gif, "n_frames", 1) > 1
        assert gif.size == (580, 420)


def test_a_learner_tells_values_and_counts_of_what_it_sees(whole: dorax.Result) -> None:
    learner, game = whole.learner(), playable(FREEWAY)
    seen, _ = game.reset(seed=0)
    told: set[tuple[float, ...]] = set()
    for _ in range(10):
        values = learner.q(seen)
        assert learner.counts(seen).shape == values.shape == (3,)
        assert np.all(learner.counts(seen) > 0)
        assert learner.greedy_action(seen) == int(values.argmax())
        told.add(tuple(values.tolist()))
        seen, *_ = game.step(1)
    game.close()
    assert len(told) > 1


@pytest.mark.parametrize(
    "agent", [AGENT, replace(AGENT, counter=None, bonus=None), replace(AGENT, counter=EValues(0.99, form="count"))]
)
def test_a_saved_learner_comes_back(agent: AtariAgent, tmp_path: Path) -> None:
    learner = agent.learner(FREEWAY.spec, seed=1)
    learner.save(tmp_path / "learner.npz")
    found = dorax.load(tmp_path / "learner.npz")
    assert (found.agent, found.steps) == (agent, 0)
    assert (found.spec.name, found.spec.size) == ("freeway", FREEWAY.spec.size)
    assert jax.tree.structure(found.memory) == jax.tree.structure(learner.memory)
    jax.tree.map(np.testing.assert_array_equal, found.memory, learner.memory)


EAGER = replace(AGENT, learning_starts=8, target_every=2, actor_every=3)


class OwnLoop:
    """Somebody's own loop: episodes of 13 steps of a game that is the same each time."""

    def __init__(self) -> None:
        self.game = playable(FREEWAY)
        self.seen, _ = self.game.reset(seed=3)
        self.steps = 0

    def go_on(self, *learners: Any, steps: int) -> list[int]:
        """The actions of the first learner, which all observe; they must agree."""
        taken: list[int] = []
        for _ in range(steps):
            actions = [learner.act(self.seen) for learner in learners]
            assert len(set(actions)) == 1
            following, reward, terminated, truncated, _ = self.game.step(actions[0])
            self.steps += 1
            truncated = truncated or self.steps % 13 == 0
            for learner in learners:
                learner.observe(self.seen, actions[0], float(reward), following, terminated, truncated)
            self.seen = self.game.reset(seed=3)[0] if truncated else following
            taken += actions[:1]
        return taken


@pytest.mark.parametrize("steps", [13, 18], ids=["between episodes", "within an episode"])
def test_saved_and_loaded_a_learner_goes_on_in_an_own_loop_as_it_would_have(steps: int, tmp_path: Path) -> None:
    learner, loop = EAGER.learner(FREEWAY.spec, seed=2), OwnLoop()
    loop.go_on(learner, steps=steps)
    learner.save(tmp_path / "learner.npz")
    loaded = dorax.load(tmp_path / "learner.npz")
    assert loaded.steps == steps
    updates = int(learner.memory.networks.updates)
    loop.go_on(learner, loaded, steps=16)
    assert int(learner.memory.networks.updates) == updates + 4 > 4
    jax.tree.map(np.testing.assert_array_equal, loaded.memory, learner.memory)


def test_in_an_own_loop_the_replay_holds_the_steps_that_were_observed() -> None:
    """Episodes are 14 rows: 13 steps, and the frame that each ended with."""
    learner, loop = replace(EAGER, bonus=None).learner(FREEWAY.spec), OwnLoop()
    taken = loop.go_on(learner, steps=30)
    rows = learner.memory.replay
    assert int(rows.begun[0]) == 33
    is_step = np.asarray(rows.outcomes.is_step)[:32, 0]
    np.testing.assert_array_equal(np.flatnonzero(~is_step), [13, 27])
    np.testing.assert_array_equal(np.asarray(rows.actions)[:32, 0][is_step], taken)
    np.testing.assert_array_equal(np.flatnonzero(np.asarray(rows.is_first)[:33, 0]), [0, 14, 28])
    assert not np.asarray(rows.outcomes.terminated).any()


def test_an_action_of_somebody_elses_choice_is_the_one_that_is_learned_from() -> None:
    agent = replace(EAGER, rule=EpsilonGreedy(0.0), learning_starts=400)
    learner, game = agent.learner(FREEWAY.spec), playable(FREEWAY)
    seen, _ = game.reset(seed=0)
    for action in (2, 0, 1, 2, 1, 0):
        following, reward, *_ = game.step(action)
        learner.observe(seen, action, float(reward), following, False)
        seen = following
    game.close()
    np.testing.assert_array_equal(np.asarray(learner.memory.replay.actions)[:6, 0], [2, 0, 1, 2, 1, 0])


def test_steps_out_of_order_and_what_is_no_screen_are_refused(refused: Any) -> None:
    learner = EAGER.learner(FREEWAY.spec)
    frames = np.random.default_rng(0).integers(0, 256, (3, 4, 84, 84)).astype(np.uint8)
    learner.observe(frames[0], 1, 0.0, frames[1], False)
    with refused("in order"):
        learner.observe(frames[2], 1, 0.0, frames[1], False)
    learner.observe(frames[1], 1, 0.0, frames[2], False, truncated=True)
    learner.observe(frames[0], 1, 0.0, frames[1], False)
    for wrong in (frames[0][:3], frames[0].astype(float)):
        with refused("observation has shape"):
            learner.act(wrong)


def test_training_further_goes_on_with_what_was_learned_and_with_the_schedule(whole: dorax.Result) -> None:
    learner = whole.learner()
    updates = int(learner.memory.networks.updates)
    further = dorax.train(learner, FREEWAY, steps=80, host=OPTIONS)
    assert further.learner().steps == 400
    assert int(further.learner().memory.networks.updates) == updates + (80 - 64) / 4 + 1
    np.testing.assert_allclose(curve(further, "record_epsilon"), 0.1)
    np.testing.assert_array_equal(curve(further, "record_step"), [40, 80])


def test_a_run_starts_from_the_networks_of_the_learner(whole: dorax.Result) -> None:
    learner = whole.learner()
    run = HostRun(HostTraining(AGENT, FREEWAY, steps=80, options=OPTIONS), learner)
    jax.tree.map(np.testing.assert_array_equal, run.memory.networks, learner.memory.networks)
    assert int(run.memory.replay.begun.sum()) == 0
    run.close()


def test_what_is_no_learner_is_refused(tmp_path: Path, refused: Any) -> None:
    path = tmp_path / "learner.npz"
    np.savez(path, facts='{"agent": {}, "actions": 3}', weights=np.zeros(3))
    with refused("written by dorax 0.1"):
        dorax.load(path)
    write_archive(path, "checkpoint", {}, {})
    with refused("holds a checkpoint"):
        dorax.load(path)


def test_a_run_with_few_tests_plays_no_more_games_than_those() -> None:
    made: list[int] = []

    class Counted:
        """Freeway, which notes the games that are made of it."""

        spec, blank, observed = FREEWAY.spec, FREEWAY.blank, FREEWAY.observed

        def games(self, number: int) -> AtariGames:
            made.append(number)
            return FREEWAY.games(number)

    run_on_host(HostTraining(AGENT, Counted(), 40, options=replace(OPTIONS, tests_together=10)))
    assert made == [4, 4, 1]


def test_a_seed_that_the_emulator_does_not_take_is_refused(refused: Any, whole: dorax.Result, tmp_path: Path) -> None:
    for seed in (-1, 2**31):
        with refused("seed", "2147483647"):
            dorax.play(whole.learner(), FREEWAY, tmp_path / "play.gif", steps=2, seed=seed)
        with refused("seed"):
            trained(seed=seed)


def test_a_training_that_cannot_be_is_refused(refused: Any) -> None:
    with refused("steps is 0"):
        trained(steps=0)
    with refused("checkpoint_every is 50"):
        trained(checkpoint_every=50)
    with refused("frewway"):
        Atari("frewway")
    with refused("capacity is 500"):
        replace(AGENT, games=400)
