"""Archives: arrays and JSON metadata in one file.

Saved learners, the counts of wrappers and the checkpoints of long runs share this format: a NumPy archive with
the arrays and an entry `facts`, which holds the kind of archive, the version that wrote it and the names of its
arrays. Files are written atomically and read without executing code from them.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dorax.core.checks import InvalidInput
from dorax.files import replacing

FORMAT = 2  # version of the format; dorax 0.1 wrote three other formats
_FACTS = "facts"
# Errors that NumPy, zipfile and json may raise on a damaged file.
_DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, RuntimeError, MemoryError,
           zipfile.BadZipFile, zlib.error)  # fmt: skip


class DamagedFile(InvalidInput):
    """A file is damaged, or is not an archive."""


def write_archive(
    path: str | os.PathLike[str], kind: str, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write an archive atomically.

    Args:
        path: the file.
        kind: what the archive holds, such as `"learner"`.
        facts: everything except arrays, as JSON data.
        arrays: the arrays by name.
    """
    from dorax import __version__

    content = {"kind": kind, "format": FORMAT, "dorax": __version__, "arrays": sorted(arrays), _FACTS: facts}
    with replacing(Path(path)) as unfinished, open(unfinished, "wb") as file:
        np.savez(file, allow_pickle=False, **{_FACTS: np.asarray(json.dumps(content))}, **arrays)


def read_archive(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read an archive.

    Args:
        path: the file.
        kind: the kind that the archive must have.

    Returns:
        The facts and the arrays.

    Raises:
        InvalidInput: if there is no such file, or it is of another kind or format.
        DamagedFile: if it is damaged or not an archive.
    """
    wanted = f"allowed: a saved {kind}"
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise InvalidInput(f"{path} does not exist; {wanted}") from None
    except _DAMAGE:
        raise DamagedFile(f"{path} is damaged or not an archive; {wanted}") from None
    if "content" in arrays or (_FACTS in arrays and '"format"' not in str(arrays[_FACTS])):
        raise InvalidInput(f"{path} was written by dorax 0.1; allowed: files of version 0.2 or newer (train it again)")
    try:
        content = json.loads(str(arrays.pop(_FACTS)))
        is_whole = content["arrays"] == sorted(arrays) and isinstance(content[_FACTS], dict)
        written, theirs, by = content["format"], content["kind"], content["dorax"]
    except _DAMAGE:
        raise DamagedFile(f"{path} is damaged or not an archive of dorax; {wanted}") from None
    if written != FORMAT:
        raise InvalidInput(
            f"{path} was written by dorax {by}; allowed: files that this version can read (format {FORMAT})"
        )
    if theirs != kind:
        raise InvalidInput(f"{path} holds a {theirs}; {wanted}")
    if not is_whole:
        raise DamagedFile(f"{path} is damaged; {wanted}")
    return content[_FACTS], arrays
