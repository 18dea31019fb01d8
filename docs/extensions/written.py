"""Parts of pages that are generated: from the experiments, and from files in `results/` that commands wrote.

- `<!-- experiments -->`: every experiment, with its verdicts.
- `<!-- claims -->`: every claim with its numbers.
- `<!-- claim: EXPERIMENT | TEXT -->`: one claim's verdict and numbers, or those of a case: `EXPERIMENT | TEXT | CASE`.
- `<!-- gallery -->`: the figures of all experiments.
- `<!-- bench -->`: the yardsticks that `dorax bench --json` measured, if any are recorded.

Claims come from `results/claims.json`, which `dorax report --publish` writes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from dorax import experiments
from dorax.study import durations
from dorax.study.experiment import Experiment
from dorax.study.findings import interval
from dorax.study.publishing import claims_table, published_claims

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
VERDICTS = ("holds", "fails", "unclear")
MET = {True: "yes", False: "no", None: "–"}

Row = dict[str, Any]
_CLAIM = re.compile(r"<!-- claim: (.*?) -->")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def fill(app: Sphinx, docname: str, content: list[str]) -> None:
    """Replace markers by what they stand for. The README is not a page of the site: links to it go to the paper."""
    text = content[0].replace("](../README.md)", "](/paper.md)")
    markers = {
        "<!-- experiments -->": paper,
        "<!-- claims -->": all_claims,
        "<!-- gallery -->": gallery,
        "<!-- bench -->": yardsticks,
    }
    for marker, write in markers.items():
        if marker in text:
            app.env.note_dependency(str(ROOT / "results" / "claims.json"), docname=docname)
            text = text.replace(marker, write())
    content[0] = _CLAIM.sub(lambda found: one_claim(*found[1].split(" | ")), text)


def one_claim(experiment: str, text: str, case: str = "") -> str:
    """The numbers and the verdict of a claim, with a link to all claims of its experiment.

    Raises:
        LookupError: if no such claim is published.
    """
    rows = [row for row in claims_by_experiment()[experiment] if row["claim"] == text]
    if case:
        rows = [{"kind": row["kind"], **each} for row in rows for each in row.get("cases", ()) if each["case"] == case]
    if not rows:
        raise LookupError(f"no claim of {experiment} reads {text!r}{f', {case}' if case else ''}")
    return f"{interval(rows[0])} ([{rows[0]['verdict']}](#claims-{experiment}))"


def gallery() -> str:
    """The figure of every experiment that has one, with its title."""
    found = [(name, each) for name, each in experiments.find().items() if (DOCS / "figures" / f"{name}.png").exists()]
    return "\n".join(
        f"## {each.title}\n\n{each.figure}: [what was run, and what came of it](#experiment-{name})\n\n"
        f"![{each.title}](figures/{name}.png)\n"
        for name, each in found
    )


def paper() -> str:
    """A table of all experiments, and a section on each."""
    found, by_name = experiments.find(), claims_by_experiment()
    lines = ["| figure | experiment | holds | fails | unclear |", "| --- | --- | --- | --- | --- |"]
    for name, experiment in found.items():
        counts = " | ".join(str(_counts(by_name[name])[verdict]) if by_name[name] else "–" for verdict in VERDICTS)
        lines.append(f"| {experiment.figure} | [{experiment.title}](#experiment-{name}) | {counts} |")
    sections = [section(name, experiment, by_name[name]) for name, experiment in found.items()]
    return "\n".join(lines) + "\n\n" + "\n".join(sections)


def all_claims() -> str:
    """A table of claims for each experiment."""
    by_name = claims_by_experiment()
    return "\n".join(
        f"(claims-{name})=\n## {experiment.title}\n\n{experiment.figure}, [`{name}`](#experiment-{name})\n\n"
        f"{claims_table(by_name[name])}\n"
        for name, experiment in experiments.find().items()
        if by_name[name]
    )


def claims_by_experiment() -> dict[str, list[Row]]:
    """The published claims of every experiment."""
    rows = published_claims()
    return {name: [row for row in rows if row["experiment"] == name] for name in experiments.find()}


def section(name: str, experiment: Experiment, rows: list[Row]) -> str:
    """One experiment: what the paper shows, what was run, what came of it, where the two differ."""
    table = {
        "figure": experiment.figure,
        "the paper": experiment.paper,
        "what we ran": _what_ran(name, experiment),
        "verdicts": _verdicts(name, rows),
        "how, and where we differ": f"{experiment.notes} {_more(name)}".strip(),
    }
    lines = [f"(experiment-{name})=", f"## {experiment.title}", "", "| | |", "| --- | --- |"]
    lines += [f"| **{head}** | {_cell(text)} |" for head, text in table.items()]
    if (DOCS / "figures" / f"{name}.png").exists():
        lines += ["", f"![{experiment.title}](figures/{name}.png)"]
    return "\n".join([*lines, ""])


def yardsticks() -> str:
    """A table for each file of measurements; without any, how to make one."""
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
    lines += ["| benchmark | ratio | range | target | met | steps/s | reference |", "| --- |" + " --- |" * 6]
    lines += [
        f"| {each['name']} | {each['ratio']:.3g} | {each['lowest']:.3g} – {each['highest']:.3g} | {each['aim']} | "
        f"{MET[each['is_met']]} | {each['steps_per_second']:.2e} | "
        f"{each['reference_steps_per_second']:.2e} |"
        for each in found["yardsticks"]
    ]
    return "\n".join(lines)


def _what_ran(name: str, experiment: Experiment) -> str:
    recorded = len(list((ROOT / "results" / name).glob("*.nc")))
    time = f"{recorded} runs, tuning included, are recorded in `results/{name}`"
    if not experiment.is_recorded:
        seconds = durations.expected_seconds([name])[name]
        time = "a moment" if seconds < 1 else f"about {durations.in_words(seconds)} on two cores"
    return f"`dorax run {name}`: {experiment.extent(experiment.size)}; {time}"


def _verdicts(name: str, rows: list[Row]) -> str:
    counts = _counts(rows)
    words = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    return f"{words}: [every claim with its numbers](#claims-{name})" if words else "none recorded yet"


def _counts(rows: list[Row]) -> Counter[str]:
    return Counter(row["verdict"] for row in rows)


def _more(name: str) -> str:
    """A link to the page that says more about this experiment."""
    pages = [path.name for path in sorted(DOCS.glob("*.md")) if f"`{name}`" in path.read_text()]
    pages += ["freeway.md"] if name == "freeway" else []
    return f"[More](/{pages[0]})." if pages else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
