"""Ctrl-C and SIGTERM while a command runs: both raise `KeyboardInterrupt`, and end the process if that does not help.

Python runs the handlers of signals between two steps of its own, and compiling a program is a single step, which may
take many seconds. So a thread learns of the signal at once, and ends a command that has nothing to save.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Generator
from types import FrameType

SECONDS_TO_END = 2.0
SECONDS_BETWEEN_TWO = 1.0  # `timeout` sends its signal twice, to the process and to its group


class Interruption:
    """The signal that came, if any."""

    def __init__(self) -> None:
        self.kind, self.has_come = signal.SIGINT, threading.Event()

    @property
    def code(self) -> int:
        """The exit code that shells expect: 130 after Ctrl-C, 143 after SIGTERM."""
        self.has_come.wait(0.1)  # the thread that learns of the signal may be late
        return 128 + self.kind


@contextlib.contextmanager
def interruptible(is_resumable: bool) -> Generator[Interruption]:
    """Let Ctrl-C and SIGTERM interrupt the block, and end the process where they cannot.

    Args:
        is_resumable: whether the block may first write a checkpoint, however long that takes. Then only a second signal
            ends the process at once.

    Yields:
        The interruption, which knows the signal.
    """
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    before = {kind: signal.getsignal(kind) for kind in (signal.SIGINT, signal.SIGTERM)}
    reported = sys.unraisablehook
    sys.unraisablehook = _once_more
    wakes_before = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    for kind, handler in before.items():
        if handler is not signal.SIG_IGN:  # such as Ctrl-C in the background
            signal.signal(kind, _interrupt)
    threading.Thread(target=_watch, args=(receiver, interruption, is_resumable), daemon=True).start()
    try:
        yield interruption
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
        signal.set_wakeup_fd(wakes_before)
        sys.unraisablehook = reported
        sender.close()  # which ends the thread


def _once_more(lost: sys.UnraisableHookArgs) -> None:
    """Interrupt once more if the exception was raised where Python drops it, as in a callback of JAX."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(lost)


def _interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt


def _watch(receiver: socket.socket, interruption: Interruption, is_resumable: bool) -> None:
    """Wait for the first signal, and then for the end of the block, which closes the other end of the socket."""
    with receiver:
        while first := receiver.recv(1):
            if first[0] in (signal.SIGINT, signal.SIGTERM):
                break
        else:
            return
        interruption.kind = signal.Signals(first[0])
        interruption.has_come.set()
        began = time.monotonic()
        receiver.settimeout(None if is_resumable else SECONDS_TO_END)
        try:
            while receiver.recv(1):
                if time.monotonic() - began > SECONDS_BETWEEN_TWO:
                    break
            else:
                return
        except TimeoutError:
            pass
        os.write(2, b"dorax: interrupted\n")
        os._exit(interruption.code)
