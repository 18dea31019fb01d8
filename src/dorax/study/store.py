"""The store: one netCDF file a piece of work, written whole or not at all.

A file's name ends in the key of what it holds, so a changed setting or changed code
misses and an unchanged one hits. Inside, a digest of the numbers tells a damaged file.
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

_LETTERS = {"ε": "epsilon", "α": "alpha", "γ": "gamma"}


class Store:
    """The results below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.damaged: list[Path] = []
        with in_one_line(folder):
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass

    def path(self, experiment: str, name: str, key: str) -> Path:
        for letter, word in _LETTERS.items():
            name = name.replace(letter, word)
        slug = re.sub(r"[^a-z0-9.=]+", "-", name.lower()).strip("-")
        return self.folder / "data" / experiment / f"{slug}-{key[:16]}.nc"

    def load(self, path: Path) -> xr.Dataset | None:
        """The dataset of a file; None if there is none, or if it is damaged (which is remembered)."""
        if not path.exists():
            return None
        try:
            with xr.open_dataset(path, engine="h5netcdf") as opened:
                data = opened.load()
        except Exception:  # HDF5 has no one error for a file that is not what it was
            data = None
        if data is None or data.attrs.get("digest") != _digest(data):
            self.damaged.append(path)
            return None
        return data

    def save(self, path: Path, data: xr.Dataset) -> None:
        """Write beside the target first, then rename: a reader never sees half a file."""
        data = data.assign_attrs(digest=_digest(data))
        packed: dict[Any, Any] = {name: {"zlib": True, "complevel": 2} for name in data.data_vars}
        # Made in memory first: HDF5 does not survive a disk that is full.
        content = data.to_netcdf(engine="h5netcdf", encoding=packed)
        with replacing(path) as unfinished:
            unfinished.write_bytes(content)

    def clear(self, experiment: str) -> None:
        shutil.rmtree(self.folder / "data" / experiment, ignore_errors=True)


def _digest(data: xr.Dataset) -> str:
    total = hashlib.sha256()
    for name in sorted(cast("Any", data.variables), key=str):
        variable = data.variables[name]
        values = np.asarray(variable.values)
        total.update(repr((str(name), variable.dims, values.shape)).encode())
        raw = repr(values.tolist()).encode() if values.dtype.kind in "OUS" else np.ascontiguousarray(values).tobytes()
        total.update(raw)
    return total.hexdigest()
