"""How long each experiment took when the README was last written: what to expect, nothing more."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from dorax.files import replacing

_PATH = Path(__file__).parent / "durations.json"


def expected_seconds(names: Iterable[str]) -> dict[str, float]:
    """Seconds by experiment, on two cores; one that was never timed counts as short."""
    known = _known(_PATH)
    return {name: max(known.get(name, 1.0), 0.1) for name in names}


def record(measured: Path) -> None:
    """Keep what a report has just written, beside what is known of other experiments."""
    with replacing(_PATH) as unfinished:
        unfinished.write_text(json.dumps(_known(_PATH) | _known(measured), indent=1) + "\n")


def _known(path: Path) -> dict[str, float]:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return {}


def in_words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
