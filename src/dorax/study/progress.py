"""Progress of runs: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
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
    """One line for each finished run, and one every 30 seconds of a long one, whether or not it reports anything.

    Args:
        say: prints a line.
        clock: returns the time in seconds.
    """

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock
        self._running: list[_Running] = []

    def __call__(self, name: str) -> Report:
        """Start a run; see `Watcher`."""
        run = _Running(name, self._clock())
        self._running.append(run)

        def report(share: float, steps: int) -> None:
            run.share, run.steps = share, steps
            if share >= 1.0 and run in self._running:
                self._running.remove(run)
                self._say(run.line(self._clock()))

        return report

    def beat(self) -> None:
        """Print a line for each run whose last one is 30 seconds old."""
        now = self._clock()
        for run in list(self._running):
            if now - run.told >= SECONDS_BETWEEN_LINES:
                run.told = now
                self._say(run.line(now))

    def finished(self, done: float) -> None:
        """Do nothing: the command prints its own line for every experiment."""


class _Running:
    """A run, and when it was last told of."""

    def __init__(self, name: str, now: float) -> None:
        self.name, self.began, self.told = name, now, now
        self.share, self.steps = 0.0, 0

    def line(self, now: float) -> str:
        state = "done" if self.share >= 1.0 else f"{self.share:.0%}"
        words = [f"{state:>4}", f"{now - self.began:.1f} s", _rate(self.steps, now - self.began)]
        return f"  {self.name}: {', '.join(filter(None, words))}"


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
        lines = Lines(lambda line: console.print(line, highlight=False, markup=False, soft_wrap=True))
        is_over = threading.Event()
        # A thread, since nothing is reported while a program is compiled.
        threading.Thread(target=_beat, args=(lines, is_over), daemon=True).start()
        try:
            yield lines
        finally:
            is_over.set()
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


def _beat(lines: Lines, is_over: threading.Event) -> None:
    with suppress(OSError):  # nobody reads any more: the command will learn of it, too
        while not is_over.wait(1.0):
            lines.beat()


def _rate(steps: int, seconds: float) -> str:
    return f"{steps / seconds:.1e} steps/s" if steps and seconds > 0 else ""
