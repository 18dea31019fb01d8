"""Is the bonus right, and of a sensible size? What a wrapper has seen, in numbers, words and a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dorax.core.checks import InvalidInput
from dorax.features.specs import Table
from dorax.wrappers.environments import exploration_of, layers
from dorax.wrappers.exploration import Exploration

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SWAMPED = 0.9  # share of what was paid lately, above which rewards drown
VANISHED = 0.01  # and below which there is no bonus to speak of
_LATELY = 0.25  # of all steps


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """What came of a bonus.

    `step` is the end of each window of time; `reward` and `bonus` are the sizes of what
    was paid in it, a step. `visits` and `counts` are of the state-action pairs that were
    visited, where every state is counted by itself; else they are None.
    """

    step: np.ndarray
    reward: np.ndarray
    bonus: np.ndarray
    visits: np.ndarray | None
    counts: np.ndarray | None

    @property
    def bonus_share(self) -> np.ndarray:
        """How much of what was paid is bonus, window by window; 0 where nothing was paid."""
        paid = self.reward + self.bonus
        return np.where(paid > 0, self.bonus / np.where(paid > 0, paid, 1.0), 0.0)

    @property
    def late_share(self) -> float:
        """The share of the bonus over the last quarter of all steps."""
        reward, bonus = self._late_means()
        return bonus / (reward + bonus) if reward + bonus > 0 else 0.0

    @property
    def warnings(self) -> list[str]:
        """What a user should know, in sentences; empty if all is well."""
        reward, bonus = self._late_means()
        late = f"over the last {_LATELY:.0%} of steps"
        found: list[str] = []
        if reward == bonus == 0:
            found.append(f"nothing was paid {late}, neither reward nor bonus: there is nothing to learn from")
        elif reward == 0 and bonus < VANISHED * self.bonus.max():
            found.append(
                f"no reward was earned {late}, and the bonus has vanished: it is {bonus:.2g} a step and was "
                f"{self.bonus.max():.2g} at its height; raise the scale, or let it decline later"
            )
        elif reward == 0:
            found.append(
                f"no reward was earned {late}: the bonus ({bonus:.2g} a step) is all that the agent learns from, "
                "as it should be until the first reward is found"
            )
        elif self.late_share > SWAMPED:
            found.append(
                f"the bonus swamps the reward: it is {self.late_share:.1%} of what was paid {late}; "
                f"a scale {bonus / reward:.0f} times smaller would make them equal, or let it decline (LinearSchedule)"
            )
        elif self.late_share < VANISHED:
            found.append(
                f"the bonus has vanished: it is {self.late_share:.2%} of what was paid {late}; "
                "fine if the task is solved, else raise the scale"
            )
        return found

    def _late_means(self) -> tuple[float, float]:
        is_late = self.step > (1 - _LATELY) * self.step[-1]
        length = np.diff(self.step, prepend=0.0)[is_late]
        reward, bonus = (float(np.average(x[is_late], weights=length)) for x in (self.reward, self.bonus))
        return reward, bonus

    def __repr__(self) -> str:
        reward, bonus = self._late_means()
        lines = [
            f"{self.step[-1]:.0f} steps; over the last {_LATELY:.0%} of them rewards of size {reward:.3g} and bonuses "
            f"of size {bonus:.3g} a step: {self.late_share:.1%} of what was paid is bonus"
        ]
        if self.visits is not None and self.counts is not None:
            a_visit = self.counts.sum() / self.visits.sum()
            lines.append(
                f"{len(self.visits)} state-action pairs visited, {self.visits.max():.0f} times at most; "
                f"generalized counts up to {self.counts.max():.3g}, to which a visit added {a_visit:.2g} on average"
            )
        return "\n".join([*lines, *(f"Warning: {warning}" for warning in self.warnings)])

    def figure(self) -> Figure:
        """What was paid over time, how much of it is bonus and, where states are counted, visits against counts."""
        from matplotlib.figure import Figure

        panels_needed = 2 if self.visits is None else 3
        figure = Figure(figsize=(4 * panels_needed, 3.2), layout="constrained")
        panels = figure.subplots(1, panels_needed)
        panels[0].plot(self.step, self.reward, color="#0072b2", label="true reward (size)")
        panels[0].plot(self.step, self.bonus, color="#d55e00", label="bonus")
        panels[0].set(xlabel="steps", ylabel="paid a step", ylim=(0, None))
        panels[0].legend(frameon=False)
        panels[1].plot(self.step, self.bonus_share, color="#d55e00")
        panels[1].axhspan(SWAMPED, 1.0, color="#d55e00", alpha=0.12, linewidth=0)
        panels[1].axhspan(0.0, VANISHED, color="#0072b2", alpha=0.12, linewidth=0)
        panels[1].set(xlabel="steps", ylabel="share that is bonus", ylim=(0, 1))
        if self.visits is not None and self.counts is not None:
            panels[2].plot(self.visits, self.counts, ".", color="#009e73", alpha=0.6)
            most = float(np.max(self.visits))
            panels[2].plot([1, most], [1, most], color="#888888", linewidth=0.8)
            panels[2].annotate("a count a visit", (most, most), ha="right", va="bottom", color="#888888", fontsize=8)
            panels[2].set(xlabel="visits of a pair", ylabel="generalized count", xscale="log", yscale="log")
        for panel in panels:
            panel.spines[["top", "right"]].set_visible(False)
        return figure


def diagnose(env: Any) -> Diagnosis:
    """What came of the bonus of a wrapped environment, or of an `Exploration`.

    print(dorax.diagnose(env))  # numbers, and warnings if there is reason
    dorax.diagnose(env).figure().savefig("bonus.png")
    """
    exploration = env if isinstance(env, Exploration) else _exploration_within(env)
    rows = np.array(exploration.history.rows(), np.float64)
    if not len(rows):
        raise InvalidInput("the environment has taken no step yet; allowed: after some steps")
    steps, _, size, bonus = rows.T
    visits = counts = None
    if isinstance(exploration.counts.features, Table):
        by_pair, visited = exploration.counts.table()
        if visited.any():
            visits, counts = visited[visited > 0], by_pair[visited > 0]
    return Diagnosis(np.cumsum(steps), size / steps, bonus / steps, visits, counts)


def _exploration_within(env: Any) -> Exploration:
    """That of the wrapper, around or within other wrappers."""
    found = [exploration for layer in layers(env) if (exploration := exploration_of(layer)) is not None]
    if not found:
        raise InvalidInput(
            "the environment has no bonus to diagnose; allowed: one inside EValueBonus or its vector forms"
        )
    if len(found) > 1:
        raise InvalidInput(
            f"the environment has {len(found)} bonuses within, each with its own counts; allowed: one of them at a time"
        )
    return found[0]
