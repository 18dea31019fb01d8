"""What every bonus has in common, wherever it comes from: a scale, a switch, a history, and a file to be saved in."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf, isfinite
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dorax.archive import read_archive, write_archive
from dorax.core.checks import InvalidInput, check_at_least
from dorax.wrappers.history import History

Scale = float | Callable[[int], float]

_DISCOUNT = 0.99  # of the returns whose deviations suggest a scale


class Visit(NamedTuple):
    """A step of one environment.

    Attributes:
        action: the action taken.
        reward: the true reward, without the bonus.
        next_observation: what the action led to; at the end of an episode, the last observation of that episode.
        terminated: whether the episode ended in a terminal state.
        truncated: whether it was cut off, as by a time limit.
        env_index: the environment that took the step.
        start: the first observation of the next episode, if the environment was reset in the same step.
    """

    action: Any
    reward: float
    next_observation: Any
    terminated: bool
    truncated: bool
    env_index: int = 0
    start: Any = None


class BonusSource(ABC):
    """Computes the bonuses of the environments that run in parallel.

    Args:
        num_envs: the number of environments.
        scale: multiplies the bonus: a number, or a function of the number of steps so far.
        seed: checked only.

    Attributes:
        num_envs: as given.
        scale: as given; may be changed at any time.
        steps: the number of steps that earned a bonus so far.
        is_on: if False, nothing is learned from steps and the bonus is 0.
        history: rewards and bonuses over time, for `diagnose`.
    """

    kind: ClassVar[str]  # of its files
    basis: ClassVar[str]  # what a bonus is computed from, as it is called in `info`

    def __init__(self, num_envs: int, scale: Scale, seed: int) -> None:
        if not callable(scale):
            check_at_least("the scale of the bonus", scale, 0)
        check_at_least("the seed", seed, 0)
        self.num_envs, self.scale = num_envs, scale
        self.steps = 0
        self.is_on = True
        self.history = History()
        self._returns = [(0.0, 0.0)] * num_envs  # of rewards and of bonuses without the scale, across episodes

    @abstractmethod
    def begin(self, observation: Any, env_index: int = 0) -> None:
        """Begin an episode. If the one before did not end, it is treated as truncated.

        Args:
            observation: the first of the episode.
            env_index: the environment in which it begins.
        """

    @abstractmethod
    def visit_all(self, visits: Sequence[Visit]) -> list[tuple[float, float]]:
        """Learn from one step of several environments, and compute their bonuses.

        Args:
            visits: the steps, at most one of each environment.

        Returns:
            For each step, the bonus and the number that it was computed from. While it is off, 0 and that number.
        """

    def visit(
        self, action: Any, reward: float, next_observation: Any, terminated: bool, truncated: bool, env_index: int = 0
    ) -> tuple[float, float]:
        """Learn from one step and compute its bonus.

        Args:
            action: the action taken.
            reward: the true reward, without the bonus.
            next_observation: what the action led to; at the end of an episode, the last observation of that
                episode.
            terminated: whether the episode ended in a terminal state.
            truncated: whether it was cut off, as by a time limit.
            env_index: the environment that took the step.

        Returns:
            The bonus, and the number that it was computed from. While it is off, 0 and that number.
        """
        return self.visit_all([Visit(action, reward, next_observation, terminated, truncated, env_index)])[0]

    @contextmanager
    def off(self) -> Iterator[None]:
        """Turn exploration off for the duration of a `with` block, as for evaluation: no bonus, and no learning."""
        was_on, self.is_on = self.is_on, False
        try:
            yield
        finally:
            self.is_on = was_on

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save all that was learned, and the history, to one file, atomically. Running episodes are saved as truncated.

        Args:
            path: file to write.
        """
        facts = {**self._what, **self._facts(), "steps": self.steps, "history": self.history.rows()}
        facts["returns"] = self._returns
        write_archive(path, self.kind, facts, self._arrays())

    def load(self, path: str | os.PathLike[str]) -> None:
        """Load a file that `save` wrote. Spaces and options must be the same, except for the scale.

        Args:
            path: file to read.
        """
        facts, arrays = read_archive(path, self.kind)
        try:
            theirs = {name: facts[name] for name in self._what}
            if theirs == self._what:
                steps, history = int(facts["steps"]), History(facts["history"])
                self._restore(facts, arrays)
                self.steps, self.history = steps, history
                returns = [(float(reward), float(bonus)) for reward, bonus in facts.get("returns", [])]
                self._returns = [*returns, *[(0.0, 0.0)] * self.num_envs][: self.num_envs]
        except (KeyError, TypeError, ValueError, IndexError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise InvalidInput(f"{path} is damaged: {reason}; allowed: a saved {self.kind}") from error
        for name, ours in self._what.items():
            if theirs[name] != ours:
                raise InvalidInput(f"{path} was saved for {name}: {theirs[name]}; allowed: the same as here, {ours}")

    def _scaled(self, reward: float, unscaled: float, env_index: int) -> float:
        """Return the bonus of a step, and add it to the history."""
        scale = float(self.scale(self.steps)) if callable(self.scale) else self.scale
        if not 0 <= scale < inf:
            raise InvalidInput(f"the scale of the bonus after {self.steps} steps is {scale}; allowed: 0 or more")
        bonus = scale * unscaled
        self.steps += 1
        reward, (reward_return, bonus_return) = float(reward), self._returns[env_index]
        returns = _DISCOUNT * reward_return + reward, _DISCOUNT * bonus_return + unscaled
        self._returns[env_index] = returns
        self.history.add(reward, bonus, *returns)
        return bonus

    @property
    @abstractmethod
    def _what(self) -> dict[str, str]:
        """What must agree before a saved file can be loaded."""

    def _facts(self) -> dict[str, Any]:
        """Return all that is to be saved except arrays, as JSON data."""
        return {}

    @abstractmethod
    def _arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays to be saved."""

    @abstractmethod
    def _restore(self, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Replace all that was learned by what was saved."""


def check_reward(reward: float) -> None:
    """Raise `InvalidInput` unless a reward is a finite number.

    Args:
        reward: the reward.
    """
    if not isfinite(reward):
        raise InvalidInput(f"the reward is {reward}; allowed: a finite number")
