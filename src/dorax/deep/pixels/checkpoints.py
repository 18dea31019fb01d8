"""Checkpoints: whole or not there, the last two kept, verified when they are loaded.

A checkpoint is a NumPy archive of plain arrays, whose checksums are verified as they are
read, and one line of JSON that says what was being trained and which arrays there are.
Nothing is unpickled.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dorax.core.checks import InvalidInput
from dorax.files import replacing

_CONTENT = "content"
# What NumPy and zipfile may answer to a file that is not what it was.
_DAMAGE = OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, RuntimeError


def save(folder: Path, step: int, what: Mapping[str, Any], arrays: Mapping[str, np.ndarray], kept: int = 2) -> None:
    """Write the checkpoint of this step, and let go of those before the last two, or as many as are to be kept.

    Later ones go too, since the run did not go on from them: they are damaged. So does what a kill left unfinished.
    """
    for unfinished in folder.glob(".checkpoint-*.part"):
        unfinished.unlink()
    path = folder / f"checkpoint-{step:010d}.npz"
    write(path, what, arrays)
    found = _found(folder)
    here = found.index(path)
    for old in (*found[: max(0, here + 1 - kept)], *found[here + 1 :]):
        old.unlink()


def latest(folder: Path, what: Mapping[str, Any]) -> dict[str, np.ndarray] | None:
    """The newest checkpoint that is whole; None if there is none.

    One that another configuration wrote is an error: going on from it would mix two runs.
    """
    found = _found(folder)
    for path in reversed(found):
        try:
            theirs, arrays = read(path)
        except InvalidInput:
            continue
        _check_same(folder, theirs, json.loads(json.dumps(what)))
        return arrays
    if found:
        raise InvalidInput(f"{folder} holds damaged checkpoints only; allowed: after removing it, which begins anew")
    return None


def write(path: Path, what: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    with replacing(path) as unfinished, open(unfinished, "wb") as file:
        content = json.dumps({"what": what, "arrays": sorted(arrays)})
        np.savez(file, allow_pickle=False, **{_CONTENT: np.asarray(content)}, **arrays)


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What was written, whole and unchanged."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        content = json.loads(str(arrays.pop(_CONTENT)))
        if content["arrays"] != sorted(arrays):
            raise KeyError
        return content["what"], arrays
    except FileNotFoundError:
        raise InvalidInput(f"{path} is not there; allowed: the network.npz of a training run") from None
    except (*_DAMAGE, zipfile.BadZipFile, zlib.error):
        raise InvalidInput(f"{path} is damaged or no archive; allowed: the network.npz of a training run") from None


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
        named |= _named(value, f"{of}{name}.") if isinstance(value, dict) else {f"{of}{name}": value}
    return named


def _found(folder: Path) -> list[Path]:
    return sorted(folder.glob("checkpoint-*.npz"))
