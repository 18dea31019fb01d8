"""Checkpoints of a run: archives of which the last two are kept, and verified when they are loaded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dorax.archive import DamagedFile, read_archive, write_archive
from dorax.core.checks import InvalidInput

KIND = "checkpoint"


def save(folder: Path, step: int, what: Mapping[str, Any], arrays: Mapping[str, np.ndarray], kept: int = 2) -> None:
    """Write a checkpoint, and remove all but the newest ones.

    Later ones are removed too: the run did not go on from them, so they are damaged. So is what a kill left behind.

    Args:
        folder: the folder of the run.
        step: the steps of the run so far.
        what: the configuration of the run, as JSON can write it.
        arrays: the arrays by name.
        kept: how many checkpoints stay.
    """
    for unfinished in folder.glob(".checkpoint-*.part"):
        unfinished.unlink()
    path = folder / f"checkpoint-{step:010d}.npz"
    write_archive(path, KIND, what, arrays)
    found = _found(folder)
    here = found.index(path)
    for old in (*found[: max(0, here + 1 - kept)], *found[here + 1 :]):
        old.unlink()


def latest(folder: Path, what: Mapping[str, Any]) -> dict[str, np.ndarray] | None:
    """The arrays of the newest intact checkpoint; None if there is none.

    A checkpoint of another configuration is an error: going on from it would mix two runs.

    Args:
        folder: the folder of the run.
        what: the configuration of the run.
    """
    found = _found(folder)
    for path in reversed(found):
        try:
            theirs, arrays = read_archive(path, KIND)
        except DamagedFile:
            continue
        _check_same(folder, theirs, json.loads(json.dumps(what)))
        return arrays
    if found:
        raise InvalidInput(f"{folder} holds damaged checkpoints only; allowed: after removing it, which begins anew")
    return None


def flat(name: str, tree: Any) -> dict[str, np.ndarray]:
    """The arrays of a tree, numbered."""
    return {f"{name}/{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(tree))}


def unflat(name: str, like: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """A tree of the structure of `like`, from its numbered arrays."""
    leaves, structure = jax.tree.flatten(like)
    return jax.tree.unflatten(structure, [jnp.asarray(arrays[f"{name}/{i}"]) for i in range(len(leaves))])


def _check_same(folder: Path, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    theirs, ours = _named(theirs), _named(ours)
    for name in sorted({*theirs, *ours}):
        if theirs.get(name) != ours.get(name):
            raise InvalidInput(
                f"{folder} was written with {name} = {theirs.get(name)!r}, not {ours.get(name)!r}; "
                "allowed: the same settings, another folder, or after removing this one, which begins anew"
            )


def _named(settings: Mapping[str, Any], of: str = "") -> dict[str, Any]:
    """Settings by their full names, such as agent.bonus."""
    named: dict[str, Any] = {}
    for name, value in settings.items():
        inner = of if name == "fields" else f"{of}{name}."  # an agent's parts have a type and fields
        named |= _named(value, inner) if isinstance(value, dict) else {f"{of}{name}": value}
    return named


def _found(folder: Path) -> list[Path]:
    return sorted(folder.glob("checkpoint-*.npz"))
