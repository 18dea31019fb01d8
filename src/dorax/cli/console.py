"""The console of the command line."""

from __future__ import annotations

from rich.console import Console

CONSOLE = Console()


def say(line: str) -> None:
    """Print a line above the progress bars, without wrapping.

    Args:
        line: the line.
    """
    CONSOLE.print(line, highlight=False, markup=False, soft_wrap=True)
