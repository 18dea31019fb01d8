"""Runs on the screen, small ones: what they leave behind, and how they go on after an interruption."""

import json
from dataclasses import replace

import jax
import numpy as np
import pytest
from dorax.agents.atari.learning import new_train_state
from dorax.agents.atari.playing import play
from dorax.agents.atari.saving import SavedNetwork, load_network, save_network, train_and_save
from dorax.agents.atari.training import PixelTraining, train_on_screen

from dorax.agents.atari import training
from dorax.agents.atari.agent import PixelAgent
from dorax.archive import write_archive
from dorax.envs.atari import AtariGames
from dorax.envs.films import write_gif

pytestmark = pytest.mark.slow

AGENT = PixelAgent(bonus="e-values", capacity=500, learning_starts=64, hidden=16, batch=4, epsilon_steps=200)
SMALL = PixelTraining(
    AGENT,
    steps=320,
    games=8,
    record_every=40,
    test_every=160,
    test_games=1,
    tests_together=2,
    test_steps=12,
    checkpoint_every=80,
)


@pytest.fixture(scope="module")
def whole():
    return train_on_screen(SMALL)


def test_a_run_leaves_its_curves(whole):
    data, _ = whole
    np.testing.assert_array_equal(data.record_step, np.arange(40, 321, 40))
    np.testing.assert_array_equal(data.test_step, [160, 320])
    assert data.test_return.shape == (2, 1)
    learned_from = 64  # updates begin with the turn that fills up to here
    assert data.record_updates[-1] == (320 - learned_from) / 4 + 1
    np.testing.assert_allclose(data.record_epsilon[[0, -1]], [1 - 0.9 * 40 / 200, 0.1])
    assert np.all(np.diff(data.record_seconds) > 0)
    assert np.all(data.record_bonus > 0)
    assert np.all(data.record_bonus_spread < data.record_bonus)
    assert data.record_bonus_spread[0] == pytest.approx(0, abs=1e-6)  # before any update all bonuses are one
    assert PixelAgent(**json.loads(data.attrs["training"])["agent"]) == AGENT


def test_the_same_seed_gives_the_same_run_and_another_one_another(whole):
    data, network = whole
    again, its_network = train_on_screen(SMALL)
    for name in ("record_bonus", "record_q_loss", "record_reward", "test_return"):
        np.testing.assert_array_equal(data[name], again[name])
    np.testing.assert_array_equal(network.q.out, its_network.q.out)
    other, _ = train_on_screen(replace(SMALL, seed=1, steps=160))
    assert np.any(other.record_q_loss.values[1:4] != data.record_q_loss.values[1:4])


class Killed(Exception):
    pass


@pytest.mark.parametrize("keeps_replay", [True, False])
def test_after_a_kill_a_run_goes_on_without_a_lost_or_doubled_row(keeps_replay, tmp_path, whole):
    def kill(curves):
        if len(curves.record) == 5:  # at step 200, 40 after a checkpoint
            raise Killed

    with pytest.raises(Killed):
        train_on_screen(SMALL, tmp_path, keeps_replay=keeps_replay, watch=kill)
    data, _ = train_on_screen(SMALL, tmp_path, keeps_replay=keeps_replay)
    uninterrupted, _ = whole
    for name in ("record_step", "record_epsilon", "test_step"):
        np.testing.assert_array_equal(data[name], uninterrupted[name])
    before = data.record_step <= 160
    np.testing.assert_array_equal(data.record_q_loss[before], uninterrupted.record_q_loss[before])
    # Without its replay a run has to play before it learns on.
    missing = 0 if keeps_replay else 64 / 4 - 1
    assert data.record_updates[-1] == uninterrupted.record_updates[-1] - missing
    assert np.all(np.diff(data.record_seconds) > 0)


def test_a_finished_run_is_prolonged_from_where_it_ended(tmp_path):
    train_on_screen(replace(SMALL, steps=160), tmp_path)
    data, _ = train_on_screen(SMALL, tmp_path)
    np.testing.assert_array_equal(data.record_step, np.arange(40, 321, 40))


def test_a_checkpoint_of_another_agent_is_refused(tmp_path, refused):
    train_on_screen(replace(SMALL, steps=80), tmp_path)
    with refused("agent.bonus = 'e-values', not 'none'", "removing"):
        train_on_screen(replace(SMALL, agent=replace(AGENT, bonus="none")), tmp_path)


def test_everything_is_saved_and_the_network_can_play(tmp_path):
    seen = []
    train_and_save(replace(SMALL, steps=160), tmp_path, progress=lambda share, steps: seen.append((share, steps)))
    assert seen[-1] == (1.0, 160)
    found = load_network(tmp_path / "network.npz")
    assert found.training == replace(SMALL, steps=160)
    moments = list(play(found, steps=20))
    assert len(moments) == 20
    assert moments[0].counts.shape == (3,)
    assert len({tuple(moment.values) for moment in moments}) > 1
    write_gif(tmp_path / "play.gif", iter(moments), ["noop", "up", "down"])
    from PIL import Image

    with Image.open(tmp_path / "play.gif") as gif:
        assert gif.n_frames > 1
        assert gif.size == (580, 420)


