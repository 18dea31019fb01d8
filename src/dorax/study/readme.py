"""The README's table of claims and the figures of the docs: written by a command, never by hand."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dorax.core.checks import InvalidInput
from dorax.files import replacing
from dorax.study.experiment import Experiment
from dorax.study.report import interval, verdicts_by_experiment

BEGIN, END = "<!-- claims: written by `dorax report --readme` -->", "<!-- end of claims -->"


def update_readme(
    readme: Path, experiments: Mapping[str, Experiment], claims: Sequence[dict[str, Any]], out: Path
) -> None:
    """Replace what stands between the markers, and the figures in docs/ beside the README."""
    text = readme.read_text() if readme.exists() else ""
    if BEGIN not in text or END not in text:
        raise InvalidInput(f"{readme} lacks the lines {BEGIN} and {END}; allowed: a README with both")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    for picture in [out / "figures" / f"{name}.png" for name in experiments]:
        if picture.exists():
            with replacing(readme.parent / "docs" / "figures" / picture.name) as unfinished:
                shutil.copyfile(picture, unfinished)
    with replacing(readme) as unfinished:
        unfinished.write_text(f"{before}{BEGIN}\n\n{claims_table(experiments, claims)}\n{END}{after}")


def claims_table(experiments: Mapping[str, Experiment], claims: Sequence[dict[str, Any]]) -> str:
    """A line an experiment, and folded below it every claim with its numbers."""
    lines = ["| figure | what it shows | holds | fails | unclear |", "| --- | --- | --- | --- | --- |"]
    for name, verdicts in verdicts_by_experiment(claims).items():
        counts = " | ".join(str(verdicts[verdict]) for verdict in ("holds", "fails", "unclear"))
        lines.append(f"| {experiments[name].figure} | {experiments[name].title} | {counts} |")
    lines += ["", "<details><summary>Every claim with its numbers</summary>", ""]
    lines += ["| experiment | claim | value [95 % interval] | verdict | seeds |", "| --- | --- | --- | --- | --- |"]
    lines += [
        f"| {row['experiment']} | {_cell(row['claim'])} | {interval(row)} | {row['verdict']} | {row['seeds']} |"
        for row in claims
    ]
    return "\n".join([*lines, "", "</details>", ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
