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
    "Answer",
    "Axis",
    "Condition",
    "Experiment",
    "Finding",
    "Fitted",
    "Grid",
    "Job",
    "Measure",
    "Progress",
    "Recorded",
    "RecordedTogether",
    "Run",
    "Setting",
    "Size",
    "Table",
]

Setting = Mapping[str, float]
Grid = Mapping[str, Sequence[float]] | Sequence[Setting]
Progress = Callable[[float, int], None]  # called with the fraction done and the steps so far

FIRST_TUNING_SEED = 1_000_000  # tuning seeds and reported seeds are disjoint


@dataclass(frozen=True)
class Size:
    """How much of an experiment to run.

    Attributes:
        seeds: number of reported seeds.
        tuning_seeds: number of seeds to fit settings on.
        fraction: fraction of the full number of episodes and steps.
    """

    seeds: int = 50
    tuning_seeds: int = 12
    fraction: float = 1.0

    def of(self, amount: int, least: int = 1) -> int:
        """Scale an amount, such as a number of episodes, to this size.

        Args:
            amount: amount at full size.
            least: smallest result.

        Returns:
            The scaled amount.
        """
        return max(least, round(amount * self.fraction))

    @property
    def is_full(self) -> bool:
        """Whether this is the full size."""
        return self.fraction == 1.0


FULL = Size()
QUICK = Size(seeds=5, tuning_seeds=3, fraction=0.05)


@dataclass(frozen=True)
class Job:
    """What a run gets besides settings and seeds.

    A job can be called like its progress callback, for runs that need nothing else.

    Attributes:
        progress: callback; called with the fraction done and the steps so far.
        folder: folder for the checkpoints of this run; the same again after an interruption.
        keep_replay: whether checkpoints should include the replay buffer.
    """

    progress: Progress
    folder: Path
    keep_replay: bool = False

    @property
    def scratch(self) -> Path:
        """Folder for files that are of no use once the result is stored, when it is deleted."""
        return self.folder / "scratch"

    def __call__(self, share: float, steps: int) -> None:
        """Report progress."""
        self.progress(share, steps)


Run = Callable[[Sequence[Setting], Sequence[int], Job], "xr.Dataset"]


def _runs_anywhere() -> None:
    pass


@dataclass(frozen=True)
class Recorded:
    """How to run, store and check a condition that takes long or needs special hardware.

    Each setting and seed is run separately and stored in its own file, in the output folder or committed in
    `results/<experiment>/`. A file is used if its identity matches. Whether the current code would still produce it is
    checked by a fingerprint, the outcome of a short run.

    Attributes:
        identity: from setting and seed, everything that the result depends on, as JSON data.
        seeds: the reported seeds, if they differ from those of the experiment's size.
        priority: conditions with lower numbers run first, tuning included; those with equal numbers alternate, seed by
            seed.
        fingerprint: computes the outcome of a short run on the CPU at a setting; raises `InvalidInput` if it cannot.
        check_machine: raises `InvalidInput` on a machine that cannot run this condition.
        needs_gpu: whether it takes days without a GPU, so that it is only run without one if that is asked for.
    """

    identity: Callable[[Setting, int], Mapping[str, Any]]
    seeds: Sequence[int] | None = None
    priority: int = 0
    fingerprint: Callable[[Setting], Mapping[str, Any]] | None = None
    check_machine: Callable[[], None] = _runs_anywhere
    needs_gpu: bool = False


@dataclass(frozen=True)
class RecordedTogether:
    """How to store and check a condition whose settings and seeds are run in one call, side by side on a device.

    Tuning is stored as a summary, in one file, and all reported runs in another, in the output folder or committed in
    `results/<experiment>/`. A file is used if its run, settings and seeds match. Whether the current code would still
    produce it is checked by a fingerprint, the outcome of a short run.

    Attributes:
        fingerprint: computes the outcome of a short run on the CPU at a setting; raises `InvalidInput` if it cannot.
        seeds: the reported seeds, if they differ from those of the experiment's size.
        tuning_only: whether the reported runs are made on every machine, and only tuning is recorded.
        priority: conditions with lower numbers run first, tuning included.
        check_machine: raises `InvalidInput` on a machine that cannot run this condition.
        needs_gpu: whether it takes days without a GPU, so that it is only run without one if that is asked for.
    """

    fingerprint: Callable[[Setting], Mapping[str, Any]]
    seeds: Sequence[int] | None = None
    tuning_only: bool = False
    priority: int = 0
    check_machine: Callable[[], None] = _runs_anywhere
    needs_gpu: bool = False


