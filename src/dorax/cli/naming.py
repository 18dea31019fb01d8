"""Names of runs: by all that distinguishes them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import Any


def run_name(first: Sequence[str], groups: Sequence[Any], without: Collection[str] = ()) -> str:
    """Name a run by every option that does not have its default.

    Args:
        first: words that the name starts with.
        groups: dataclasses with options.
        without: names of the options that do not change the run, or are among the first words.

    Returns:
        The words, followed by the name and the value of each option, with dashes between them.
    """
    parts = list(first)
    for group in groups:
        for each in fields(group):
            value = getattr(group, each.name)
            if each.name not in without and value != each.default:
                values = value if isinstance(value, tuple) else (value,)
                parts += [each.name.replace("_", "-"), *(f"{one}" for one in values)]
    return "-".join(parts)
