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
    "Cell",
    "Experiment",
    "LongRun",
    "Measure",
    "Progress",
    "Run",
    "Setting",
    "Size",
    "Table",
]

Setting = Mapping[str, float]
Progress = Callable[[float, int], None]  # the share that is done, and steps so far
Run = Callable[[Sequence[Setting], Sequence[int], Progress | None], "xr.Dataset"]

FIRST_TUNING_SEED = 1_000_000  # tuning seeds and reported seeds never meet


@dataclass(frozen=True)
class Size:
    """How much of an experiment to run: all of it, or a taste."""

    seeds: int = 50
    tuning_seeds: int = 12
    fraction: float = 1.0

    def of(self, amount: int, least: int = 1) -> int:
        """This size's share of an amount, such as a number of episodes."""
        return max(least, round(amount * self.fraction))

    @property
    def is_full(self) -> bool:
        return self.fraction == 1.0


FULL = Size()
QUICK = Size(seeds=5, tuning_seeds=3, fraction=0.05)


@dataclass(frozen=True)
class Cell:
    """One agent of an experiment: how to run it, and the grid that its numbers are fitted on.

    `run` takes settings (one is empty where there is no grid), seeds and a progress
    callback, and returns a dataset with the dimensions setting and seed. Settings are
    fitted by `measure`. A choice at the end of its grid is suspect,
    but for the `limits` that a number cannot pass anyway.
    """

    name: str
    run: Run
    grid: Mapping[str, Sequence[float]] = field(default_factory=dict[str, Sequence[float]])
    limits: Mapping[str, Sequence[float]] = field(default_factory=dict[str, Sequence[float]])
    measure: Measure = Q_ERROR


@dataclass(frozen=True)
class LongRun:
    """One seed of one agent that takes long, or needs what not every machine has.

    `what` is everything that its result depends on, in words: a result of anything else is
    none of it. `train` is given a folder to keep checkpoints in, from which it goes on if it was
    interrupted, whether to keep replay there too, and a progress callback.
    """

    agent: str
    seed: int
    what: str
    train: Callable[[Path, bool, Progress | None], xr.Dataset]


@dataclass(frozen=True)
class Experiment:
    """One figure: its cells at a given size, its claims, and how it is drawn.

    One that takes long or needs what not every machine has, such as a GPU, has `long_runs`,
    in the order in which to run them, and no cells; `check_machine` raises where they cannot be run.
    """

    figure: str
    title: str
    paper: str
    cells: Callable[[Size], Sequence[Cell]]
    claims: Sequence[Claim]
    draw: Callable[[Results, Figure], None]
    order: int
    notes: str = ""
    size: Size = FULL
    quick: Size = QUICK
    tables: Callable[[Results], Sequence[Table]] | None = None
    long_runs: Callable[[Size], Sequence[LongRun]] | None = None
    check_machine: Callable[[Size], None] = lambda size: None

    def agents(self, size: Size) -> list[str]:
        """The names of the agents that it runs."""
        runs = () if self.long_runs is None else self.long_runs(size)
        return list(dict.fromkeys([*(cell.name for cell in self.cells(size)), *(run.agent for run in runs)]))

    def extent(self, size: Size) -> str:
        """How much is run, in words. Of long runs some agents have fewer seeds than others."""
        if self.long_runs is not None:
            return f"{len(self.long_runs(size))} runs"
        return f"{len(self.agents(size))} x {size.seeds} runs"


@dataclass(frozen=True)
class Table:
    """Numbers that a reader of the report wants to see as such."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
