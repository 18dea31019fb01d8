"""Exploration bonuses: counts, the bonus computed from them, its scale over time, and a history of both."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from dorax.archive import read_archive, write_archive
from dorax.core.bonuses import InverseRootCount
from dorax.core.checks import InvalidInput, check_at_least
from dorax.core.counters import EValues, Visits
from dorax.features.specs import CountNetwork, Features, LearnedPrototypes, RandomStart
from dorax.wrappers.counts import GeneralizedCounts
from dorax.wrappers.history import History

if TYPE_CHECKING:
    from dorax.wrappers.explored import ExploredCounts

Scale = float | Callable[[int], float]
Bonus = Callable[[float, float], float]
_KIND = "exploration"


class Exploration:
    """Generalized counts for an environment, and the exploration bonus that they give.

        exploration = dorax.Exploration(env.observation_space, env.action_space, scale=0.1)
        exploration.begin(observation)
        bonus, count = exploration.visit(action, reward, next_observation, terminated, truncated)

    Args:
        observation_space: of a single environment.
        action_space: of a single environment: Discrete, MultiDiscrete, MultiBinary or tuples of them.
        num_envs: the number of environments that run in parallel and share their counts.
        counter: counts visits, generalized (`EValues`, whose learning rate is 0.5 unless given) or plain
            (`Visits`).
        bonus: turns a count into a bonus: `InverseRootCount`, `InverseCount` or a function of a count and the
            counter's learning rate.
        scale: multiplies the bonus: a number, or a function of the number of steps so far, such as
            `LinearSchedule`.
        features: how counts are stored: `Table`, `Tiles`, `KWinners`, `HashedCodes`, `Prototypes`, `LearnedPrototypes`,
            `CountNetwork` or `RandomStart`; by default the observation space decides.
        seed: seeds the random numbers of `act` and the random codes and networks of `features`.

    Attributes:
        counts: the `GeneralizedCounts`, or counts like them by networks.
        bonus: as given.
        scale: as given; may be changed at any time.
        steps: the number of steps counted so far.
        is_on: if False, steps are not counted and the bonus is 0.
        history: rewards and bonuses over time, for `diagnose`.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        num_envs: int = 1,
        *,
        counter: EValues | Visits = EValues(0.99),
        bonus: Bonus = InverseRootCount(),
        scale: Scale = 0.03,
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
        self.counts = _counts(observation_space, action_space, num_envs, counter, features, seed)
        self.bonus, self.scale = bonus, scale
        self.steps = 0
        self.is_on = True
        self.history = History()
        self._random = np.random.default_rng(seed)
        self._first_action = int(action_space.start) if isinstance(action_space, spaces.Discrete) else 0

    def begin(self, observation: Any, env_index: int = 0) -> None:
        """Begin an episode. If the one before did not end, it is treated as truncated.

        Args:
            observation: the first of the episode.
            env_index: the environment in which it begins.
        """
        self.counts.begin(observation, env_index)

    def visit(
        self, action: Any, reward: float, next_observation: Any, terminated: bool, truncated: bool, env_index: int = 0
    ) -> tuple[float, float]:
        """Count one step and compute its bonus.

        Args:
            action: the action taken.
            reward: the true reward, without the bonus.
            next_observation: what the action led to; at the end of an episode, the last observation of that
                episode.
            terminated: whether the episode ended in a terminal state.
            truncated: whether it was cut off, as by a time limit.
            env_index: the environment that took the step.

        Returns:
            The bonus, and the generalized count that it was computed from. While exploration is off, 0 and the
            count as it is.
        """
        if not isfinite(reward):
            raise InvalidInput(f"the reward is {reward}; allowed: a finite number")
        count = self.counts.visit(action, next_observation, terminated, truncated, env_index, is_counted=self.is_on)
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
        """Turn exploration off for the duration of a `with` block, as for evaluation: no bonus, and no counting."""
        was_on, self.is_on = self.is_on, False
        try:
            yield
        finally:
            self.is_on = was_on

    def act(self, rule: Callable[..., Any], values: Any, observations: Any) -> np.ndarray:
        """Choose actions by a rule, from your Q-values and the generalized counts.

        Args:
            rule: such as `LLL`, `UCB` or `Deficit`.
            values: Q-values, states x actions.
            observations: of these states: a list, or a batch as a vector environment returns it.

        Returns:
            One action per state. If the action space is not Discrete, the indices of the actions.
        """
        values = np.asarray(values, np.float64)
        counts = self.counts.of(observations)
        if values.shape != counts.shape:
            raise InvalidInput(f"values have the shape {values.shape}; allowed: states x actions, {counts.shape}")
        if np.isnan(values).any():
            raise InvalidInput("values contain nan; allowed: numbers")
        return self._first_action + rule(values, counts, np.float64(self.steps), self._random.random(len(values)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save counts, history and random state to one file, atomically. Running episodes are saved as truncated.

        Args:
            path: file to write.
        """
        facts = {**self.counts.what, "steps": self.steps, "history": self.history.rows()}
        facts["random"] = self._random.bit_generator.state
        write_archive(path, _KIND, facts, self.counts.arrays())

    def load(self, path: str | os.PathLike[str]) -> None:
        """Load a file that `save` wrote. Spaces, features and counter must be the same.

        Args:
            path: file to read.
        """
        facts, arrays = read_archive(path, _KIND)
        try:
            theirs = {name: facts[name] for name in self.counts.what}
            if theirs == self.counts.what:
                self._restore(arrays, facts)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise InvalidInput(f"{path} is damaged: {reason}; allowed: a saved {_KIND}") from error
        for name, ours in self.counts.what.items():
            if theirs[name] != ours:
                raise InvalidInput(f"{path} was saved for {name}: {theirs[name]}; allowed: the same as here, {ours}")

    def _restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        steps, history = int(facts["steps"]), History(facts["history"])
        self._random.bit_generator.state = facts["random"]
        self.counts.restore(arrays)
        self.steps, self.history = steps, history


def _counts(
    observations: spaces.Space[Any], actions: spaces.Space[Any], num_envs: int, counter: Any, features: Any, seed: int
) -> GeneralizedCounts | ExploredCounts:
    """Make the counts that features describe."""
    if isinstance(features, CountNetwork | RandomStart | LearnedPrototypes):
        from dorax.wrappers.explored import ExploredCounts  # takes long to import

        return ExploredCounts(observations, actions, num_envs, counter=counter, features=features, seed=seed)
    return GeneralizedCounts(observations, actions, num_envs, counter=counter, features=features, seed=seed)
