"""Exploration bonuses by counts: the counts, the bonus computed from them, and rules that act by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from dorax.core.bonuses import InverseRootCount
from dorax.core.checks import InvalidInput
from dorax.core.counters import EValues, Visits
from dorax.features.specs import CountNetwork, Features, LearnedPrototypes, RandomStart
from dorax.wrappers.counts import GeneralizedCounts
from dorax.wrappers.source import BonusSource, Scale, Visit, check_reward

if TYPE_CHECKING:
    from dorax.wrappers.explored import ExploredCounts

Bonus = Callable[[float, float], float]


class Exploration(BonusSource):
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

    kind, basis = "exploration", "generalized_count"

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
        super().__init__(num_envs, scale, seed)
        if not callable(bonus) or isinstance(bonus, type):
            raise InvalidInput(
                f"bonus is {bonus!r}; allowed: InverseRootCount(), InverseCount() or a function like them"
            )
        self.counts = _counts(observation_space, action_space, num_envs, counter, features, seed)
        self.bonus = bonus
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
        check_reward(reward)
        count = self.counts.visit(action, next_observation, terminated, truncated, env_index, is_counted=self.is_on)
        if not self.is_on:
            return 0.0, count
        unscaled = float(self.bonus(count, self.counts.learning_rate))
        if not isfinite(unscaled):
            raise InvalidInput(f"the bonus of a count of {count} is {unscaled}; allowed: finite numbers")
        return self._scaled(reward, unscaled, env_index), count

    def visit_all(self, visits: Sequence[Visit]) -> list[tuple[float, float]]:
        """Count one step of several environments, one after the other, and compute their bonuses.

        Args:
            visits: the steps.

        Returns:
            What `visit` returns for each.
        """
        found: list[tuple[float, float]] = []
        for visit in visits:
            found.append(self.visit(*visit[:-1]))
            if visit.start is not None:
                self.begin(visit.start, visit.env_index)
        return found

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

    @property
    def _what(self) -> dict[str, str]:
        return self.counts.what

    def _facts(self) -> dict[str, Any]:
        return {"random": self._random.bit_generator.state}

    def _arrays(self) -> dict[str, np.ndarray]:
        return self.counts.arrays()

    def _restore(self, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self._random.bit_generator.state = facts["random"]
        self.counts.restore(arrays)


def _counts(
    observations: spaces.Space[Any], actions: spaces.Space[Any], num_envs: int, counter: Any, features: Any, seed: int
) -> GeneralizedCounts | ExploredCounts:
    """Make the counts that features describe."""
    if isinstance(features, CountNetwork | RandomStart | LearnedPrototypes):
        from dorax.wrappers.explored import ExploredCounts  # takes long to import

        return ExploredCounts(observations, actions, num_envs, counter=counter, features=features, seed=seed)
    return GeneralizedCounts(observations, actions, num_envs, counter=counter, features=features, seed=seed)
