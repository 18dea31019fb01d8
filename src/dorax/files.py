"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from pathlib import Path

from dorax.core.checks import InvalidInput


class CannotWrite(InvalidInput):
    """A place that cannot be written to; the message is complete in one line."""


@contextlib.contextmanager
def replacing(path: Path) -> Generator[Path]:
    """A temporary path beside `path`, which takes its place when all went well, and is gone otherwise."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    with in_one_line(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield unfinished
            with open(unfinished, "rb") as file:
                os.fsync(file.fileno())
            os.replace(unfinished, path)
        finally:
            with contextlib.suppress(OSError):
                unfinished.unlink()


@contextlib.contextmanager
def in_one_line(path: Path) -> Generator[None]:
    """Whatever keeps us from writing `path` becomes one line that names it."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error).splitlines()[0]
        raise CannotWrite(f"cannot write {path}: {reason}; allowed: a writable place with free space") from error
