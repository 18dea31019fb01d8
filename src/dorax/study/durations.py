"""How long each experiment took when results were last published: what to expect, roughly."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from dorax.study import repository


def expected_seconds(names: Iterable[str]) -> dict[str, float]:
    """Seconds by experiment, on two cores; one that was never timed counts as short."""
    known = read(path())
    return {name: max(known.get(name, 1.0), 0.1) for name in names}


def path() -> Path:
    """The file of published durations."""
    return repository.results() / "durations.json"


def read(file: Path) -> dict[str, float]:
    """Seconds by experiment; empty if there is no such file."""
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError):
        return {}


def in_words(seconds: float) -> str:
    """A duration in seconds or minutes."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
