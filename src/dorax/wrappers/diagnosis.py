"""Whether a bonus has a sensible size: rewards and bonuses over time, warnings and a figure."""

from __future__ import annotations

import html
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dorax.core.checks import InvalidInput
from dorax.core.extras import needing
from dorax.features.specs import Table
from dorax.wrappers.environments import exploration_of, layers
from dorax.wrappers.exploration import Exploration
from dorax.wrappers.source import BonusSource

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SWAMPED = 0.9  # share of the recent total reward above which the bonus is too large
VANISHED = 0.01  # and below which it has no effect
_RECENT = 0.25  # of all steps
_SHARE = 0.1  # that the bonus should have in the deviation of returns


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """Rewards and bonuses over time, in windows of equal length.

    Attributes:
        step: the number of steps at the end of each window.
        reward: the mean of |true reward| per step in each window.
        bonus: the mean bonus per step in each window.
        reward_deviation: the standard deviation of the discounted return of the true reward (discount 0.99, across
            episodes), over the last quarter of all steps.
        bonus_deviation: that of the bonus with a scale of 1.
        visits: of each visited state-action pair, how often it was visited; None unless features are `Table`.
        counts: of the same pairs, the generalized counts; None unless features are `Table`.
    """

    step: np.ndarray
    reward: np.ndarray
    bonus: np.ndarray
    reward_deviation: float
    bonus_deviation: float
    visits: np.ndarray | None
    counts: np.ndarray | None

    @property
    def bonus_share(self) -> np.ndarray:
        """The share of the bonus in |reward| + bonus, window by window; 0 where both are 0."""
        total = self.reward + self.bonus
        return np.where(total > 0, self.bonus / np.where(total > 0, total, 1.0), 0.0)

    @property
    def late_share(self) -> float:
        """The share of the bonus in |reward| + bonus, over the last quarter of all steps."""
        reward, bonus = self._late_means()
        return bonus / (reward + bonus) if reward + bonus > 0 else 0.0

    @property
    def suggested_scale(self) -> float | None:
        """A scale to start from; None if bonuses did not vary yet.

        With it, the discounted return of the bonus would have varied a tenth as much as that of the true reward, which
        is taken to vary by 1 where it did not: there was no reward, or always the same. It is a rule of thumb: fit the
        scale.
        """
        if self.bonus_deviation == 0:
            return None
        return _SHARE * (self.reward_deviation or 1.0) / self.bonus_deviation

    @property
    def warnings(self) -> list[str]:
        """What is wrong with the size of the bonus, in sentences; empty if nothing is."""
        reward, bonus = self._late_means()
        late = f"over the last {_RECENT:.0%} of steps"
        found: list[str] = []
        if reward == bonus == 0:
            found.append(f"reward and bonus were 0 {late}: there is nothing to learn from")
        elif reward == 0 and bonus < VANISHED * self.bonus.max():
            found.append(
                f"there was no reward {late}, and the bonus has vanished: it is {bonus:.2g} per step, down from "
                f"{self.bonus.max():.2g} at most; raise the scale, or let it decrease later"
            )
        elif reward == 0:
            found.append(
                f"there was no reward {late}: the agent learns from the bonus alone ({bonus:.2g} per step), "
                "as it should until it finds the first reward"
            )
        elif self.late_share > SWAMPED:
            found.append(
                f"the bonus swamps the reward: it is {self.late_share:.1%} of the total {late}; "
                f"a scale {bonus / reward:.0f} times smaller would make them equal, or let it decrease (LinearSchedule)"
            )
        elif self.late_share < VANISHED:
            found.append(
                f"the bonus has vanished: it is {self.late_share:.2%} of the total {late}; "
                "fine if the task is solved, otherwise raise the scale"
            )
        return found

    def _late_means(self) -> tuple[float, float]:
        is_late = _is_late(self.step)
        length = np.diff(self.step, prepend=0.0)[is_late]
        reward, bonus = (float(np.average(x[is_late], weights=length)) for x in (self.reward, self.bonus))
        return reward, bonus

    def __repr__(self) -> str:
        reward, bonus = self._late_means()
        lines = [
            f"{self.step[-1]:.0f} steps; over the last {_RECENT:.0%} of them, per step, a mean |reward| of "
            f"{reward:.3g} and a mean bonus of {bonus:.3g}: {self.late_share:.1%} of the total is bonus"
        ]
        if self.visits is not None and self.counts is not None:
            per_visit = self.counts.sum() / self.visits.sum()
            lines.append(
                f"{len(self.visits)} state-action pairs visited, each up to {self.visits.max():.0f} times; generalized "
                f"counts up to {self.counts.max():.3g}, on average {per_visit:.2g} per visit"
            )
        if self.suggested_scale is not None:
            lines.append(f"a scale to start from: {self.suggested_scale:.2g}")
        return "\n".join([*lines, *(f"Warning: {warning}" for warning in self.warnings)])

    def _repr_html_(self) -> str:
        """Return the text and the figure, for notebooks."""
        picture = io.StringIO()
        self.figure().savefig(picture, format="svg")
        svg = picture.getvalue()
        return f"<pre>{html.escape(repr(self))}</pre>{svg[svg.index('<svg') :]}"

    def figure(self) -> Figure:
        """Draw reward and bonus over time, the share of the bonus and, with `Table` features, counts against visits.

        Returns:
            A Matplotlib figure, to be saved by its `savefig`.
        """
        with needing("paper"):
            from matplotlib.figure import Figure

        panels_needed = 2 if self.visits is None else 3
        figure = Figure(figsize=(4 * panels_needed, 3.2), layout="constrained")
        panels = figure.subplots(1, panels_needed)
        panels[0].plot(self.step, self.reward, color="#0072b2", label="|true reward|")
        panels[0].plot(self.step, self.bonus, color="#d55e00", label="bonus")
        panels[0].set(xlabel="steps", ylabel="mean per step", ylim=(0, None))
        panels[0].legend(frameon=False)
        panels[1].plot(self.step, self.bonus_share, color="#d55e00")
        panels[1].axhspan(SWAMPED, 1.0, color="#d55e00", alpha=0.12, linewidth=0)
        panels[1].axhspan(0.0, VANISHED, color="#0072b2", alpha=0.12, linewidth=0)
        panels[1].set(xlabel="steps", ylabel="share of the bonus", ylim=(0, 1))
        if self.visits is not None and self.counts is not None:
            panels[2].plot(self.visits, self.counts, ".", color="#009e73", alpha=0.6)
            most = float(np.max(self.visits))
            panels[2].plot([1, most], [1, most], color="#888888", linewidth=0.8)
            panels[2].annotate(
                "one count per visit", (most, most), ha="right", va="bottom", color="#888888", fontsize=8
            )
            panels[2].set(xlabel="visits of a pair", ylabel="generalized count", xscale="log", yscale="log")
        for panel in panels:
            panel.spines[["top", "right"]].set_visible(False)
        return figure


