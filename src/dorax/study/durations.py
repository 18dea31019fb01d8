"""How long each experiment took when results were last published, to estimate the time of a run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from dorax.study import repository


def expected_seconds(names: Iterable[str]) -> dict[str, float]:
    """Estimate the time of experiments on two cores.

    Args:
        names: names of experiments.

    Returns:
        Seconds by name; 1 for an experiment that was never timed.
    """
    known = read(path())
    return {name: max(known.get(name, 1.0), 0.1) for name in names}


def path() -> Path:
    """Return the file of published durations."""
    return repository.results() / "durations.json"


def read(file: Path) -> dict[str, float]:
    """Read durations.

    Args:
        file: a JSON file.

    Returns:
        Seconds by experiment; empty if there is no such file.
    """
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError):
        return {}


def in_words(seconds: float) -> str:
    """Format a duration in seconds or minutes.

    Args:
        seconds: the duration.

    Returns:
        The text.
    """
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
