import errno
import os
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from dorax.files import CannotWrite, replacing
from dorax.study.store import Store


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "out")


@pytest.fixture
def data():
    values = np.random.default_rng(0).normal(size=(3, 400))
    return xr.Dataset({"x": (("seed", "episode"), values)}, coords={"seed": [0, 1, 2]}, attrs={"seconds": 1.5})


def files_below(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_what_is_saved_is_loaded(store, data):
    path = store.path("experiment", "LLL softmax, E-values", "a" * 64)
    store.save(path, data)
    loaded = store.load(path)
    assert loaded.equals(data)
    assert loaded.attrs["seconds"] == 1.5
    assert store.damaged == []


def test_what_was_never_saved_is_not_there(store):
    assert store.load(store.path("experiment", "condition", "b" * 64)) is None
    assert store.damaged == []


@pytest.mark.parametrize("keep", [0, 100, 0.5, 0.99])
def test_a_file_cut_short_is_noticed_and_named(store, data, keep):
    path = store.path("experiment", "condition", "c" * 64)
    store.save(path, data)
    whole = path.read_bytes()
    path.write_bytes(whole[: keep if keep >= 1 or keep == 0 else int(keep * len(whole))])
    assert store.load(path) is None
    assert store.damaged == [path]


def test_one_changed_number_is_noticed_and_named(store, data):
    path = store.path("experiment", "condition", "d" * 64)
    store.save(path, data)
    digest = store.load(path).attrs["digest"]
    changed = data.copy(deep=True)
    changed.x[1, 7] += 1e-9
    changed.assign_attrs(digest=digest).to_netcdf(path, engine="h5netcdf")
    assert store.load(path) is None
    assert store.damaged == [path]


def test_a_full_disk_is_one_clear_line_and_leaves_nothing_behind(store, data, monkeypatch):
    def full(self, content):
        with open(self, "wb") as file:
            file.write(content[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    path = store.path("experiment", "condition", "e" * 64)
    with pytest.raises(CannotWrite, match="No space left on device") as caught:
        store.save(path, data)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    assert files_below(store.folder) == []


def test_a_writer_that_is_stopped_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def write_half_of_it():
        with replacing(path) as unfinished:
            unfinished.write_text("half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half_of_it()
    assert path.read_text() == "old"
    assert files_below(tmp_path) == [path]


def test_an_unwritable_folder_is_one_clear_line(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(CannotWrite, match="allowed: a writable place"):
        Store(blocked / "out")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_one_clear_line(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(CannotWrite, match="Permission denied"):
        Store(tmp_path)
