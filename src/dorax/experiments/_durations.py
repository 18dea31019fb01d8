"""How long each experiment took when the README was last written: what to expect, nothing more."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from dorax.files import replacing

_PATH = Path(__file__).parent / "durations.json"


def expected_seconds(names: Iterable[str]) -> dict[str, float]:
    """Seconds by experiment, on two cores; one that was never timed counts as quick."""
    try:
        known = json.loads(_PATH.read_text())
    except (OSError, ValueError):
        known = {}
    return {name: max(float(known.get(name, 1.0)), 0.1) for name in names}


def record(measured: Path) -> None:
    """Keep what a report has just written."""
    with replacing(_PATH) as unfinished:
        shutil.copyfile(measured, unfinished)


def in_words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
