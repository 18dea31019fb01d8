"""What stands on the pages but in no page: it is written from the experiments and from files that a command wrote.

- `<!-- experiments -->`: every experiment, with the verdicts that `dorax report --readme` wrote into the README.
- `<!-- bench -->`: the yardsticks that `dorax bench --json` wrote into `results/`, where there are any.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from sphinx.application import Sphinx

from dorax import experiments
from dorax.experiments import _durations
from dorax.study.experiment import Experiment
from dorax.study.readme import BEGIN, END, claims_table

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
VERDICTS = ("holds", "fails", "unclear")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def fill(app: Sphinx, docname: str, content: list[str]) -> None:
    """Put what is written in its place. The README is no page of the site: what is linked in it is its table."""
    text = content[0].replace("](../README.md)", "](/paper.md)")
    for marker, write in (("<!-- experiments -->", paper), ("<!-- bench -->", yardsticks)):
        if marker in text:
            app.env.note_dependency(str(ROOT / "README.md"), docname=docname)
            text = text.replace(marker, write())
    content[0] = text


class Row(NamedTuple):
    """A claim as the README has it."""

    experiment: str
    claim: str
    value: str
    verdict: str
    seeds: str


def claims(readme: str) -> list[Row]:
    """The rows of the table of every claim."""
    table = readme.partition(BEGIN)[2].partition(END)[0].partition("<details>")[2]
    rows = [re.split(r" *(?<!\\)\| *", line)[1:-1] for line in table.splitlines() if line.startswith("|")]
    return [Row(*row) for row in rows[2:]]  # below the heading and its rule


def paper() -> str:
    found, rows = experiments.find(), claims((ROOT / "README.md").read_text())
    by_name = {name: [row for row in rows if row.experiment == name] for name in found}
    lines = ["| figure | experiment | holds | fails | unclear |", "| --- | --- | --- | --- | --- |"]
    for name, experiment in found.items():
        counts = " | ".join(str(_counts(by_name[name])[verdict]) if by_name[name] else "–" for verdict in VERDICTS)
        lines.append(f"| {experiment.figure} | [{experiment.title}](#experiment-{name}) | {counts} |")
    sections = [section(name, experiment, by_name[name]) for name, experiment in found.items()]
    return "\n".join(lines) + "\n\n" + "\n".join(sections)


def section(name: str, experiment: Experiment, rows: list[Row]) -> str:
    """One experiment: what the paper shows, what was run, what came of it, where the two differ."""
    table = {
        "figure": experiment.figure,
        "the paper": experiment.paper,
        "what we ran": _what_ran(name, experiment),
        "verdicts": _verdicts(rows),
        "how, and where we differ": f"{experiment.notes} {_more(name)}".strip(),
    }
    lines = [f"(experiment-{name})=", f"## {experiment.title}", "", "| | |", "| --- | --- |"]
    lines += [f"| **{head}** | {_cell(text)} |" for head, text in table.items()]
    picture = _picture(name)
    if picture is not None:
        lines += ["", f"![{experiment.title}]({picture})"]
    if rows:
        lines += ["", "<details><summary>Every claim with its numbers</summary>", ""]
        lines += ["| claim | value [95 % interval] | verdict | seeds |", "| --- | --- | --- | --- |"]
        lines += [f"| {row.claim} | {row.value} | {row.verdict} | {row.seeds} |" for row in rows]
        lines += ["", "</details>"]
    return "\n".join([*lines, ""])


def yardsticks() -> str:
    """A table for each file of yardsticks; where there is none, how to get one."""
    files = sorted((ROOT / "results").glob("bench*.json"))
    if not files:
        return (
            "No measurement is recorded in this version of the repository. `dorax bench --json > results/bench.json` "
            "makes one, and the next build of these pages shows it here."
        )
    return "\n\n".join(_yardstick_table(path) for path in files)


def _yardstick_table(path: Path) -> str:
    found = json.loads(path.read_text())
    lines = [f"`{path.relative_to(ROOT)}`, measured on {', '.join(found['devices'])}:", ""]
    lines += ["| yardstick | ratio | range | aim | met | steps/s | reference |", "| --- |" + " --- |" * 6]
    lines += [
        f"| {each['name']} | {each['ratio']:.3g} | {each['lowest']:.3g} – {each['highest']:.3g} | {each['aim']} | "
        f"{'yes' if each['is_met'] else 'no'} | {each['steps_per_second']:.2e} | "
        f"{each['reference_steps_per_second']:.2e} |"
        for each in found["yardsticks"]
    ]
    return "\n".join(lines)


def _what_ran(name: str, experiment: Experiment) -> str:
    recorded = len(list((ROOT / "results" / name).glob("*.nc")))
    time = f"{recorded} are recorded, in `results/{name}`"
    if not experiment.is_recorded:
        seconds = _durations.expected_seconds([name])[name]
        time = "a moment" if seconds < 1 else f"about {_durations.in_words(seconds)} on two cores"
    return f"`dorax run {name}`: {experiment.extent(experiment.size)}; {time}"


def _verdicts(rows: list[Row]) -> str:
    counts = _counts(rows)
    words = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    return words or "none recorded yet"


def _counts(rows: list[Row]) -> Counter[str]:
    return Counter(row.verdict for row in rows)


def _more(name: str) -> str:
    """A link to the page that goes on about this experiment."""
    pages = [path.name for path in sorted(DOCS.glob("*.md")) if f"`{name}`" in path.read_text()]
    pages += ["freeway.md"] if name == "freeway" else []
    return f"[More](/{pages[0]})." if pages else ""


def _picture(name: str) -> str | None:
    """The figure: the one kept beside these pages, or that of a report with the very numbers of the README."""
    if (DOCS / "figures" / f"{name}.png").exists():
        return f"figures/{name}.png"
    drawn = ROOT / "out" / "figures" / f"{name}.png"
    return f"../out/figures/{name}.png" if _report_is_of_readme() and drawn.exists() else None


@cache
def _report_is_of_readme() -> bool:
    try:
        judged = json.loads((ROOT / "out" / "claims.json").read_text())
        return claims_table(experiments.find(), judged) in (ROOT / "README.md").read_text()
    except (OSError, ValueError, KeyError):
        return False


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
