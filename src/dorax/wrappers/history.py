"""Rewards and bonuses over time, summed over at most a few hundred windows."""

from __future__ import annotations

from collections.abc import Sequence

_MAX_WINDOWS = 512
_FIRST_WINDOW = 64  # steps
_COLUMNS = 8


class History:
    """Sums of rewards and bonuses over windows of equal length; when there are too many, neighbours are merged.

    Args:
        rows: what `rows` of another history returned, to continue it.
    """

    def __init__(self, rows: Sequence[Sequence[float]] = ()) -> None:
        # Older files lack the returns.
        self._windows = [[*row, *[0.0] * (_COLUMNS - len(row))] for row in rows]

    def add(self, reward: float, bonus: float, reward_return: float, bonus_return: float) -> None:
        """Add one step.

        Args:
            reward: the true reward.
            bonus: the bonus.
            reward_return: the discounted sum of the true rewards so far.
            bonus_return: that of the bonuses, before they were multiplied by the scale.
        """
        windows = self._windows
        if not windows or windows[-1][0] >= self.window:
            if len(windows) == _MAX_WINDOWS:
                self._windows = windows = [
                    [x + y for x, y in zip(*pair, strict=True)]
                    for pair in zip(windows[::2], windows[1::2], strict=True)
                ]
            windows.append([0, *[0.0] * (_COLUMNS - 1)])
        last = windows[-1]
        last[0] += 1
        last[1] += reward
        last[2] += abs(reward)
        last[3] += bonus
        last[4] += reward_return
        last[5] += reward_return * reward_return
        last[6] += bonus_return
        last[7] += bonus_return * bonus_return

    @property
    def window(self) -> float:
        """The length of a window in steps: that of the first, which is full once there is a second."""
        return max(self._windows[0][0], _FIRST_WINDOW) if self._windows else _FIRST_WINDOW

    def rows(self) -> list[list[float]]:
        """Return, for each window, the number of steps and the sums of all that `add` was given.

        These are the reward, |reward|, the bonus, and both returns, each followed by its square.
        """
        return [row.copy() for row in self._windows]
