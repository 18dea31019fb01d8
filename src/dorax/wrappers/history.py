"""What was earned over time, true and bonus: a few hundred windows, however long the run."""

from __future__ import annotations

from collections.abc import Sequence

_MOST_WINDOWS = 512
_FIRST_WINDOW = 64  # steps


class History:
    """Sums over windows of equal length. When there are too many, each two become one."""

    def __init__(self, rows: Sequence[Sequence[float]] = ()) -> None:
        self._windows = [list(row) for row in rows]

    def add(self, reward: float, bonus: float) -> None:
        windows = self._windows
        if not windows or windows[-1][0] >= self.window:
            if len(windows) == _MOST_WINDOWS:
                self._windows = windows = [
                    [x + y for x, y in zip(*pair, strict=True)]
                    for pair in zip(windows[::2], windows[1::2], strict=True)
                ]
            windows.append([0, 0.0, 0.0, 0.0])
        last = windows[-1]
        last[0] += 1
        last[1] += reward
        last[2] += abs(reward)
        last[3] += bonus

    @property
    def window(self) -> float:
        """The steps of a window: those of the first, which is full as soon as there is a second."""
        return max(self._windows[0][0], _FIRST_WINDOW) if self._windows else _FIRST_WINDOW

    def rows(self) -> list[list[float]]:
        """Steps, true reward, its size and the bonus, summed over each window."""
        return [row.copy() for row in self._windows]
