"""The report: one self-contained HTML page, and claims.json beside it."""

# jinja2: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import base64
import json
import math
import os
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from dorax.core.checks import InvalidInput
from dorax.files import replacing
from dorax.study import figures, long_runs
from dorax.study.claims import judged
from dorax.study.experiment import AXES, Experiment, Table
from dorax.study.fitting import Choice
from dorax.study.results import NotRun, Results, load
from dorax.study.store import Store

Row = dict[str, Any]


@dataclass(frozen=True)
class Section:
    """An experiment as the report shows it."""

    name: str
    experiment: Experiment
    results: Results
    claims: Sequence[Row]
    figure: str  # SVG, as a data address
    fits: Table | None
    edges: Sequence[str]
    tables: Sequence[Table]
    recorded: Sequence[str]

    @property
    def seeds(self) -> str:
        """How many there are of each agent: of long runs, those that were made so far."""
        found = [cell.data().sizes["seed"] for cell in self.results]
        return " to ".join(map(str, sorted({min(found), max(found)})))

    @property
    def command(self) -> str:
        seeds = "" if self.results.size.seeds == self._usual.seeds else f" --seeds {self.results.size.seeds}"
        quick = "" if self.results.size.is_full else " --quick"
        return f"dorax run {self.name}{quick}{seeds} --fresh && dorax report"

    @property
    def _usual(self) -> Any:
        return self.experiment.size if self.results.size.is_full else self.experiment.quick


def write_report(
    experiments: Mapping[str, Experiment], store: Store, at_hand: Mapping[str, Results] | None = None
) -> list[Row]:
    """Write report.html, claims.json, durations.json and the figures of all that has been run; return the claims.

    Results that are `at_hand` need not be read back from the store.
    """
    at_hand = at_hand or {}
    sections: list[Section] = []
    missing: dict[str, str] = {}  # what this machine can run of them
    for name, experiment in experiments.items():
        try:
            results = at_hand[name] if name in at_hand else _loaded(name, experiment, store)
        except NotRun:
            missing[name] = "" if experiment.long_runs is None else " --quick"
            continue
        sections.append(_section(name, experiment, results, store.folder))
    claims = [row for section in sections for row in section.claims]
    if not claims:
        raise InvalidInput(f"{store.folder} holds no results of this version of the code; allowed: after dorax run")
    with replacing(store.folder / "claims.json") as unfinished:
        unfinished.write_text(json.dumps(claims, indent=1, ensure_ascii=False) + "\n")
    with replacing(store.folder / "durations.json") as unfinished:
        # Long runs were made elsewhere: what they took says nothing of this machine.
        here = [section for section in sections if section.experiment.long_runs is None]
        seconds = {section.name: round(section.results.seconds, 1) for section in here}
        unfinished.write_text(json.dumps(seconds, indent=1) + "\n")
    with replacing(store.folder / "report.html") as unfinished:
        unfinished.write_text(_page(sections, missing, claims))
    return claims


def _loaded(name: str, experiment: Experiment, store: Store) -> Results:
    return (load if experiment.long_runs is None else long_runs.load)(name, experiment, store)


def verdicts_by_experiment(claims: Sequence[Row]) -> dict[str, Counter[str]]:
    """How many claims of each experiment hold, fail or are unclear."""
    found: dict[str, Counter[str]] = {}
    for row in claims:
        found.setdefault(row["experiment"], Counter())[row["verdict"]] += 1
    return found


def number(value: float | None) -> str:
    """Three digits; a bound that the data leave open is a dash."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:.3g}" if abs(value) < 1e5 else f"{value:.2e}"


def interval(row: Row) -> str:
    """`value [low, high]`, with ∞ where the data set no bound; one number where nothing is random."""
    if row["seeds"] == 1 and row["low"] == row["high"]:
        return number(row["value"])
    low = "−∞" if row["low"] is None else number(row["low"])
    high = "∞" if row["high"] is None else number(row["high"])
    return f"{number(row['value'])} [{low}, {high}]"


def _section(name: str, experiment: Experiment, results: Results, folder: Path) -> Section:
    claims = judged(name, experiment, results)
    figures.write(figures.drawn(experiment, results), folder / "figures", name)
    picture = (folder / "figures" / f"{name}.svg").read_bytes()
    return Section(
        name=name,
        experiment=experiment,
        results=results,
        claims=claims,
        figure="data:image/svg+xml;base64," + base64.b64encode(picture).decode(),
        fits=_fits(results),
        edges=_edges(results),
        tables=experiment.tables(results) if experiment.tables is not None else (),
        recorded=_recorded(results),
    )


def _recorded(results: Results) -> list[str]:
    """Where the runs of each agent were made, if that was kept with them."""
    wheres = {cell.name: (cell.data().sizes["seed"], cell.data().attrs.get("where")) for cell in results}
    return [f"{name} (seeds: {seeds}): {where}" for name, (seeds, where) in wheres.items() if where]


def _fits(results: Results) -> Table | None:
    """The grid and the choice of every fitted agent, for both axes."""
    rows = [
        (cell.name, axis, _setting(choice.setting), _scores(choice))
        for cell in results
        for axis, choice in cell.choices.items()
    ]
    if not rows:
        return None
    header = (
        "agent",
        "axis",
        "chosen",
        "grid, on tuning seeds: median time to the bar (– never), or area under the curve",
    )
    return Table("What was fitted, and from what", header, rows)


def _scores(choice: Choice) -> str:
    def score(time: float, reached: float, area: float) -> str:
        if choice.is_by_area:
            return f"area {number(area)}"
        return number(time) if math.isfinite(time) else f"– ({reached:.0%} of runs, area {number(area)})"

    return " · ".join(f"{_setting(setting)}: {score(*rest)}" for setting, *rest in choice.scores)


def _edges(results: Results) -> list[str]:
    return [
        f"{cell.name} (by {axis}): {name} = {choice.setting[name]:g}"
        for cell in results
        for axis in AXES
        if axis in cell.choices
        for choice in (cell.choices[axis],)
        for name in choice.at_edge
    ]


def _setting(setting: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in setting.items())


def _page(sections: Sequence[Section], missing: Mapping[str, str], claims: Sequence[Row]) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["interval"] = interval
    total = Counter(row["verdict"] for row in claims)
    return environment.get_template("report.html.jinja").render(
        sections=sections,
        missing=missing,
        total=total,
        by_experiment={section.name: Counter() for section in sections} | verdicts_by_experiment(claims),
        machine=f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
    )
