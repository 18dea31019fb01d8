"""Checkpoints of a run: archives, verified on loading, of which the two newest are kept."""

# JAX and Equinox: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dorax.archive import DamagedFile, read_archive, write_archive
from dorax.core.checks import InvalidInput

KIND = "checkpoint"
_KEY = "key"  # ends the name of what a random key's algorithm is stored under


def save(folder: Path, step: int, what: Mapping[str, Any], arrays: Mapping[str, np.ndarray], kept: int = 2) -> None:
    """Write a checkpoint and delete all but the newest ones.

    Checkpoints with a higher step are deleted too: the run resumed from an earlier one because they were damaged.
    Partial files of a killed process are deleted as well.

    Args:
        folder: folder of the run.
        step: number of steps so far.
        what: configuration of the run, as JSON data.
        arrays: arrays by name.
        kept: number of checkpoints to keep.
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
    """Read the newest intact checkpoint.

    Args:
        folder: folder of the run.
        what: configuration of the run.

    Returns:
        Its arrays by name, or None if there is no checkpoint.

    Raises:
        InvalidInput: if the checkpoint has another configuration, or if all checkpoints are damaged.
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
        raise InvalidInput(
            f"{folder} holds only damaged checkpoints; allowed: starting over, after removing the folder"
        )
    return None


def remove(folder: Path) -> None:
    """Delete all checkpoints of a run, and its folder if nothing else is in it.

    Args:
        folder: folder of the run.
    """
    for path in (*_found(folder), *folder.glob(".checkpoint-*.part")):
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


def flat(name: str, tree: Any) -> dict[str, np.ndarray]:
    """Flatten a tree to numbered arrays.

    Args:
        name: prefix of the arrays' names.
        tree: tree of arrays and random keys.

    Returns:
        The leaves as `name/0`, `name/1`, ...; of a random key its data, and its algorithm as `name/0/key`.
    """
    arrays: dict[str, np.ndarray] = {}
    for i, leaf in enumerate(jax.tree.leaves(tree)):
        if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            arrays[f"{name}/{i}/{_KEY}"] = np.asarray(str(jax.random.key_impl(leaf)))
            leaf = jax.random.key_data(leaf)
        arrays[f"{name}/{i}"] = np.asarray(leaf)
    return arrays


def unflat(name: str, like: Any, arrays: Mapping[str, np.ndarray], put: Callable[[Any], Any] = jnp.asarray) -> Any:
    """Rebuild a tree that `flat` flattened.

    Args:
        name: prefix of the arrays' names.
        like: tree of the same structure.
        arrays: arrays by name.
        put: puts an array on the device.

    Returns:
        The tree.
    """

    def restored(i: int) -> Any:
        array, kind = arrays[f"{name}/{i}"], arrays.get(f"{name}/{i}/{_KEY}")
        return put(array if kind is None else jax.random.wrap_key_data(jnp.asarray(array), impl=str(kind)))

    structure = jax.tree.structure(like)
    return jax.tree.unflatten(structure, [restored(i) for i in range(structure.num_leaves)])


def _check_same(folder: Path, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    theirs, ours = _named(theirs), _named(ours)
    for name in sorted({*theirs, *ours}):
        if theirs.get(name) != ours.get(name):
            raise InvalidInput(
                f"{folder} was written with {name} = {theirs.get(name)!r}, not {ours.get(name)!r}; "
                "allowed: the same settings, another folder, or starting over, after removing this one"
            )


def _named(settings: Mapping[str, Any], of: str = "") -> dict[str, Any]:
    """Flatten nested settings to full names, such as agent.bonus."""
    named: dict[str, Any] = {}
    for name, value in settings.items():
        inner = of if name == "fields" else f"{of}{name}."  # an agent's parts have a type and fields
        named |= _named(value, inner) if isinstance(value, dict) else {f"{of}{name}": value}
    return named


def _found(folder: Path) -> list[Path]:
    return sorted(folder.glob("checkpoint-*.npz"), key=lambda path: (len(path.name), path.name))  # by their numbers
