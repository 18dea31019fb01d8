"""Curves as TensorBoard event files."""

from __future__ import annotations

import shutil
from pathlib import Path

from dorax.core.checks import InvalidInput
from dorax.deep.pixels.curves import Curves
from dorax.files import in_one_line


class Events:
    """An event file that follows a run. Going on after an interruption writes all rows anew: none twice, none lost."""

    def __init__(self, folder: Path) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise InvalidInput("tensorboardX is not installed; allowed: after pip install tensorboardX") from None
        shutil.rmtree(folder, ignore_errors=True)
        with in_one_line(folder):
            self._writer = SummaryWriter(str(folder))
        self._written = {"episode": 0, "record": 0, "test": 0}

    def follow(self, curves: Curves) -> None:
        """Write the rows that are new."""
        for step, _, total, length in self._new(curves, "episode"):
            self._write(step, {"episode/return": total, "episode/length": length})
        written = self._written["record"]
        before = curves.record[written - 1] if written else (0.0, 0.0, 0.0)
        for row in self._new(curves, "record"):
            step, updates, seconds, epsilon, reward, bonus, count, q_loss, e_loss = row
            rate = (step - before[0]) / max(seconds - before[2], 1e-9)
            named = {"reward": reward, "bonus": bonus, "generalized count": count, "q loss": q_loss, "e loss": e_loss}
            named |= {"epsilon": epsilon, "updates": updates, "steps a second": rate}
            self._write(step, {f"training/{name}": value for name, value in named.items()})
            before = row
        for step, *returns in self._new(curves, "test"):
            self._write(step, {"test/return": sum(returns) / len(returns)})
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()

    def _new(self, curves: Curves, table: str) -> list[tuple[float, ...]]:
        rows = getattr(curves, table)[self._written[table] :]
        self._written[table] += len(rows)
        return rows

    def _write(self, step: float, named: dict[str, float]) -> None:
        for name, value in named.items():
            self._writer.add_scalar(name, value, int(step))
