"""Atomic writing of files, and locks between processes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: no locks, every process acts as if it were the only one
    fcntl = None

from dorax.core.checks import InvalidInput


class CannotWrite(InvalidInput):
    """A path that cannot be written to; the message is one line."""


@contextlib.contextmanager
def replacing(path: Path) -> Generator[Path]:
    """Yield a temporary path that replaces `path` on success and is removed otherwise."""
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
def claiming(path: Path) -> Generator[bool]:
    """Take a non-blocking lock on `path`; yields whether this process got it.

    The lock is released when the process ends, however it ends.
    """
    if fcntl is None:
        yield True
        return
    claim = path.with_name(f".{path.name}.claim")
    while True:
        with in_one_line(claim):
            path.parent.mkdir(parents=True, exist_ok=True)
            file = open(claim, "w")  # noqa: SIM115
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            if not _is_still(file.fileno(), claim):
                continue  # released by another process between our opening and our locking it
            try:
                yield True
            finally:
                claim.unlink(missing_ok=True)
            return


def _is_still(file: int, path: Path) -> bool:
    """Whether an open file is still the one at its path."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def in_one_line(path: Path) -> Generator[None]:
    """Turn an OSError into one line that names `path`."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error).splitlines()[0]
        raise CannotWrite(f"cannot write {path}: {reason}; allowed: a writable place with free space") from error
