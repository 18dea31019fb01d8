"""Interrupted runs: what a run needs to go on is saved between chunks, and the same call goes on from it."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dorax.core.checks import InvalidInput
from dorax.engine import checkpoints
from dorax.engine.describing import digest
from dorax.files import claiming

CHECKPOINT_SECONDS = 60.0  # between checkpoints, so that shorter runs write none
MOST_WRITING = 0.05  # share of the time that may be spent on writing checkpoints


@dataclass(frozen=True)
class SharedFolder:
    """A folder of several runs. Each gets a subfolder of its own, which is removed when the run is done.

    A run that another process is already making there is made without checkpoints.

    Args:
        path: the folder.
    """

    path: Path


class Checkpoints:
    """The checkpoints of a run, as a context: within it, no other process can use their folder.

    The folder is not touched before there is a checkpoint to read or write.

    Args:
        folder: folder of the run, or a folder that it shares; None for no checkpoints.
        describe: returns the configuration of the run, as JSON data.

    Attributes:
        is_wanted: whether there is a folder.
    """

    def __init__(self, folder: Path | SharedFolder | None, describe: Callable[[], Mapping[str, Any]]) -> None:
        self._given, self._describe = folder, describe
        self._number, self._saved, self._seconds = 0, time.monotonic(), 0.0
        self._claims = contextlib.ExitStack()
        self._is_claimed = False
        self.is_wanted = folder is not None

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(self, *_: object) -> None:
        self._claims.close()
        if self._is_claimed and isinstance(self._given, SharedFolder):
            with contextlib.suppress(OSError):  # other runs may use it
                self._given.path.rmdir()

    @property
    def is_due(self) -> bool:
        """Whether it is time for another checkpoint."""
        wait = max(CHECKPOINT_SECONDS, self._seconds / MOST_WRITING)
        return self.is_wanted and time.monotonic() - self._saved >= wait

    def latest(self) -> dict[str, np.ndarray] | None:
        """Read the newest intact checkpoint.

        Returns:
            Its arrays by name, or None if there is none.
        """
        path = self._given.path if isinstance(self._given, SharedFolder) else self._given
        if path is None or not path.exists() or not self._folder.exists():
            return None
        self._claim()
        arrays = checkpoints.latest(self._folder, self._what) if self.is_wanted else None
        if arrays is not None:
            self._number = int(arrays.pop("number"))
        return arrays

    def save(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Write a checkpoint.

        Args:
            arrays: arrays by name.
        """
        self._claim()
        if not self.is_wanted:
            return
        began = time.monotonic()
        self._number += 1
        checkpoints.save(self._folder, self._number, self._what, {**arrays, "number": np.asarray(self._number)})
        self._saved = time.monotonic()
        self._seconds = self._saved - began

    def remove(self) -> None:
        """Delete all checkpoints, since the run is done."""
        if self._is_claimed:
            checkpoints.remove(self._folder)

    @cached_property
    def _what(self) -> Mapping[str, Any]:
        return self._describe()

    @cached_property
    def _folder(self) -> Path:
        assert self._given is not None
        return self._given.path / digest(repr(self._what)) if isinstance(self._given, SharedFolder) else self._given

    def _claim(self) -> None:
        if self._is_claimed or not self.is_wanted:
            return
        self._is_claimed = self._claims.enter_context(claiming(self._folder))
        if self._is_claimed:
            return
        if not isinstance(self._given, SharedFolder):
            raise InvalidInput(
                f"another process is training in {self._given}; allowed: another folder, or this one once it is done"
            )
        self.is_wanted = False


@contextlib.contextmanager
def postponed_interrupt(is_postponed: bool) -> Generator[Callable[[], bool]]:
    """Let Ctrl-C wait until the end of a chunk, when a checkpoint can be written. A second Ctrl-C does not wait.

    Args:
        is_postponed: whether to do this at all. Outside the main thread, which gets the signal, it is never done.

    Yields:
        A function that returns whether Ctrl-C was pressed.
    """
    before = signal.getsignal(signal.SIGINT)
    if not is_postponed or not callable(before) or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    was_pressed = False

    def press(*_: object) -> None:
        nonlocal was_pressed
        was_pressed = True
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, press)
    try:
        yield lambda: was_pressed
    finally:
        signal.signal(signal.SIGINT, before)
