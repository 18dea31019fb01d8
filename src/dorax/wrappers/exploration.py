"""What turns visits into reward: counts, a bonus of them, its scale over time, and a record of what came of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, TypedDict

import numpy as np
from gymnasium import spaces

from dorax.archive import read_archive, write_archive
from dorax.core.bonuses import InverseRootCount
from dorax.core.checks import InvalidInput, check_at_least
from dorax.features.specs import Features
from dorax.wrappers.counts import GeneralizedCounts
from dorax.wrappers.history import History

Scale = float | Callable[[int], float]
KIND = "exploration"
_INVERSE_ROOT = InverseRootCount()


class Options(TypedDict, total=False):
    """The options of `Exploration`, which all wrappers share."""

    scale: Scale
    discount: float
    learning_rate: float
    bonus: Callable[[Any, Any], Any]
    features: Features | None
    seed: int


@dataclass(frozen=True)
class LinearSchedule:
    """From `start` to `end` in equal steps, over so many `steps`; then it stays."""

    start: float
    end: float
    steps: int

    def __post_init__(self) -> None:
        check_at_least("the start of a schedule", self.start, 0)
        check_at_least("the end of a schedule", self.end, 0)
        check_at_least("the steps of a schedule", self.steps, 1)

    def __call__(self, step: int) -> float:
        return self.start + min(1.0, step / self.steps) * (self.end - self.start)


class Exploration:
    """E-values for the observations and actions of an environment, and the bonus made of them.

        exploration = dorax.Exploration(env.observation_space, env.action_space, scale=0.1)
        exploration.begin(observation)
        bonus, count = exploration.visit(action, reward, next_observation, terminated, truncated)

    `scale` multiplies the bonus, and may be a function of the steps taken so far, such as
    `LinearSchedule`. `discount` is the paper's gamma_E, how far a count looks ahead: 0
    counts plain visits. `learning_rate` is its alpha_E. `bonus` makes reward of a count.
    `features` says what counts are kept by: `Table`, `Tiles` or `KWinners`, from the space
    unless given. `lanes` environments that run side by side share all counts.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lanes: int = 1,
        *,
        scale: Scale = 0.03,
        discount: float = 0.99,
        learning_rate: float = 0.5,
        bonus: Callable[[Any, Any], Any] = _INVERSE_ROOT,
        features: Features | None = None,
        seed: int = 0,
    ) -> None:
        if not callable(scale):
            check_at_least("the scale of the bonus", scale, 0)
        check_at_least("the seed", seed, 0)
        if not callable(bonus) or isinstance(bonus, type):
            raise InvalidInput(
                f"bonus is {bonus!r}; allowed: InverseRootCount(), InverseCount() or a function like them"
            )
        self.counts = GeneralizedCounts(
            observation_space,
            action_space,
            lanes,
            discount=discount,
            learning_rate=learning_rate,
            features=features,
            seed=seed,
        )
        self.scale, self.bonus = scale, bonus
        self.steps = 0
        self.is_on = True
        self.history = History()
        self._random = np.random.default_rng(seed)
        self._first_action = int(action_space.start) if isinstance(action_space, spaces.Discrete) else 0

    def begin(self, observation: Any, lane: int = 0) -> None:
        """An episode begins, whether or not the one before had come to its end."""
        self.counts.begin(lane, observation)

    def visit(
        self, action: Any, reward: float, next_observation: Any, terminated: bool, truncated: bool, lane: int = 0
    ) -> tuple[float, float]:
        """One step: its bonus, and the generalized count that the bonus was made of.

        While exploration is off nothing is counted, and there is no bonus.
        """
        if not isfinite(reward):
            raise InvalidInput(f"the reward is {reward}; allowed: a finite number")
        count = self.counts.visit(lane, action, next_observation, terminated, truncated, is_counted=self.is_on)
        if not self.is_on:
            return 0.0, count
        scale = float(self.scale(self.steps)) if callable(self.scale) else self.scale
        if not 0 <= scale < inf:
            raise InvalidInput(f"the scale of the bonus after {self.steps} steps is {scale}; allowed: 0 or more")
        bonus = scale * float(self.bonus(count, self.counts.learning_rate))
        if not isfinite(bonus):
            raise InvalidInput(f"the bonus of a count of {count} is {bonus}; allowed: finite numbers")
        self.steps += 1
        self.history.add(float(reward), bonus)
        return bonus, count

    @contextmanager
    def off(self) -> Iterator[None]:
        """For evaluation: within it rewards stay as they are, and nothing is counted."""
        was_on, self.is_on = self.is_on, False
        try:
            yield
        finally:
            self.is_on = was_on

    def act(self, rule: Callable[..., Any], values: Any, observations: Any) -> np.ndarray:
        """Actions for somebody's Q-values of some states (states x actions), by a rule such as `LLL`.

        `observations` are a list, or come together as from a vector environment. Where
        actions are tuples, the numbers of actions, counted as digits are.
        """
        values = np.asarray(values, np.float64)
        counts = self.counts.of(observations)
        if values.shape != counts.shape:
            raise InvalidInput(f"values have the shape {values.shape}; allowed: states x actions, {counts.shape}")
        if np.isnan(values).any():
            raise InvalidInput("values contain nan; allowed: numbers")
        return self._first_action + rule(values, counts, np.float64(self.steps), self._random.random(len(values)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything that was learned to one file, atomically."""
        facts = {**self.counts.what, "steps": self.steps, "history": self.history.rows()}
        facts["random"] = self._random.bit_generator.state
        write_archive(path, KIND, facts, self.counts.arrays())

    def load(self, path: str | os.PathLike[str]) -> None:
        """Go on with what `save` wrote, of the same spaces and settings of counts."""
        facts, arrays = read_archive(path, KIND)
        try:
            theirs = {name: facts[name] for name in self.counts.what}
            if theirs == self.counts.what:
                self._restore(arrays, facts)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise InvalidInput(f"{path} is damaged: {reason}; allowed: a saved {KIND}") from error
        for name, ours in self.counts.what.items():
            if theirs[name] != ours:
                raise InvalidInput(f"{path} was saved for {name}: {theirs[name]}; allowed: the same as here, {ours}")

    def _restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        steps, history = int(facts["steps"]), History(facts["history"])
        self._random.bit_generator.state = facts["random"]
        self.counts.restore(arrays)
        self.steps, self.history = steps, history
