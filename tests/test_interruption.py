"""Ctrl-C, SIGTERM and broken pipes: every command ends in one line, with the exit code that shells expect."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dorax.cli.interruption import interruptible

DORAX = [sys.executable, "-m", "dorax"]
ENDS = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.fixture(autouse=True)
def listening_to_ctrl_c():
    """Shells turn Ctrl-C off in the background, and processes that are started here would inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def start(command):
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def stopped(process, kind):
    """How a process ends after a signal: its exit code, its error messages and the seconds that it took."""
    began = time.monotonic()
    process.send_signal(kind)
    errors = process.communicate(timeout=60)[1]
    return process.returncode, errors, time.monotonic() - began


@pytest.mark.parametrize("kind", ENDS)
def test_both_signals_are_an_interruption(kind):
    before = signal.getsignal(signal.SIGINT)
    with interruptible(is_resumable=False) as interruption:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(kind)
        assert interruption.code == ENDS[kind]
    assert signal.getsignal(signal.SIGINT) is before


SLEEPER = """
import sys, time
from dorax.cli.interruption import interruptible
with interruptible(is_resumable={resumable}):
    while True:
        try:
            print("ready", flush=True)
            time.sleep(60)
        except KeyboardInterrupt:
            pass  # as in a callback of JAX, where the exception is lost
"""


@pytest.mark.parametrize("kind", ENDS)
def test_a_command_that_does_not_listen_is_ended_after_two_seconds(kind):
    process = start([sys.executable, "-c", SLEEPER.format(resumable=False)])
    assert process.stdout is not None
    process.stdout.readline()
    code, errors, seconds = stopped(process, kind)
    assert (code, errors) == (ENDS[kind], "dorax: interrupted\n")
    assert 1.5 < seconds < 10


def test_a_command_that_may_write_a_checkpoint_is_ended_by_the_second_signal_only():
    process = start([sys.executable, "-c", SLEEPER.format(resumable=True)])
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGTERM)  # as `timeout` does, to the process and to its group
    time.sleep(3.0)
    assert process.poll() is None
    assert stopped(process, signal.SIGINT)[:2] == (143, "dorax: interrupted\n")


def test_a_broken_pipe_is_quiet_and_ends_as_shells_expect():
    process = start([*DORAX, "list"])
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == 141


def wait_until_it_listens(process):
    """Wait until a process handles SIGTERM: not yet while Python imports what `dorax.__main__` is part of."""
    status = Path(f"/proc/{process.pid}/status")
    caught = 0
    while not caught >> (signal.SIGTERM - 1) & 1:
        time.sleep(0.05)
        caught = int(status.read_text().partition("SigCgt:")[2].split()[0], 16)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks Linux whether signals are handled")
@pytest.mark.parametrize("kind", ENDS)
def test_explore_ends_in_one_line_at_any_moment(kind, tmp_path):
    command = [*DORAX, "explore", "deep_sea:10", "--episodes", "100000", "--out", str(tmp_path / "page.html")]
    moments = random.Random(0)
    for _ in range(10):
        process = start(command)
        wait_until_it_listens(process)
        time.sleep(moments.uniform(0.0, 12.0))
        code, errors, seconds = stopped(process, kind)
        assert (code, errors) == (ENDS[kind], "dorax: interrupted\n")
        assert seconds < 3.0
    assert list(tmp_path.iterdir()) == []
