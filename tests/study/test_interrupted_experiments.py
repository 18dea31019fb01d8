"""An experiment that was interrupted goes on in the middle of a condition."""

from pathlib import Path

import numpy as np
import pytest

import dorax
from dorax.engine import resuming, running
from dorax.engine.training import Training
from dorax.study import repository
from dorax.study.archive import Archive
from dorax.study.experiment import FULL, Condition, RecordedTogether, Size
from dorax.study.store import Store

TRAINING = Training(dorax.TabularAgent(dorax.Softmax(1.0)), dorax.mdps.bridge(3), episodes=200, steps=4000)


class Killed(Exception):
    """What ends a run in its middle."""


def watch(name):
    calls = []

    def progress(share, steps):
        calls.append(steps)
        if len(calls) == 4:
            raise Killed

    return progress


def ignore(name):
    return lambda share, steps: None


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(repository, "ROOT", tmp_path)
    monkeypatch.setattr(resuming, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(resuming, "MOST_WRITING", np.inf)
    monkeypatch.setattr(running, "CHUNK_SECONDS", 0.0)
    monkeypatch.setattr(running, "FIRST_BLOCKS", 2)
    return Store(tmp_path / "out")


def piece_of(archive: Archive, is_together: bool, is_tuning: bool):
    recorded = RecordedTogether(lambda setting: {}) if is_together else None
    condition = Condition("tables", TRAINING, {"temperature": (0.5, 2.0)}, recorded=recorded)
    (piece,) = archive.tuning(condition) if is_tuning else archive.reported(condition, [{"temperature": 0.5}])
    return piece


@pytest.mark.parametrize("is_together", [False, True], ids=["computed", "recorded together"])
@pytest.mark.parametrize("is_tuning", [False, True], ids=["reported", "tuning"])
def test_it_goes_on_and_leaves_nothing_but_its_result(is_together, is_tuning, store):
    archive = Archive("game", Size(seeds=2, tuning_seeds=2), store)
    piece = piece_of(archive, is_together, is_tuning)
    with pytest.raises(Killed):
        archive.make(piece, watch)
    assert [*piece.path.with_suffix("").glob("scratch/*/checkpoint-*.npz")]
    made = []
    archive.make(piece, lambda name: lambda share, steps: made.append(steps))
    assert [*piece.path.parent.iterdir()] == [piece.path]
    undisturbed = TRAINING(piece.settings, piece.seeds)
    assert 0 < made[-1] < undisturbed.total_steps.sum()
    if not is_tuning:
        found = archive.find(piece)
        assert found is not None
        np.testing.assert_array_equal(found.q_error, undisturbed.q_error)


@pytest.mark.parametrize("is_together", [False, True], ids=["computed", "recorded together"])
def test_a_fresh_start_removes_checkpoints_too(is_together, store):
    archive = Archive("game", FULL, store)
    piece = piece_of(archive, is_together, False)
    folder: Path = piece.path.with_suffix("")
    with pytest.raises(Killed):
        archive.make(piece, watch)
    assert folder.exists()
    archive.forget([piece.condition])
    assert not folder.exists()
