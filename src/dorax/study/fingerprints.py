"""Fingerprints: whether the current code would still produce the recorded runs.

A recorded run cannot be repeated on every machine, but a short one can. `fingerprints.json`, next to the recorded
runs, holds the outcome of a short run of each condition with the code that made them. While the current code
gives the same outcome, recorded runs count as current. `checked.json` beside it holds the outcomes of the code that was
published last, under a key of code, setting and versions, so that the same code need not run again elsewhere.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from dorax.core.checks import InvalidInput
from dorax.files import replacing
from dorax.study import repository
from dorax.study.archive import versions
from dorax.study.experiment import Condition, Experiment, Setting
from dorax.study.fitting import settings_of
from dorax.study.identity import key_of
from dorax.study.results import ConditionResult, Results
from dorax.study.store import Store

TOLERANCE = 1e-3  # relative, for numbers; text must be equal


def checked(name: str, experiment: Experiment, results: Results, store: Store, say: Callable[[str], None]) -> Results:
    """Add a remark to every condition whose recorded runs may not match the current code.

    Args:
        name: name of the experiment.
        experiment: the experiment; its conditions define how to compute fingerprints.
        results: its results; conditions without runs from `results/` are left unchanged.
        store: where computed fingerprints are stored, so that each is computed once per version of the code.
        say: called with a message before a fingerprint is computed, which takes seconds.

    Returns:
        The results with remarks.
    """
    conditions = {condition.name: condition for condition in experiment.conditions(results.size)}

    def remark(result: ConditionResult) -> str:
        commits, recorded = ", ".join(result.commits), _recorded(name, result)
        made = "recorded" if conditions[result.name].is_recorded else "tuning recorded"
        if recorded is None:
            return f"{made} by commit {commits}, not checked against the current code: no fingerprint is recorded"
        try:
            today = _today(name, conditions[result.name], result, store, say)
        except (InvalidInput, ImportError) as error:
            return f"{made} by commit {commits}, not checked against the current code: {error}"
        return "" if same(today, recorded) else f"{made} by earlier code (commit {commits})"

    found = {each.name: replace(each, remark=remark(each)) if each.commits else each for each in results}
    return replace(results, conditions=found)


def known(name: str, experiment: Experiment, results: Results, store: Store) -> dict[str, Any]:
    """Return the outcomes that are known of the current code, under their keys.

    Args:
        name: name of the experiment.
        experiment: the experiment.
        results: its results.
        store: where computed fingerprints are stored.

    Returns:
        The outcomes, of the conditions that have recorded runs.
    """
    conditions = {condition.name: condition for condition in experiment.conditions(results.size)}
    found: dict[str, Any] = {}
    for each in results:
        if not each.commits:
            continue
        try:
            path = _path(name, conditions[each.name], each, store)
        except (InvalidInput, ImportError):  # a package that it needs is not installed
            continue
        outcome = _outcome(name, path)
        if outcome is not None:
            found[path.name] = outcome
    return found


def same(today: Mapping[str, Any], recorded: Mapping[str, Any]) -> bool:
    """Compare two fingerprints: text exactly, numbers up to `TOLERANCE`.

    Args:
        today: fingerprint of the current code.
        recorded: fingerprint of the recorded runs.

    Returns:
        Whether they agree.
    """
    return today.keys() == recorded.keys() and all(_same_value(today[key], recorded[key]) for key in today)


def _recorded(name: str, result: ConditionResult) -> Mapping[str, Any] | None:
    try:
        found = json.loads((repository.results() / name / "fingerprints.json").read_text())
    except (OSError, ValueError):
        return None
    return cast("Mapping[str, Mapping[str, Any]]", found).get(result.name)


def _today(
    name: str, condition: Condition, result: ConditionResult, store: Store, say: Callable[[str], None]
) -> Mapping[str, Any]:
    """Return the fingerprint of the current code: published, from the store, or computed now."""
    if condition.fingerprint is None:
        raise InvalidInput("the condition has no fingerprint")
    path = _path(name, condition, result, store)
    found = _outcome(name, path)
    if found is None:
        say(f"checking recorded runs of {name} by a short run: {condition.name}")
        found = condition.fingerprint(_setting(condition, result))
        with replacing(path) as unfinished:
            unfinished.write_text(json.dumps(found))
    return found


def _path(name: str, condition: Condition, result: ConditionResult, store: Store) -> Path:
    """Return where the outcome of the current code is stored; the file's name ends in its key."""
    key = key_of((condition.fingerprint, _setting(condition, result), versions()))
    return store.path(name, f"fingerprint {condition.name}", key).with_suffix(".json")


def _setting(condition: Condition, result: ConditionResult) -> Setting:
    return result.choices["step"].setting if result.choices else settings_of(condition.grid)[0]


def _outcome(name: str, path: Path) -> dict[str, Any] | None:
    """Return an outcome that was computed before, here or by who published the results."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        pass
    try:
        return json.loads((repository.results() / name / "checked.json").read_text()).get(path.name)
    except (OSError, ValueError):
        return None


def _same_value(today: Any, recorded: Any) -> bool:
    if isinstance(today, list) and isinstance(recorded, list):
        pairs = list(zip(cast("list[Any]", today), cast("list[Any]", recorded), strict=False))
        return len(today) == len(recorded) and all(_same_value(a, b) for a, b in pairs)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(today, float | int) and isinstance(recorded, float | int):
        return math.isclose(today, recorded, rel_tol=TOLERANCE, abs_tol=1e-12)
    return today == recorded
