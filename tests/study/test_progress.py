"""Progress where there is no terminal, and on one."""

import io

from rich.console import Console

from dorax.study.progress import Lines, watching


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_a_finished_piece_of_work_is_one_line_however_often_it_says_so():
    said, clock = [], Clock()
    report = Lines(said.append, clock)("softmax")
    report(0.5, 50)
    clock.now += 2.0
    report(1.0, 1000)
    report(1.0, 1000)
    assert said == ["  softmax: done, 2.0 s, 5.0e+02 steps/s"]


def test_a_long_piece_of_work_says_every_half_a_minute_how_far_it_is():
    said, clock = [], Clock()
    lines = Lines(said.append, clock)
    report = lines("softmax")
    for second in range(0, 75, 5):
        clock.now = 100.0 + second
        report(second / 100, 0)
        lines.beat()
    assert said == ["  softmax:  30%, 30.0 s", "  softmax:  60%, 60.0 s"]


def test_while_nothing_is_reported_a_line_says_how_long_it_takes_already():
    said, clock = [], Clock()
    lines = Lines(said.append, clock)
    lines("compiled for long")
    clock.now += 31.0
    lines.beat()
    lines.beat()
    assert said == ["  compiled for long:   0%, 31.0 s"]


def test_lines_go_where_there_is_no_terminal_and_bars_to_one():
    file = io.StringIO()
    with watching(Console(file=file, width=40), 1.0) as watcher:
        watcher("a name that is longer than the width of the console [of 40]")(1.0, 0)
        watcher.finished(1.0)
    assert file.getvalue().count("\n") == 1
    assert "[of 40]: done" in file.getvalue()
    terminal = io.StringIO()
    with watching(Console(file=terminal, force_terminal=True, width=80), 1.0) as watcher:
        report = watcher("softmax")
        for share in (0.5, 1.0, 1.0):
            report(share, 10)
        watcher.finished(1.0)
    assert "experiments" in terminal.getvalue()
    assert "done" not in terminal.getvalue()
