"""The checkout that contains this code, with recorded results, published claims and durations.

An installed wheel has no checkout; there `results()` is a folder that does not exist.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[3]


def results() -> Path:
    """Return the folder of recorded results."""
    return ROOT / "results"
