"""Progress on a terminal: what runs, how fast, how long still. Elsewhere, silence."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from dorax.study.experiment import Progress as Report


class Watcher:
    """Gives each piece of work its own bar below the one for the whole."""

    def __init__(self, bars: Progress, whole: TaskID) -> None:
        self._bars, self._whole = bars, whole

    def __call__(self, name: str) -> Report:
        task = self._bars.add_task(name, total=1.0, rate="")

        def report(share: float, steps: int) -> None:
            elapsed = self._bars.tasks[self._bars.task_ids.index(task)].elapsed or 0.0
            rate = f"{steps / elapsed:.1e} steps/s" if steps and elapsed > 0 else ""
            self._bars.update(task, completed=share, rate=rate)
            if share >= 1.0:
                self._bars.remove_task(task)

        return report

    def finished(self, done: float) -> None:
        """So much of the expected time's work is finished."""
        self._bars.update(self._whole, completed=done)


@contextmanager
def watching(console: Console, total: float) -> Generator[Watcher]:
    """A watcher whose bars are drawn only where there is a terminal to draw them on."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bars:
        yield Watcher(bars, bars.add_task("experiments", total=total, rate=""))
