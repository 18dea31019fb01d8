"""Curves of a run on the host: one row for each finished episode, each record and each test."""

# xarray: typed in part only.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

Row = tuple[float, ...]
_EPISODE = ("steps", "episode_seconds", "return", "length")
_RECORD = ("step", "seconds", "reward")


@dataclass
class Curves:
    """Rows of numbers recorded during a run.

    A record holds means since the previous record: the environment's reward per step and the algorithm's metrics.
    Seconds are training time, without tests and checkpoints.

    Attributes:
        metrics: names of the algorithm's metrics.
        episode: step, seconds, return and length of each finished episode.
        record: step, seconds, mean reward, and the metrics.
        test: step, and the return of each test game.
    """

    metrics: tuple[str, ...] = ()
    episode: list[Row] = field(default_factory=list[Row])
    record: list[Row] = field(default_factory=list[Row])
    test: list[Row] = field(default_factory=list[Row])

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all rows as arrays, for `restore`."""
        return {name: np.asarray(getattr(self, name), np.float64) for name in ("episode", "record", "test")}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Replace all rows by those that `arrays` returned.

        Args:
            arrays: arrays by name.
        """
        for name in ("episode", "record", "test"):
            setattr(self, name, [tuple(row) for row in arrays[name].tolist()])

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of `record`."""
        return (*_RECORD, *self.metrics)

    def dataset(self) -> xr.Dataset:
        """Return the curves as a dataset with the dimensions episode, record, test and game.

        Returns:
            `return`, `length` and `steps` by episode, `record_...` by record, and `test_return` by test and game.
        """
        import xarray as xr

        arrays = self.arrays()
        data = xr.Dataset()
        for name, columns in {
            "episode": _EPISODE,
            "record": tuple(f"record_{column}" for column in self.columns),
            "test": ("test_step",),
        }.items():
            rows = arrays[name] if len(arrays[name]) else np.zeros((0, len(columns)))
            for i, column in enumerate(columns):
                data[column] = (name, rows[:, i])
        tests = arrays["test"]
        data["test_return"] = (("test", "game"), tests[:, 1:] if len(tests) else np.zeros((0, 1)))
        # Index coordinates, so that runs of different lengths can be combined.
        return data.assign_coords({name: np.arange(1, len(rows) + 1) for name, rows in arrays.items()})
