"""The store: one netCDF file per piece of work, written atomically.

A file name ends in a key of what the file depends on, so results of other settings or other code are not found.
Each file contains a digest of its numbers, which detects damage.
"""

# xarray: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any, cast

import numpy as np
import xarray as xr

from dorax.files import in_one_line, replacing

_KEY_LENGTH = 16
_LETTERS = {"ε": "epsilon", "α": "alpha", "γ": "gamma"}


class Store:
    """The results in a folder.

    Args:
        folder: the folder; it is created if needed.

    Attributes:
        damaged: damaged files that were found.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.damaged: list[Path] = []
        with in_one_line(folder):
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass

    def path(self, experiment: str, name: str, key: str) -> Path:
        """Return the file of a piece of work.

        Args:
            experiment: name of the experiment, which is also the folder.
            name: readable part of the file name.
            key: identifies the content; long digests are shortened.

        Returns:
            The path.
        """
        for letter, word in _LETTERS.items():
            name = name.replace(letter, word)
        slug = re.sub(r"[^a-z0-9.=]+", "-", name.lower()).strip("-")
        return self.folder / "data" / experiment / f"{slug}-{key[:_KEY_LENGTH]}.nc"

    def load(self, path: Path) -> xr.Dataset | None:
        """Load a file.

        Args:
            path: the file.

        Returns:
            The dataset; None if there is no such file or it is damaged. A damaged file is added to `damaged`.
        """
        if not path.exists():
            return None
        try:
            with xr.open_dataset(path, engine="h5netcdf") as opened:
                data = opened.load()
        except Exception:  # HDF5 raises many kinds of errors for damaged files
            data = None
        if data is None or data.attrs.get("digest") != _digest(data):
            self.damaged.append(path)
            return None
        return data

    def save(self, path: Path, data: xr.Dataset) -> None:
        """Write a file atomically: readers see the old file or the new one.

        Args:
            path: the file.
            data: the dataset.
        """
        data = data.assign_attrs(digest=_digest(data))
        packed: dict[Any, Any] = {name: {"zlib": True, "complevel": 2} for name in data.data_vars}
        # Serialised in memory first: HDF5 crashes when the disk is full.
        content = data.to_netcdf(engine="h5netcdf", encoding=packed)
        with replacing(path) as unfinished:
            unfinished.write_bytes(content)

    def clear(self, experiment: str) -> None:
        """Remove the files of an experiment whose key is a digest, which excludes recorded runs, and their checkpoints.

        Args:
            experiment: name of the experiment.
        """
        for path in (self.folder / "data" / experiment).glob("*"):
            if re.search(rf"-[0-9a-f]{{{_KEY_LENGTH}}}(\.nc)?$", path.name):
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def _digest(data: xr.Dataset) -> str:
    total = hashlib.sha256()
    for name in sorted(cast("Any", data.variables), key=str):
        variable = data.variables[name]
        values = np.asarray(variable.values)
        total.update(repr((str(name), variable.dims, values.shape)).encode())
        raw = repr(values.tolist()).encode() if values.dtype.kind in "OUS" else np.ascontiguousarray(values).tobytes()
        total.update(raw)
    return total.hexdigest()
