"""The console of the command line."""

from __future__ import annotations

from typing import NoReturn

from rich.console import Console


class _Console(Console):
    def on_broken_pipe(self) -> NoReturn:
        """Leave it to the command line, which ends as shells expect."""
        raise BrokenPipeError


CONSOLE = _Console()


def say(line: str) -> None:
    """Print a line above the progress bars, without wrapping.

    Args:
        line: the line.
    """
    CONSOLE.print(line, highlight=False, markup=False, soft_wrap=True)
