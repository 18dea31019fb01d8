"""Checkpoints are whole or not there, and of one configuration."""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dorax.archive import write_archive
from dorax.engine import checkpoints

WHAT = {"game": "freeway", "seed": 3, "agent": {"batch": 32}}


def saved(folder: Path, step: int, what: Mapping[str, Any] = WHAT) -> None:
    checkpoints.save(folder, step, what, {"weights": np.arange(5000) + step, "progress": np.asarray([step])})


def progress_of(folder: Path) -> list[int]:
    """The progress of the checkpoint that a run would go on from."""
    arrays = checkpoints.latest(folder, WHAT)
    assert arrays is not None
    return arrays["progress"].tolist()


def test_the_last_two_are_kept_and_the_newest_is_loaded(tmp_path: Path) -> None:
    for step in (100, 900, 1_000):
        saved(tmp_path, step)
    assert [path.name for path in sorted(tmp_path.iterdir())] == [
        "checkpoint-0000000900.npz",
        "checkpoint-0000001000.npz",
    ]
    assert progress_of(tmp_path) == [1_000]


def test_where_there_is_none_there_is_nothing_to_go_on_from(tmp_path: Path) -> None:
    assert checkpoints.latest(tmp_path / "nowhere", WHAT) is None


@pytest.mark.parametrize("harm", ["cut", "flip", "empty", "pickle", "encrypted", "lost"])
def test_a_damaged_newest_one_gives_way_to_the_one_before(harm: str, tmp_path: Path, refused: Any) -> None:
    saved(tmp_path, 100)
    saved(tmp_path, 200)

    def damage(step: int) -> None:
        path = tmp_path / f"checkpoint-{step:010d}.npz"
        content = bytearray(path.read_bytes())
        if harm == "cut":
            path.write_bytes(content[: len(content) // 2])
        elif harm == "flip":
            content[len(content) // 2] ^= 255
            path.write_bytes(content)
        elif harm == "empty":
            path.write_bytes(b"")
        elif harm == "encrypted":
            content[content.rindex(b"PK\x01\x02") + 8] ^= 1  # as the last entry of the directory has it
            path.write_bytes(content)
        else:
            with np.load(path) as archive:
                arrays = {name: archive[name] for name in archive.files}
            last = list(arrays)[-1]
            if harm == "pickle":
                arrays[last] = np.asarray([{"an": "object"}], object)
            else:
                del arrays[last]
            np.savez(path, **arrays, allow_pickle=True)

    damage(200)
    assert progress_of(tmp_path) == [100]
    damage(100)
    with refused("damaged", str(tmp_path), "removing"):
        checkpoints.latest(tmp_path, WHAT)


def test_one_of_dorax_0_1_is_refused_as_such(tmp_path: Path, refused: Any) -> None:
    """It is whole, and what cannot be read today is not to be called damaged."""
    content = np.asarray(json.dumps({"what": WHAT, "arrays": ["progress"]}))
    np.savez(tmp_path / "checkpoint-0000000100.npz", content=content, progress=np.asarray([100]))
    with refused("written by dorax 0.1"):
        checkpoints.latest(tmp_path, WHAT)


def test_a_network_is_no_checkpoint(tmp_path: Path, refused: Any) -> None:
    write_archive(tmp_path / "checkpoint-0000000100.npz", "network", WHAT, {"progress": np.asarray([100])})
    with refused(str(tmp_path)):
        checkpoints.latest(tmp_path, WHAT)


def test_one_of_another_configuration_is_refused_and_says_what_differs(tmp_path: Path, refused: Any) -> None:
    saved(tmp_path, 100)
    with refused("seed = 3, not 4", "removing"):
        checkpoints.latest(tmp_path, WHAT | {"seed": 4})
    with refused("agent.batch = 32, not 64"):
        checkpoints.latest(tmp_path, WHAT | {"agent": {"batch": 64}})


def test_a_part_of_an_agent_that_differs_is_named_as_users_write_it(tmp_path: Path, refused: Any) -> None:
    def described(bonus: Any) -> dict[str, Any]:
        return {"agent": {"type": "AtariAgent", "fields": {"batch": 32, "bonus": bonus}}}

    scaled = {"type": "InverseRootCount", "fields": {"scale": 0.05}}
    saved(tmp_path, 100, described(scaled))
    with refused("agent.bonus.scale = 0.05, not 0.1"):
        checkpoints.latest(tmp_path, described(scaled | {"fields": {"scale": 0.1}}))
    with refused("agent.bonus.scale = 0.05, not None"):
        checkpoints.latest(tmp_path, described(None))


def test_what_is_later_than_the_newest_whole_one_and_what_a_kill_left_is_let_go(tmp_path: Path) -> None:
    saved(tmp_path, 100)
    saved(tmp_path, 300)
    (tmp_path / "checkpoint-0000000300.npz").write_bytes(b"")
    (tmp_path / ".checkpoint-0000000400.npz.1.part").write_bytes(b"half")
    saved(tmp_path, 200)
    assert [path.name for path in sorted(tmp_path.iterdir())] == [
        "checkpoint-0000000100.npz",
        "checkpoint-0000000200.npz",
    ]
    assert progress_of(tmp_path) == [200]


def test_a_write_that_fails_leaves_the_old_ones_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path, 100)
    monkeypatch.setattr(np, "savez", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(ValueError, match="cannot write"):
        saved(tmp_path, 200)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-0000000100.npz"]
    assert zipfile.is_zipfile(tmp_path / "checkpoint-0000000100.npz")
