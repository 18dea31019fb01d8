"""Findings: one plain answer to each statement of the paper and of ours, with an effect size in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dorax.study.experiment import Answer, Experiment

Row = Mapping[str, Any]

_WORDS = {"holds": "yes", "fails": "no", "unclear": "unclear"}


@dataclass(frozen=True)
class Given:
    """An answer that was given by the data.

    Attributes:
        label: what it is about, if a finding has several answers.
        word: yes, no or unclear.
        verdict: verdict of the claim.
        effect: the effect size in words, with its interval.
    """

    label: str
    word: str
    verdict: str
    effect: str


@dataclass(frozen=True)
class Found:
    """A finding with its answers.

    Attributes:
        question: the question.
        figure: the figure or section of the paper.
        experiment: name of the experiment.
        answers: the answers.
    """

    question: str
    figure: str
    experiment: str
    answers: Sequence[Given]


def findings(experiments: Mapping[str, Experiment], claims: Sequence[Row]) -> list[Found]:
    """Answer the question of every experiment that has one.

    Args:
        experiments: all experiments by name, in order.
        claims: rows of claims.json.

    Returns:
        The findings whose claims were judged.
    """
    by_text = {(row["experiment"], row["claim"]): row for row in claims}
    found: list[Found] = []
    for name, experiment in experiments.items():
        if experiment.finding is None:
            continue
        rows = [
            (answer, by_text.get((answer.experiment or name, answer.claim))) for answer in experiment.finding.answers
        ]
        given = [_given(answer, row) for answer, row in rows if row is not None]
        if given:
            found.append(Found(experiment.finding.question, experiment.figure, name, given))
    return found


def effect(answer: Answer, row: Row) -> str:
    """Format the effect size of an answer, such as `2.2 times as fast (2.1 to 2.3; 50 seeds)`.

    Args:
        answer: the answer.
        row: its claim's row of claims.json.

    Returns:
        The text.
    """
    cases = {each["case"]: each for each in row.get("cases", ())}
    numbers = cases.get(answer.case, row)
    low, high = numbers["low"], numbers["high"]
    remark = f"; {row['remark']}" if "remark" in row else ""
    seeds = f"{numbers['seeds']} seed{'s' if numbers['seeds'] != 1 else ''}{remark}"
    if row.get("kind") == "mathematics":
        return f"{answer.effect.format(number(numbers['value']))} (mathematics, checked)"
    if low is None and high is None:
        return f"{answer.effect.format(number(numbers['value']))} (no interval; {seeds})"
    if high is None:  # the value itself is a bound: some runs were censored
        return f"{answer.effect.format(f'at least {number(low)}')} ({seeds})"
    if low is None:
        return f"{answer.effect.format(f'at most {number(high)}')} ({seeds})"
    return f"{answer.effect.format(number(numbers['value']))} ({number(low)} to {number(high)}; {seeds})"


def number(value: float | None) -> str:
    """Format a number with three digits.

    Args:
        value: the number; None if the data do not determine it.

    Returns:
        The text; a dash for None and infinity.
    """
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:.3g}" if abs(value) < 1e5 else f"{value:.2e}"


def interval(row: Row) -> str:
    """Format a value with its interval as `value [low, high]`.

    Args:
        row: a row of claims.json, or one of its cases.

    Returns:
        The text, with ∞ for an open end and ≥ or ≤ before a value that is a bound; only the value if nothing is random.
    """
    if row.get("kind") == "mathematics":
        return number(row["value"])
    relation = "" if row.get("relation", "=") == "=" else f"{row['relation']} "
    low = "−∞" if row["low"] is None else number(row["low"])
    high = "∞" if row["high"] is None else number(row["high"])
    return f"{relation}{number(row['value'])} [{low}, {high}]"


def _given(answer: Answer, row: Row) -> Given:
    word = f"{_WORDS[row['verdict']]}{' (a few runs would change this)' if row.get('is_fragile') else ''}"
    return Given(answer.label, word, row["verdict"], effect(answer, row))