@dataclass(frozen=True)
class Fitted:
    """Tuning runs of another condition, which choose the setting of a condition that has none of its own.

    Attributes:
        experiment: name of its experiment.
        condition: the other condition.
    """

    experiment: str
    condition: Condition


@dataclass(frozen=True)
class Condition:
    """One agent of an experiment: how to run it, what to fit, and where to store the results.

    By default results are computed on this machine and stored under a key of the code and settings.

    Attributes:
        name: unique within the experiment.
        run: from settings, seeds and a job, computes a dataset with the dimensions setting and seed.
        grid: values to fit, by name. Every combination is a setting; an empty grid has one, empty setting. Or a list
            of settings, for designs that do not have every combination.
        limits: values that a parameter cannot exceed. Other choices at the edge of a grid are reported.
        measure: what settings are fitted by.
        recorded: how results are recorded in `results/`, if they are.
        fitted: whose tuning runs choose the setting; by default its own. Of several, which have the same grid, each
            ranks the settings, and the one with the lowest sum of ranks is chosen.
        ties: tuning runs, with the same grid, that decide between settings which the condition's own do not tell
            apart, as where none of them ever succeeds.
    """

    name: str
    run: Run
    grid: Grid = field(default_factory=dict[str, Sequence[float]])
    limits: Mapping[str, Sequence[float]] = field(default_factory=dict[str, Sequence[float]])
    measure: Measure = Q_ERROR
    recorded: Recorded | RecordedTogether | None = None
    fitted: Sequence[Fitted] = ()
    ties: Sequence[Fitted] = ()

    @property
    def fingerprint(self) -> Callable[[Setting], Mapping[str, Any]] | None:
        """The fingerprint of the runs that are recorded, if they have one."""
        return None if self.recorded is None else self.recorded.fingerprint

    @property
    def is_recorded(self) -> bool:
        """Whether the reported runs are recorded."""
        return self.records(is_tuning=False)

    def records(self, is_tuning: bool) -> bool:
        """Return whether some of its runs are recorded.

        Args:
            is_tuning: whether the tuning runs are meant, or the reported ones.
        """
        if isinstance(self.recorded, RecordedTogether):
            return is_tuning or not self.recorded.tuning_only
        return self.recorded is not None

    def seeds(self, size: Size) -> Sequence[int]:
        """Return the reported seeds.

        Args:
            size: size of the experiment.

        Returns:
            The seeds.
        """
        own = None if self.recorded is None else self.recorded.seeds
        return range(size.seeds) if own is None else own


@dataclass(frozen=True)
class Experiment:
    """One figure: its conditions, its claims and how to draw it.

    Attributes:
        figure: the figure or section of the paper.
        title: title, for the report.
        paper: what the paper says.
        conditions: creates the conditions at a size.
        claims: the claims to judge.
        draw: draws the figure.
        order: position among the experiments.
        notes: setup, origin of the parameters and caveats, for the report.
        size: the full size.
        quick: size of a quick run.
        tables: creates further tables for the report.
        finding: the experiment's row in the README.
        hero: draws the picture at the top of the README; only one experiment has it.
    """

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
    hero: Callable[[Results, Figure], None] | None = None

    @property
    def is_recorded(self) -> bool:
        """Whether some of its full-size results are recorded instead of computed on every machine."""
        return any(condition.is_recorded for condition in self.conditions(self.size))

    def extent(self, size: Size) -> str:
        """Describe the number of reported runs.

        Args:
            size: size of the experiment.

        Returns:
            Text such as `8 x 50 runs`.
        """
        seeds = [len(condition.seeds(size)) for condition in self.conditions(size)]
        return f"{len(seeds)} x {seeds[0]} runs" if len(set(seeds)) == 1 else f"{sum(seeds)} runs"


@dataclass(frozen=True)
class Answer:
    """A claim whose verdict answers the question of a finding: "yes" if it holds and "no" if it fails.

    Attributes:
        claim: text of the claim.
        effect: the effect size in words, with `{}` for the claim's value.
        label: what this answer is about, if there are several.
        case: the case whose value is shown; by default the one that decides.
        experiment: the claim's experiment, if it is another one.
    """

    claim: str
    effect: str
    label: str = ""
    case: str = ""
    experiment: str = ""


@dataclass(frozen=True)
class Finding:
    """A statement of the paper, or of ours, in one row of the README.

    Attributes:
        question: the statement as a question.
        answers: the claims that answer it.
    """

    question: str
    answers: Sequence[Answer]


@dataclass(frozen=True)
class Table:
    """A table for the report.

    Attributes:
        caption: title of the table.
        header: names of the columns.
        rows: the rows.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
