"""Experiments as data: what to run, what to measure, which claims to judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dorax.study.measures import AXES, Q_ERROR, Axis, Measure

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from dorax.study.claims import Claim
    from dorax.study.results import Results

__all__ = [
    "AXES",
    "FULL",
    "QUICK",
    "Axis",
    "Condition",
    "Experiment",
    "Finding",
    "Job",
    "Measure",
    "Progress",
    "Recorded",
    "Run",
    "Setting",
    "Size",
    "Table",
]

Setting = Mapping[str, float]
Progress = Callable[[float, int], None]  # the share that is done, and the steps so far

FIRST_TUNING_SEED = 1_000_000  # tuning seeds and reported seeds are disjoint


@dataclass(frozen=True)
class Size:
    """How much of an experiment to run: all of it, or a small part."""

    seeds: int = 50
    tuning_seeds: int = 12
    fraction: float = 1.0

    def of(self, amount: int, least: int = 1) -> int:
        """Scale an amount, such as a number of episodes, to this size."""
        return max(least, round(amount * self.fraction))

    @property
    def is_full(self) -> bool:
        return self.fraction == 1.0


FULL = Size()
QUICK = Size(seeds=5, tuning_seeds=3, fraction=0.05)


@dataclass(frozen=True)
class Job:
    """What a run is given besides settings and seeds.

    Calling a job reports progress, so a run that keeps no checkpoints can treat it as a plain
    progress callback.

    Attributes:
        progress: Told the share that is done and the steps so far.
        folder: A folder of this run's own for checkpoints. A run that was interrupted gets the same one again.
        keep_replay: Whether checkpoints should include the replay buffer.
    """

    progress: Progress
    folder: Path
    keep_replay: bool = False

    def __call__(self, share: float, steps: int) -> None:
        self.progress(share, steps)


Run = Callable[[Sequence[Setting], Sequence[int], Job], "xr.Dataset"]


def _runs_anywhere() -> None:
    pass


@dataclass(frozen=True)
class Recorded:
    """Policy for a condition that takes long or needs special hardware.

    Each setting and seed is run on its own and kept in a file of its own, in the output folder or
    committed in `results/<experiment>/`. A file counts if its identity is the one asked for.
    Whether today's code would still produce it is checked by a fingerprint: what a short run does.

    Attributes:
        identity: From setting and seed, everything that the result depends on, as JSON-able data.
        seeds: The reported seeds, if not those of the experiment's size.
        priority: Conditions of lower priority numbers run first; equal ones take turns, seed by seed.
        fingerprint: What a short run on the CPU does with a setting; raises InvalidInput where that is impossible.
        check_machine: Raises InvalidInput on a machine that cannot run this condition.
    """

    identity: Callable[[Setting, int], Mapping[str, Any]]
    seeds: Sequence[int] | None = None
    priority: int = 0
    fingerprint: Callable[[Setting], Mapping[str, Any]] | None = None
    check_machine: Callable[[], None] = _runs_anywhere


@dataclass(frozen=True)
class Condition:
    """One agent of an experiment: how to run it, how to fit it, and where its results are kept.

    By default results are made on this machine and stored under a key of the code and settings
    that produced them.

    Attributes:
        name: Unique within the experiment.
        run: From settings, seeds and a job, a dataset with the dimensions setting and seed.
        grid: Values to fit, by name. Every combination is a setting; without a grid there is one, empty.
        limits: Values that a number cannot exceed; a choice at the edge of its grid is suspect elsewhere.
        measure: What settings are fitted by.
        recorded: Set for results that may be recorded in `results/`.
    """

    name: str
    run: Run
    grid: Mapping[str, Sequence[float]] = field(default_factory=dict[str, Sequence[float]])
    limits: Mapping[str, Sequence[float]] = field(default_factory=dict[str, Sequence[float]])
    measure: Measure = Q_ERROR
    recorded: Recorded | None = None

    def seeds(self, size: Size) -> Sequence[int]:
        """The reported seeds at a size."""
        own = None if self.recorded is None else self.recorded.seeds
        return range(size.seeds) if own is None else own


@dataclass(frozen=True)
class Experiment:
    """One figure: its conditions at a given size, its claims, and how it is drawn."""

    figure: str
    title: str
    paper: str
    conditions: Callable[[Size], Sequence[Condition]]
    claims: Sequence[Claim]
    draw: Callable[[Results, Figure], None]
    order: int
    notes: str = ""
    size: Size = FULL
    quick: Size = QUICK
    tables: Callable[[Results], Sequence[Table]] | None = None
    finding: Finding | None = None
    hero: Callable[[Results, Figure], None] | None = None  # draws the one picture of the README

    @property
    def is_recorded(self) -> bool:
        """Whether any of its full-size results are meant to be recorded rather than made on every machine."""
        return any(condition.recorded is not None for condition in self.conditions(self.size))

    def extent(self, size: Size) -> str:
        """How many runs are reported, in words."""
        seeds = [len(condition.seeds(size)) for condition in self.conditions(size)]
        return f"{len(seeds)} x {seeds[0]} runs" if len(set(seeds)) == 1 else f"{sum(seeds)} runs"


@dataclass(frozen=True)
class Finding:
    """An experiment in one row: a question, and the claim whose verdict answers it.

    Attributes:
        question: Answered "yes" where the claim holds and "no" where it fails.
        claim: The text of one of the experiment's claims.
        effect: The claim's value in words, with `{}` for the number.
    """

    question: str
    claim: str
    effect: str


@dataclass(frozen=True)
class Table:
    """A table of numbers for the report."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
