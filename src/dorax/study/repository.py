"""Where recorded results, published claims and durations are: in the checkout, or in the installed wheel."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

ROOT = Path(__file__).parents[3]


def results() -> Path:
    """Return the folder of recorded results. Only a wheel has one inside the package (`hatch_build.py`), to be read."""
    packed = Path(str(resources.files("dorax") / "results"))
    return packed if packed.is_dir() else ROOT / "results"
