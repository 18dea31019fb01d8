"""The checkout that this code runs in: where recorded results, published claims and durations are.

An installed wheel has no checkout around it; there `results()` is a folder that does not exist.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[3]


def results() -> Path:
    """The folder of recorded results."""
    return ROOT / "results"
