"""Atomic writing of files, and locks between processes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no fcntl: locks are skipped
    fcntl = None

from dorax.core.checks import InvalidInput


class CannotWrite(InvalidInput):
    """A path cannot be written to. The message is one line."""


@contextlib.contextmanager
def replacing(path: Path) -> Generator[Path]:
    """Write a file atomically: yield a temporary path that replaces `path` on success and is removed otherwise.

    Args:
        path: the file to write; its folder is created if needed.

    Yields:
        The temporary path, in the same folder.

    Raises:
        CannotWrite: if the file cannot be written.
    """
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
    """Take a non-blocking lock on `path`, held until the block or the process ends.

    Args:
        path: the file to lock; it need not exist.

    Yields:
        Whether this process got the lock. Always true on Windows, where there are no locks.
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
                continue  # another process removed the lock file between open and flock
            try:
                yield True
            finally:
                claim.unlink(missing_ok=True)
            return


def _is_still(file: int, path: Path) -> bool:
    """Return whether an open file is still the one at its path."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def in_one_line(path: Path) -> Generator[None]:
    """Convert an OSError in the block to a one-line `CannotWrite` that names `path`.

    Args:
        path: the path to name.
    """
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error).splitlines()[0]
        raise CannotWrite(f"cannot write {path}: {reason}; allowed: a writable place with free space") from error
