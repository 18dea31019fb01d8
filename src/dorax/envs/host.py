"""Environments that run outside JAX, on the host: emulators and Gymnasium environments, several games in parallel.

Actions are sent and results are received in two calls, so that an emulator can work while a device learns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import gymnasium
import numpy as np

from dorax.core.checks import InvalidInput
from dorax.envs.simulation import EnvSpec, Observation

_LARGEST = float(np.finfo(np.float32).max)


class Arrival(NamedTuple):
    """Results of a step, one entry per game.

    The step after the end of an episode ignores its action and starts the next episode, as in Gymnasium's next-step
    autoreset.

    Attributes:
        observation: what the games show.
        reward: rewards.
        terminated: whether the episode ended in a terminal state.
        truncated: whether the episode was cut off, as by a time limit.
        is_first: whether this is the first observation of an episode.
    """

    observation: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    is_first: np.ndarray


class Games(Protocol):
    """Protocol of a batch of games of one environment."""

    @property
    def number(self) -> int:
        """Number of games."""
        ...

    def begin(self, seeds: Sequence[int] | np.ndarray) -> Arrival:
        """Start a new episode in every game.

        Args:
            seeds: one seed per game.

        Returns:
            The first observations.
        """
        ...

    def act(self, actions: np.ndarray) -> None:
        """Send actions without waiting for the results.

        Args:
            actions: one action per game.
        """
        ...

    def arrive(self) -> Arrival:
        """Wait for the results of the last actions.

        Returns:
            The results.
        """
        ...

    def close(self) -> None:
        """Close all games."""
        ...


@runtime_checkable
class HostEnv(Protocol):
    """Protocol of environments whose games run on the host.

    Attributes:
        spec: description of the environment for learners.
    """

    @property
    def spec(self) -> EnvSpec: ...

    def games(self, number: int) -> Games:
        """Create a batch of games.

        Args:
            number: number of games.
        """
        ...

    def blank(self, number: int) -> Observation:
        """Return a placeholder for the observations before the first step.

        Args:
            number: number of games.
        """
        ...

    def observed(self, previous: Observation, arrived: Any, is_first: Any) -> Observation:
        """Compute the agent's observations. Runs on the device.

        Args:
            previous: the agent's previous observations.
            arrived: what the games show now.
            is_first: whether an episode starts.

        Returns:
            The observations.
        """
        ...


class GymnasiumEnv:
    """A Gymnasium environment with vector observations or numbered states, to train on.

    Args:
        name: id of the environment, such as `"CartPole-v1"`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        try:
            env: gymnasium.Env[Any, Any] = gymnasium.make(name)
        except gymnasium.error.Error as error:
            raise InvalidInput(f"the environment is {name!r}: {error}; allowed: the id of an environment") from None
        self.spec = _spec(name, env.observation_space, env.action_space)
        env.close()

    def games(self, number: int) -> Games:
        return _GymnasiumGames(self.name, number)

    def blank(self, number: int) -> Observation:
        if self.spec.available is not None:
            return np.zeros(number, np.int32)
        return np.zeros((number, len(self.spec.low or ())), np.float32)

    def observed(self, previous: Observation, arrived: Any, is_first: Any) -> Observation:
        del previous, is_first
        return arrived

    def __repr__(self) -> str:
        return f"GymnasiumEnv({self.name!r})"


class _GymnasiumGames:
    """Games in this process, one after the other; a new episode starts in the step after the end of the last one."""

    def __init__(self, name: str, number: int) -> None:
        self.number = number
        self._envs: list[gymnasium.Env[Any, Any]] = [gymnasium.make(name) for _ in range(number)]
        self._is_over = np.zeros(number, bool)
        self._actions = np.zeros(number, np.int64)

    def begin(self, seeds: Sequence[int] | np.ndarray) -> Arrival:
        seen = [env.reset(seed=int(seed))[0] for env, seed in zip(self._envs, seeds, strict=True)]
        no = np.zeros(self.number, bool)
        self._is_over = no
        return Arrival(_stacked(seen), np.zeros(self.number, np.float32), no, no, ~no)

    def act(self, actions: np.ndarray) -> None:
        self._actions = np.asarray(actions)

    def arrive(self) -> Arrival:
        seen: list[Any] = []
        reward = np.zeros(self.number, np.float32)
        terminated, truncated = np.zeros(self.number, bool), np.zeros(self.number, bool)
        for i, env in enumerate(self._envs):
            if self._is_over[i]:
                seen.append(env.reset()[0])
                continue
            observation, paid, terminated[i], truncated[i], _ = env.step(int(self._actions[i]))
            reward[i] = float(paid)
            if not np.isfinite(reward[i]) or not np.isfinite(np.asarray(observation, np.float64)).all():
                raise InvalidInput(
                    f"the observation is {observation} and the reward {paid}; allowed: finite numbers (in {env})"
                )
            seen.append(observation)
        is_first, self._is_over = self._is_over, terminated | truncated
        return Arrival(_stacked(seen), reward, terminated, truncated, is_first)

    def close(self) -> None:
        for env in self._envs:
            env.close()


def _stacked(observations: Sequence[Any]) -> np.ndarray:
    together = np.stack([np.asarray(observation) for observation in observations])
    return together.astype(np.int32 if np.issubdtype(together.dtype, np.integer) and together.ndim == 1 else np.float32)


def _spec(name: str, observations: gymnasium.Space[Any], actions: gymnasium.Space[Any]) -> EnvSpec:
    if not isinstance(actions, gymnasium.spaces.Discrete) or actions.start != 0:
        raise InvalidInput(f"the action space of {name} is {actions}; allowed: a Discrete space that starts at 0")
    number = int(actions.n)
    if isinstance(observations, gymnasium.spaces.Discrete) and observations.start == 0:
        return EnvSpec(name, number, available=np.ones((int(observations.n), number), bool))
    if isinstance(observations, gymnasium.spaces.Box) and len(observations.shape) == 1:
        low, high = (np.asarray(bound, np.float64) for bound in (observations.low, observations.high))
        low, high = np.where(low <= -_LARGEST, -np.inf, low), np.where(high >= _LARGEST, np.inf, high)
        return EnvSpec(name, number, low=tuple(low.tolist()), high=tuple(high.tolist()))
    raise InvalidInput(
        f"the observation space of {name} is {' '.join(str(observations).split())}; "
        "allowed: a Discrete space that starts at 0, or a Box of one dimension"
    )
