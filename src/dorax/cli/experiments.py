"""`dorax list`, `run`, `report` and `reproduce`: the experiments and what they found."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro
from rich.table import Table

from dorax.cli.console import CONSOLE, say
from dorax.core.checks import InvalidInput, suggestion

if TYPE_CHECKING:
    from dorax.study.experiment import Experiment, Size
    from dorax.study.results import Results


@dataclass(frozen=True)
class List:
    """List the experiments with their figure, title and size."""

    def __call__(self) -> None:
        table = Table(box=None, pad_edge=False)
        for heading in ("name", "figure", "title", "size"):
            table.add_column(heading, overflow="fold", no_wrap=heading == "name")  # names are for copying
        for name, experiment in _experiments().items():
            table.add_row(name, experiment.figure, experiment.title, experiment.extent(experiment.size))
        CONSOLE.print(table)


@dataclass(frozen=True)
class Run:
    """Run experiments. Finished results are kept, and the same command resumes after an interruption."""

    is_resumable: ClassVar[bool] = True

    names: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[NAME ...]")]
    """Experiments by name; `dorax list` shows them."""
    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("out")
    """Folder for results."""
    seeds: int | None = None
    """Number of reported seeds, if not that of the experiment."""
    quick: bool = False
    """Run few episodes, few seeds and, where compilation takes long, fewer agents."""
    fresh: bool = False
    """Remove stored results, ignore recorded ones, and run everything again."""
    keep_replay: bool = False
    """Include replay buffers in checkpoints. They take gigabytes, but a resumed run need not refill them."""
    anywhere: bool = False
    """Run studies that are meant for a GPU without one, too. They may take days."""

    def __call__(self) -> None:
        experiments = _experiments()
        if not self.names:
            raise InvalidInput(f"no experiment was given; allowed: {', '.join(experiments)}")
        for name in self.names:
            if name not in experiments:
                raise InvalidInput(
                    f"experiment {name!r} is unknown;{suggestion(name, experiments)} allowed: {', '.join(experiments)}"
                )
        _run({name: experiments[name] for name in self.names}, self)


@dataclass(frozen=True)
class Report:
    """Write report.html and claims.json from the results so far."""

    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("out")
    """Folder with results."""
    publish: bool = False
    """Also copy claims, durations and figures into results/ and docs/, and update the findings in the README."""

    def __call__(self, at_hand: dict[str, Results] | None = None) -> None:
        from dorax.study.progress import watching
        from dorax.study.publishing import publish
        from dorax.study.report import verdicts_by_experiment, write_report
        from dorax.study.store import Store

        experiments = _experiments()
        store = Store(self.out)
        with watching(CONSOLE, 1.0) as watcher:
            watcher("report")
            claims = write_report(experiments, store, at_hand, say)
        for path in store.damaged:
            print(f"{path} is damaged; dorax run will recompute it")
        for name, verdicts in verdicts_by_experiment(claims).items():
            words = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in ("holds", "fails", "unclear"))
            print(f"{name:22} {words}")
        if self.publish:
            publish(experiments, claims, store)
        print(f"wrote {self.out / 'report.html'} and {self.out / 'claims.json'}")


@dataclass(frozen=True)
class Reproduce:
    """Run every experiment except the recorded ones, then write the report."""

    is_resumable: ClassVar[bool] = True

    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("out")
    """Folder for results."""
    quick: bool = False
    """Run few episodes, few seeds and, where compilation takes long, fewer agents."""
    fresh: bool = False
    """Remove stored results and run everything again."""

    def __call__(self) -> None:
        experiments = {name: found for name, found in _experiments().items() if not found.is_recorded}
        results = _run(experiments, Run(tuple(experiments), self.out, quick=self.quick, fresh=self.fresh))
        Report(self.out)(results)


def _run(experiments: dict[str, Experiment], options: Run) -> dict[str, Results]:
    from dorax.study.durations import expected_seconds, in_words
    from dorax.study.progress import watching
    from dorax.study.results import RunOptions, run
    from dorax.study.store import Store

    sizes = {name: _size(experiment, options) for name, experiment in experiments.items()}
    store = Store(options.out)
    expected = expected_seconds(experiments)
    total, done = sum(expected.values()), 0.0
    run_options = RunOptions(options.fresh, options.keep_replay, options.anywhere)
    results: dict[str, Results] = {}
    if not options.quick and not any(experiment.is_recorded for experiment in experiments.values()):
        what = _counted(len(experiments), "experiment")
        say(f"{what}: about {in_words(total)} on two cores; finished results are not run again")
    with watching(CONSOLE, total) as watcher:
        for name, experiment in experiments.items():
            began = time.perf_counter()
            results[name] = run(name, experiment, sizes[name], store, watcher, run_options)
            for path in store.damaged:
                say(f"{path} was damaged and has been recomputed")
            store.damaged.clear()
            done += expected[name]
            watcher.finished(done)
            say(f"{name:22} {time.perf_counter() - began:6.1f} s  {experiment.title}")
    return results


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _size(experiment: Experiment, options: Run) -> Size:
    size = experiment.quick if options.quick else experiment.size
    if options.seeds is None:
        return size
    if options.seeds < 2:
        raise InvalidInput(f"seeds is {options.seeds}; allowed: 2 or more, since an interval needs two runs")
    return replace(size, seeds=options.seeds)


def _experiments() -> dict[str, Experiment]:
    from dorax import experiments

    return experiments.find()