def diagnose(env: Any) -> Diagnosis:
    """Diagnose the bonus of a wrapped environment.

        print(dorax.diagnose(env))  # numbers and warnings
        dorax.diagnose(env).figure().savefig("bonus.png")  # a notebook shows both by itself

    Args:
        env: an environment with one bonus wrapper, inside or around other wrappers; or the `exploration` of a wrapper.

    Returns:
        Rewards and bonuses over time, with warnings and a figure.
    """
    exploration = env if isinstance(env, BonusSource) else _exploration_within(env)
    rows = np.array(exploration.history.rows(), np.float64)
    if not len(rows):
        raise InvalidInput("the environment has taken no step yet; allowed: diagnose after some steps")
    steps, _, size, bonus = rows.T[:4]
    step = np.cumsum(steps)
    number, *returns = rows[_is_late(step)].sum(axis=0)[[0, 4, 5, 6, 7]]
    rewards, bonuses = (_deviation(number, *returns[at : at + 2]) for at in (0, 2))
    visits = counts = None
    if isinstance(exploration, Exploration) and isinstance(exploration.counts.features, Table):
        by_pair, visited = exploration.counts.table()
        if visited.any():
            visits, counts = visited[visited > 0], by_pair[visited > 0]
    return Diagnosis(step, size / steps, bonus / steps, rewards, bonuses, visits, counts)


def _is_late(step: np.ndarray) -> np.ndarray:
    return step > (1 - _RECENT) * step[-1]


def _deviation(number: float, total: float, squares: float) -> float:
    """Return the standard deviation of numbers with these sums; 0 if it is a rounding error."""
    mean = total / number
    variance = squares / number - mean**2
    return float(np.sqrt(variance)) if variance > 1e-6 * mean**2 else 0.0


def _exploration_within(env: Any) -> BonusSource:
    """Return the `exploration` of the one bonus wrapper in a stack of wrappers."""
    found = [exploration for layer in layers(env) if (exploration := exploration_of(layer)) is not None]
    if not found:
        raise InvalidInput("the environment has no bonus to diagnose; allowed: one in a wrapper such as EValueBonus")
    if len(found) > 1:
        raise InvalidInput(
            f"the environment has {len(found)} bonuses, each with its own counts; allowed: one of them at a time"
        )
    return found[0]
