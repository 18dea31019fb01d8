"""`dorax bench`."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console

from dorax.cli.console import CONSOLE
from dorax.core.checks import InvalidInput


@dataclass(frozen=True)
class Bench:
    """Benchmark the speed, as ratios within this run."""

    json: bool = False
    """Print the numbers as JSON."""
    freeway: bool = False
    """Measure the agents that play Atari instead; needs a GPU to be meaningful."""
    wrappers: bool = False
    """Measure the overhead of wrappers per step instead, and the import time of dorax."""
    parallel: bool = False
    """Measure the agents that play many games instead; the target for their speed is for a GPU."""

    def __call__(self) -> None:
        from dorax.bench import parallel, screen, wrapping, yardsticks
        from dorax.study.progress import watching

        chosen = {"freeway": screen, "wrappers": wrapping, "parallel": parallel}
        given = [name for name in chosen if getattr(self, name)]
        if len(given) > 1:
            raise InvalidInput(f"--{given[0]} and --{given[1]} are given; allowed: one benchmark at a time")
        # On the standard error: the standard output may be JSON.
        with watching(Console(stderr=True), 1.0) as watcher:
            watcher("bench")
            found = (chosen[given[0]] if given else yardsticks).measure()
        yardsticks.print_yardsticks(found, CONSOLE, as_json=self.json)
