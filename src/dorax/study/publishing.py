"""Publishing results: the README and the documentation are made from `results/claims.json`."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dorax.core.checks import InvalidInput
from dorax.files import replacing
from dorax.study import durations, repository
from dorax.study.experiment import Experiment, Finding
from dorax.study.report import interval, number
from dorax.study.results import NotRun, last_size
from dorax.study.store import Store

BEGIN, END = "<!-- findings: written by `dorax report --publish` -->", "<!-- end of findings -->"
_ANSWERS = {"holds": "yes", "fails": "no", "unclear": "unclear"}

Row = Mapping[str, Any]


def published_claims() -> list[dict[str, Any]]:
    """Return the rows of `results/claims.json`, or an empty list if there is no such file, as in an installed wheel."""
    try:
        return json.loads(_claims_path().read_text())
    except (OSError, ValueError):
        return []


def publish(experiments: Mapping[str, Experiment], claims: Sequence[Row], store: Store) -> None:
    """Copy claims, durations and figures of a report into the checkout, and update the README's findings.

    Published results of experiments that are not in the report are kept.

    Args:
        experiments: all experiments by name, in order.
        claims: the rows of the report's claims.json.
        store: where the report was written.

    Raises:
        InvalidInput: if the report contains quick runs or there is no checkout.
    """
    before, after = _around_findings()
    new = {row["experiment"]: None for row in claims}
    if quick := [name for name in new if _is_quick(name, store)]:
        raise InvalidInput(f"quick runs cannot be published: {', '.join(quick)}; run them in full first")
    rows = [*claims, *(row for row in published_claims() if row["experiment"] not in new)]
    order = list(experiments)
    rows = sorted((row for row in rows if row["experiment"] in order), key=lambda row: order.index(row["experiment"]))
    _write_json(_claims_path(), rows)
    _write_json(durations.path(), durations.read(durations.path()) | durations.read(store.folder / "durations.json"))
    pictures = [*new, *("hero" for name in new if experiments[name].hero is not None)]
    for name in pictures:
        with replacing(repository.ROOT / "docs" / "figures" / f"{name}.png") as unfinished:
            shutil.copyfile(store.folder / "figures" / f"{name}.png", unfinished)
    with replacing(_readme_path()) as unfinished:
        unfinished.write_text(f"{before}{BEGIN}\n\n{findings_table(experiments, rows)}\n{END}{after}")


def findings_table(experiments: Mapping[str, Experiment], claims: Sequence[Row]) -> str:
    """Format the README's findings: one row per experiment that has a finding.

    Args:
        experiments: all experiments by name, in order.
        claims: rows of claims.json.

    Returns:
        A Markdown table.
    """
    by_text = {(row["experiment"], row["claim"]): row for row in claims}
    lines = ["| what was asked | answer | effect size, with 95 % interval |", "| --- | --- | --- |"]
    for name, experiment in experiments.items():
        finding = experiment.finding
        if finding is not None and (name, finding.claim) in by_text:
            row = by_text[name, finding.claim]
            question = f"{finding.question} ({experiment.figure})"
            lines.append(f"| {_escaped(question)} | {_ANSWERS[row['verdict']]} | {_escaped(effect(finding, row))} |")
    counts = Counter(str(row["verdict"]) for row in claims)
    words = f"{counts['holds']} hold, {counts['fails']} fail, {counts['unclear']} are unclear"
    lines += ["", f"Each row is one of {len(claims)} claims; {words}: [`results/claims.json`](results/claims.json)."]
    return "\n".join([*lines, ""])


def effect(finding: Finding, row: Row) -> str:
    """Format the effect size of a finding, such as `2.2 times as fast (2.1 to 2.3; 50 seeds)`.

    Args:
        finding: the finding.
        row: its claim's row of claims.json.

    Returns:
        The text.
    """
    low, high = row["low"], row["high"]
    remark = f"; {row['remark']}" if "remark" in row else ""
    seeds = f"{row['seeds']} seed{'s' if row['seeds'] != 1 else ''}{remark}"
    if low is None and high is None:
        return f"{finding.effect.format(number(row['value']))} (no interval; {seeds})"
    if high is None:  # the value itself is a bound: some runs were censored
        return f"{finding.effect.format(f'at least {number(low)}')} ({seeds})"
    if low is None:
        return f"{finding.effect.format(f'at most {number(high)}')} ({seeds})"
    return f"{finding.effect.format(number(row['value']))} ({number(low)} to {number(high)}; {seeds})"


def claims_table(claims: Sequence[Row]) -> str:
    """Format claims with their numbers.

    Args:
        claims: rows of claims.json.

    Returns:
        A Markdown table.
    """
    lines = ["| claim | value [95 % interval] | verdict | seeds |", "| --- | --- | --- | --- |"]
    for row in claims:
        claim = f"{row['claim']} ({row['remark']})" if "remark" in row else row["claim"]
        lines.append(f"| {_escaped(claim)} | {interval(dict(row))} | {row['verdict']} | {row['seeds']} |")
    return "\n".join(lines)


def _is_quick(name: str, store: Store) -> bool:
    try:
        return not last_size(name, store).is_full
    except NotRun:  # recorded
        return False


def _around_findings() -> tuple[str, str]:
    """Return the text of the README before and after its findings."""
    path = _readme_path()
    text = path.read_text() if path.exists() else ""
    if BEGIN not in text or END not in text:
        raise InvalidInput(f"{path} lacks the lines {BEGIN} and {END}; publish from a checkout of dorax")
    before, _, rest = text.partition(BEGIN)
    return before, rest.partition(END)[2]


def _readme_path() -> Path:
    return repository.ROOT / "README.md"


def _claims_path() -> Path:
    return repository.results() / "claims.json"


def _write_json(path: Path, content: Any) -> None:
    with replacing(path) as unfinished:
        unfinished.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