@pytest.mark.parametrize("agent", [AGENT, replace(AGENT, bonus="none"), replace(AGENT, e_form="count")])
def test_a_saved_network_comes_back_with_what_it_was_trained_for(agent, tmp_path):
    network = new_train_state(agent, 3, jax.random.key(1)).network
    saved = SavedNetwork(replace(SMALL, agent=agent), network)
    save_network(tmp_path / "network.npz", saved)
    found = load_network(tmp_path / "network.npz")
    assert found.training == saved.training
    assert jax.tree.structure(found.network) == jax.tree.structure(network)
    jax.tree.map(np.testing.assert_array_equal, found.network, network)


def test_what_is_no_network_is_refused(tmp_path, refused):
    path = tmp_path / "network.npz"
    np.savez(path, facts=json.dumps({"agent": {}, "actions": 3}), weights=np.zeros(3))
    with refused("written by dorax 0.1"):
        load_network(path)
    write_archive(path, "checkpoint", {}, {})
    with refused("holds a checkpoint"):
        load_network(path)
    for facts in ({}, {"actions": 3, "agent": {"no_such_number": 1}}, {"actions": 3, "agent": {}, "speed": 3}):
        write_archive(path, "network", facts, {})
        with refused("holds no network"):
            load_network(path)


def test_event_files_hold_every_row_once_after_an_interruption(tmp_path):
    def killed_events(folder):
        from dorax.agents.atari import saving

        original = saving.Events.follow

        def follow(self, curves):
            original(self, curves)
            if len(curves.record) == 3:
                raise Killed

        saving.Events.follow = follow
        try:
            with pytest.raises(Killed):
                train_and_save(replace(SMALL, steps=160), folder)
        finally:
            saving.Events.follow = original

    killed_events(tmp_path)
    data = train_and_save(replace(SMALL, steps=160), tmp_path)
    bonuses = scalars(tmp_path / "events", "training/bonus")
    assert [step for step, _ in bonuses] == [40, 80, 120, 160]
    np.testing.assert_allclose([value for _, value in bonuses], data.record_bonus, rtol=1e-6)
    spreads = [value for _, value in scalars(tmp_path / "events", "training/bonus_spread")]
    np.testing.assert_allclose(spreads, data.record_bonus_spread, rtol=1e-6)
    rates = [value for _, value in scalars(tmp_path / "events", "training/steps_a_second")]
    np.testing.assert_allclose(rates, 40 / np.diff(data.record_seconds, prepend=0), rtol=1e-5)


def scalars(folder, tag):
    """Step and value of each row of one curve in the event files of a folder."""
    from tensorboardX.proto import event_pb2

    found = []
    for path in folder.iterdir():
        content, at = path.read_bytes(), 0
        while at < len(content):  # records: length, its checksum, the event, its checksum
            size = int.from_bytes(content[at : at + 8], "little")
            event = event_pb2.Event.FromString(content[at + 12 : at + 12 + size])
            found += [(event.step, value.simple_value) for value in event.summary.value if value.tag == tag]
            at += 12 + size + 4
    return found


def test_a_run_that_is_refused_leaves_the_event_files_of_an_earlier_one_alone(tmp_path, refused):
    train_and_save(replace(SMALL, steps=80), tmp_path)
    before = scalars(tmp_path / "events", "training/bonus")
    assert len(before) == 2
    with refused("agent.acts_by"):
        train_and_save(replace(SMALL, agent=replace(AGENT, acts_by="lll")), tmp_path)
    assert scalars(tmp_path / "events", "training/bonus") == before


def test_a_run_with_few_tests_plays_no_more_games_than_those(monkeypatch):
    made = []

    class Counted(AtariGames):
        def __init__(self, game, number, *rest):
            made.append(number)
            super().__init__(game, number, *rest)

    monkeypatch.setattr(training, "AtariGames", Counted)
    train_on_screen(replace(SMALL, steps=40, tests_together=10))
    assert made == [4, 4, 1]


def test_a_seed_that_the_emulator_does_not_take_is_refused(refused, whole):
    _, network = whole
    for seed in (-1, 2**31):
        with refused("seed", "2147483647"):
            list(play(SavedNetwork(SMALL, network), steps=2, seed=seed))


@pytest.mark.parametrize(
    "change", [{"steps": 0}, {"games": 7}, {"groups": 3}, {"checkpoint_every": 50}, {"game": "frewway"}, {"games": 400}]
)
def test_a_training_that_cannot_be_is_refused(change, refused):
    with refused("allowed"):
        train_on_screen(replace(SMALL, **change))
