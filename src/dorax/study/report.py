"""The report: a self-contained HTML page, with claims.json and durations.json next to it."""

# jinja2: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import base64
import json
import math
import os
import platform
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from dorax.core.checks import InvalidInput
from dorax.files import replacing
from dorax.study import figures, fingerprints
from dorax.study.archive import in_words
from dorax.study.claims import judged
from dorax.study.experiment import Experiment, Table
from dorax.study.findings import Found, findings, interval, number
from dorax.study.fitting import Choice
from dorax.study.results import NotRun, Results, load
from dorax.study.store import Store

Row = dict[str, Any]


@dataclass(frozen=True)
class Section:
    """An experiment in the report.

    Attributes:
        name: name of the experiment.
        experiment: the experiment.
        results: its results.
        claims: its rows of claims.json.
        figure: its figure, an SVG as a data URL.
        panels: title and file of each panel of the figure, in `figures/`, without suffix.
        fits: table of the fitted settings.
        edges: chosen values that lie at the edge of their grid.
        tables: further tables.
        recorded: where recorded runs were made.
    """

    name: str
    experiment: Experiment
    results: Results
    claims: Sequence[Row]
    figure: str
    panels: Sequence[tuple[str, str]]
    fits: Table | None
    edges: Sequence[str]
    tables: Sequence[Table]
    recorded: Sequence[str]

    @property
    def seeds(self) -> str:
        """The number of seeds per condition, or its range."""
        found = [result.data().sizes["seed"] for result in self.results]
        return " to ".join(map(str, sorted({min(found), max(found)})))

    @property
    def command(self) -> str:
        """The command that repeats the run."""
        seeds = "" if self.results.size.seeds == self._usual.seeds else f" --seeds {self.results.size.seeds}"
        quick = "" if self.results.size.is_full else " --quick"
        return f"dorax run {self.name}{quick}{seeds} --fresh && dorax report"

    @property
    def _usual(self) -> Any:
        return self.experiment.size if self.results.size.is_full else self.experiment.quick


def write_report(
    experiments: Mapping[str, Experiment],
    store: Store,
    at_hand: Mapping[str, Results] | None = None,
    say: Callable[[str], None] = print,
) -> list[Row]:
    """Write report.html, claims.json, durations.json and figures for everything that has been run.

    Args:
        experiments: experiments by name.
        store: where results are, and where the report is written.
        at_hand: results that need not be read from the store again.
        say: called with a message before work that takes long.

    Returns:
        The rows of claims.json.
    """
    at_hand = at_hand or {}
    sections: list[Section] = []
    missing: dict[str, str] = {}  # by experiment, the options to run it on any machine
    for name, experiment in experiments.items():
        try:
            results = at_hand[name] if name in at_hand else load(name, experiment, store)
        except NotRun:
            missing[name] = " --quick" if experiment.is_recorded else ""
            continue
        results = fingerprints.checked(name, experiment, results, store, say)
        sections.append(_section(name, experiment, results, store.folder))
    claims = [row for section in sections for row in section.claims]
    if not claims:
        raise InvalidInput(f"{store.folder} has no results of this version of the code; run dorax run first")
    with replacing(store.folder / "claims.json") as unfinished:
        unfinished.write_text(json.dumps(claims, indent=1, ensure_ascii=False) + "\n")
    with replacing(store.folder / "durations.json") as unfinished:
        # Recorded runs were made on other machines.
        here = [section for section in sections if not section.experiment.is_recorded]
        seconds = {section.name: round(section.results.seconds, 1) for section in here}
        unfinished.write_text(json.dumps(seconds, indent=1) + "\n")
    with replacing(store.folder / "report.html") as unfinished:
        unfinished.write_text(_page(sections, missing, claims, findings(experiments, claims)))
    return claims


def verdicts_by_experiment(claims: Sequence[Row]) -> dict[str, Counter[str]]:
    """Count the verdicts of each experiment.

    Args:
        claims: rows of claims.json.

    Returns:
        For each experiment, how many claims hold, fail or are unclear.
    """
    found: dict[str, Counter[str]] = {}
    for row in claims:
        found.setdefault(row["experiment"], Counter())[row["verdict"]] += 1
    return found


def _section(name: str, experiment: Experiment, results: Results, folder: Path) -> Section:
    claims = judged(name, experiment, results)
    figure = figures.drawn(experiment, results)
    figures.write(figure, folder / "figures", name)
    panels = figures.write_panels(figure, folder / "figures", name)
    if experiment.hero is not None and results.size.is_full:
        hero = figures.new_figure()
        experiment.hero(results, hero)
        figures.write(hero, folder / "figures", "hero")
    picture = (folder / "figures" / f"{name}.svg").read_bytes()
    return Section(
        name=name,
        experiment=experiment,
        results=results,
        claims=claims,
        figure="data:image/svg+xml;base64," + base64.b64encode(picture).decode(),
        panels=panels,
        fits=_fits(results),
        edges=_edges(results),
        tables=experiment.tables(results) if experiment.tables is not None else (),
        recorded=_recorded(results),
    )


def _recorded(results: Results) -> list[str]:
    """Return where the runs of each condition were made, if that was stored with them."""
    return [
        f"{each.name} (seeds: {each.data().sizes['seed']}): {each.where}" + (f" — {each.remark}" if each.remark else "")
        for each in results
        if each.where
    ]


def _fits(results: Results) -> Table | None:
    """Return the grid and the choice of every fitted condition, for both axes."""
    rows = [
        (result.name, axis, in_words(choice.setting), _scores(choice))
        for result in results
        for axis, choice in result.choices.items()
    ]
    if not rows:
        return None
    header = (
        "agent",
        "axis",
        "chosen",
        "grid, on tuning seeds: median time to the threshold (– never), or area under the curve",
    )
    return Table("Fitted settings", header, rows)


def _scores(choice: Choice) -> str:
    def score(time: float, reached: float, area: float) -> str:
        if choice.is_by_area:
            return f"area {number(area)}"
        return number(time) if math.isfinite(time) else f"– ({reached:.0%} of runs, area {number(area)})"

    return " · ".join(f"{in_words(setting)}: {score(*rest)}" for setting, *rest in choice.scores)


def _edges(results: Results) -> list[str]:
    return [
        f"{result.name} (by {axis}): {name} = {choice.setting[name]:g}"
        for result in results
        for axis, choice in result.choices.items()
        for name in choice.at_edge
    ]


def _page(
    sections: Sequence[Section], missing: Mapping[str, str], claims: Sequence[Row], found: Sequence[Found]
) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["interval"] = interval
    environment.globals["dict"] = dict
    return environment.get_template("report.html.jinja").render(
        sections=sections,
        missing=missing,
        findings=found,
        judged=Counter(row["verdict"] for row in claims if row["kind"] == "statistics"),
        checked=Counter(row["verdict"] for row in claims if row["kind"] == "mathematics"),
        by_experiment={section.name: Counter() for section in sections} | verdicts_by_experiment(claims),
        machine=f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
    )
