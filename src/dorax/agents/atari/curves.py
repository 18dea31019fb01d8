"""What a run leaves behind: a row for every finished episode, for every record and for every test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

COLUMNS = {
    "episode": ("step", "seconds", "return", "length"),
    "record": ("step", "updates", "seconds", "epsilon", "reward", "bonus", "bonus_spread", "count", "q_loss", "e_loss"),
    "test": ("step",),  # and then the return of every game
}


@dataclass
class Curves:
    """Rows of numbers, in the order of COLUMNS.

    A record holds means since the record before it: of the game's reward, of the bonus, of
    its standard deviation over the games that act together, of the count, of the losses.
    `seconds` are those of training, without tests and checkpoints.
    """

    episode: list[tuple[float, ...]] = field(default_factory=list)
    record: list[tuple[float, ...]] = field(default_factory=list)
    test: list[tuple[float, ...]] = field(default_factory=list)

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.asarray(getattr(self, name), np.float64) for name in COLUMNS}

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray]) -> Curves:
        return cls(**{name: [tuple(row) for row in arrays[name].tolist()] for name in COLUMNS})

    def dataset(self) -> xr.Dataset:
        """Variables such as `episode_return` over the dimension episode; `test_return` is test x game."""
        import xarray as xr

        data = xr.Dataset()
        for name, columns in COLUMNS.items():
            rows = self.arrays()[name]
            rows = rows.reshape(len(rows), -1) if rows.size else np.zeros((0, len(columns)))
            for i, column in enumerate(columns):
                data[f"{name}_{column}"] = (name, rows[:, i])
        tests = self.arrays()["test"]
        tests = tests[:, 1:] if tests.size else np.zeros((0, 1))
        data["test_return"] = (("test", "game"), tests)
        return data
