"""Progress of runs: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from dorax.study.experiment import Progress as Report

SECONDS_BETWEEN_LINES = 30.0


class Watcher(Protocol):
    """Shows the progress of single runs and of the whole command."""

    def __call__(self, name: str) -> Report:
        """Start showing a run.

        Args:
            name: name of the run.

        Returns:
            Its progress callback, called with the fraction done and the steps so far.
        """
        ...

    def finished(self, done: float) -> None:
        """Set how much of the expected time has been completed."""
        ...


class Bars:
    """One bar for each run, below a bar for the whole command.

    Args:
        bars: rich's progress display.
        whole: task of the bar for the whole command.
    """

    def __init__(self, bars: Progress, whole: TaskID) -> None:
        self._bars, self._whole = bars, whole

    def __call__(self, name: str) -> Report:
        """Add a bar; see `Watcher`."""
        task = self._bars.add_task(name, total=1.0, rate="")

        def report(share: float, steps: int) -> None:
            if task not in self._bars.task_ids:
                return
            elapsed = self._bars.tasks[self._bars.task_ids.index(task)].elapsed or 0.0
            self._bars.update(task, completed=share, rate=_rate(steps, elapsed))
            if share >= 1.0:
                self._bars.remove_task(task)

        return report

    def finished(self, done: float) -> None:
        """Update the bar of the whole command."""
        self._bars.update(self._whole, completed=done)


class Lines:
    """One line for each finished run, and one about every 30 seconds of a long one.

    Args:
        say: prints a line.
        clock: returns the time in seconds.
    """

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock

    def __call__(self, name: str) -> Report:
        """Start a run; see `Watcher`."""
        began = last = self._clock()
        is_finished = False

        def report(share: float, steps: int) -> None:
            nonlocal last, is_finished
            now = self._clock()
            is_due = share >= 1.0 or now - last >= SECONDS_BETWEEN_LINES
            if is_due and not is_finished:
                state = "done" if share >= 1.0 else f"{share:.0%}"
                words = [f"{state:>4}", f"{now - began:.1f} s", _rate(steps, now - began)]
                self._say(f"  {name}: {', '.join(filter(None, words))}")
                last, is_finished = now, share >= 1.0

        return report

    def finished(self, done: float) -> None:
        """Do nothing: the command prints its own line for every experiment."""


@contextmanager
def watching(console: Console, total: float) -> Generator[Watcher]:
    """Show progress on a console.

    Args:
        console: the console; bars are drawn only on a terminal.
        total: expected time of all work.

    Yields:
        The watcher.
    """
    if not console.is_terminal:
        yield Lines(lambda line: console.print(line, highlight=False, markup=False, soft_wrap=True))
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        yield Bars(bars, bars.add_task("experiments", total=total, rate=""))


def _rate(steps: int, seconds: float) -> str:
    return f"{steps / seconds:.1e} steps/s" if steps and seconds > 0 else ""
