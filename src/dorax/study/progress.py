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
    """Shows the progress of pieces of work, and of the whole."""

    def __call__(self, name: str) -> Report:
        """Begin a piece of work.

        Args:
            name: What to call it.

        Returns:
            Its progress callback, which is told the share that is done and the steps so far.
        """
        ...

    def finished(self, done: float) -> None:
        """Set how much of the expected time's work is finished."""
        ...


class Bars:
    """A bar for each piece of work, below one for the whole."""

    def __init__(self, bars: Progress, whole: TaskID) -> None:
        self._bars, self._whole = bars, whole

    def __call__(self, name: str) -> Report:
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
        self._bars.update(self._whole, completed=done)


class Lines:
    """A line for each finished piece of work, and one about every half a minute of a long one.

    Args:
        say: Prints a line.
        clock: The time in seconds.
    """

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock

    def __call__(self, name: str) -> Report:
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
        """The command prints a line of its own for every experiment."""


@contextmanager
def watching(console: Console, total: float) -> Generator[Watcher]:
    """Show progress on a console.

    Args:
        console: Where to; bars are drawn only if it is a terminal.
        total: The expected time of all work.
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
