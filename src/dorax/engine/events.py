"""Curves as TensorBoard event files."""

# tensorboardX: typed in part only.
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from dorax.core.extras import needing
from dorax.engine.curves import Curves
from dorax.files import in_one_line

if TYPE_CHECKING:
    from tensorboardX import SummaryWriter


class Events:
    """TensorBoard event file of a run. A resumed run writes all rows again, so none is duplicated or lost.

    The file of an earlier run is replaced only when there is something to write.

    Args:
        folder: folder of the event file.
    """

    def __init__(self, folder: Path) -> None:
        with needing("atari"):
            import tensorboardX  # noqa: F401  # pyright: ignore[reportUnusedImport]
        self._folder = folder
        self._writer: SummaryWriter | None = None
        self._written = {"episode": 0, "record": 0, "test": 0}

    def follow(self, curves: Curves) -> None:
        """Write the rows that are new.

        Args:
            curves: all rows so far.
        """
        writer = self._writer = self._writer or self._opened()
        for step, _, total, length in self._new(curves, "episode"):
            _write(writer, step, {"episode/return": total, "episode/length": length})
        written = self._written["record"]
        before = curves.record[written - 1] if written else (0.0, 0.0)
        for row in self._new(curves, "record"):
            named = dict(zip(curves.columns, row, strict=True))
            step, seconds = named.pop("step"), named.pop("seconds")
            named["steps a second"] = (step - before[0]) / max(seconds - before[1], 1e-9)
            _write(writer, step, {f"training/{name}": value for name, value in named.items()})
            before = row
        for step, *returns in self._new(curves, "test"):
            _write(writer, step, {"test/return": sum(returns) / len(returns)})
        writer.flush()

    def close(self) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()

    def _new(self, curves: Curves, table: str) -> list[tuple[float, ...]]:
        rows = getattr(curves, table)[self._written[table] :]
        self._written[table] += len(rows)
        return rows

    def _opened(self) -> SummaryWriter:
        from tensorboardX import SummaryWriter

        shutil.rmtree(self._folder, ignore_errors=True)
        with in_one_line(self._folder):
            return SummaryWriter(str(self._folder))


def _write(writer: SummaryWriter, step: float, named: dict[str, float]) -> None:
    for name, value in named.items():
        writer.add_scalar(name, value, int(step))
