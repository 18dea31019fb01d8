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
from dorax.study import durations, fingerprints, repository
from dorax.study.experiment import Experiment
from dorax.study.findings import findings, interval
from dorax.study.results import NotRun, last_size, load
from dorax.study.store import Store

BEGIN, END = "<!-- findings: written by `dorax report --publish` -->", "<!-- end of findings -->"

Row = Mapping[str, Any]


def published_claims() -> list[dict[str, Any]]:
    """Return the rows of `results/claims.json`, or an empty list if there is no such file."""
    try:
        return json.loads(_claims_path().read_text())
    except (OSError, ValueError):
        return []


def publish(experiments: Mapping[str, Experiment], claims: Sequence[Row], store: Store) -> None:
    """Copy claims, durations, figures and fingerprints of a report into the checkout, and update the README's findings.

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
    for name in new:
        checked = fingerprints.known(name, experiments[name], load(name, experiments[name], store), store)
        if checked:
            _write_json(repository.results() / name / "checked.json", checked)
    with replacing(_readme_path()) as unfinished:
        unfinished.write_text(f"{before}{BEGIN}\n\n{findings_table(experiments, rows)}\n{END}{after}")


def findings_table(experiments: Mapping[str, Experiment], claims: Sequence[Row]) -> str:
    """Format the README's findings: one row per statement.

    Args:
        experiments: all experiments by name, in order.
        claims: rows of claims.json.

    Returns:
        A Markdown table.
    """
    lines = ["| what was asked | answer | effect size, with 95 % interval |", "| --- | --- | --- |"]
    for found in findings(experiments, claims):
        words = [f"{each.label}: {each.word}" if each.label else each.word for each in found.answers]
        effects = [each.effect for each in found.answers]
        cells = (f"{found.question} ({found.figure})", "<br>".join(words), "<br>".join(effects))
        lines.append("| " + " | ".join(map(_escaped, cells)) + " |")
    lines += ["", f"{counted(claims)}: [`results/claims.json`](results/claims.json)."]
    return "\n".join([*lines, ""])


def counted(claims: Sequence[Row]) -> str:
    """Say how many claims hold, fail or are unclear, and how many statements of mathematics were checked.

    Args:
        claims: rows of claims.json.

    Returns:
        A sentence without its full stop.
    """
    judged = Counter(str(row["verdict"]) for row in claims if row.get("kind") != "mathematics")
    checked = [row for row in claims if row.get("kind") == "mathematics"]
    right = sum(row["verdict"] == "holds" for row in checked)
    verdicts = f"{judged['holds']} hold, {judged['fails']} fail and {judged['unclear']} are unclear"
    mathematics = f"of {len(checked)} statements of mathematics that were checked, {right} are right"
    return f"Of {judged.total()} claims that were judged by their intervals, {verdicts}; {mathematics}"


def claims_table(claims: Sequence[Row]) -> str:
    """Format claims with their numbers; the cases of a claim follow it.

    Args:
        claims: rows of claims.json.

    Returns:
        A Markdown table.
    """
    lines = ["| claim | value [95 % interval] | p | verdict | seeds |", "| --- | --- | --- | --- | --- |"]
    for row in claims:
        notes = ["a few runs would change this verdict"] if row.get("is_fragile") else []
        notes += [row["remark"]] if "remark" in row else []
        claim = f"{row['claim']} ({'; '.join(notes)})" if notes else row["claim"]
        is_mathematics = row.get("kind") == "mathematics"
        verdict = f"{row['verdict']} (mathematics)" if is_mathematics else row["verdict"]
        p_value = "" if is_mathematics else f"{row.get('p_value', '')}"
        value = "" if "cases" in row else interval(row)
        lines.append(f"| {_escaped(claim)} | {value} | {p_value} | {verdict} | {row['seeds']} |")
        for case in row.get("cases", ()):
            numbers = interval({"kind": row.get("kind"), **case})
            lines.append(f"| – {_escaped(case['case'])} | {numbers} | | {case['verdict']} | {case['seeds']} |")
    return "\n".join(lines)


def _is_quick(name: str, store: Store) -> bool:
    try:
        return not last_size(name, store).is_full
    except NotRun:  # recorded
        return False


def _around_findings() -> tuple[str, str]:
    """Return the text of the README before and after its findings."""
    path = _readme_path()
    if not path.exists():
        raise InvalidInput("--publish is given to a dorax that was installed by itself; allowed: in a checkout of it")
    text = path.read_text()
    if BEGIN not in text or END not in text:
        raise InvalidInput(f"{path} lacks its findings; allowed: a README with the lines {BEGIN} and {END}")
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
