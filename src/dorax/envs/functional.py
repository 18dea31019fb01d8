"""Environments as pure functions, so that training compiles as a whole and many lanes step in parallel.

The interface is that of gymnax 1.0: code that takes these environments also takes gymnax's.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from dorax.core.checks import InvalidInput

_LARGEST = float(np.finfo(np.float32).max)
LEAST_SIDE = 3  # of a picture: the side of the filters that look at it


class FunctionalEnv(eqx.Module):
    """Base class of functional environments: the state is an argument and a return value.

    Fields are static configuration, so that equal environments have equal hashes and share compiled programs.
    Numbers that may change without recompilation, such as the time limit, are in `params`. The field `time` of a
    state counts the steps of the episode.
    """

    @property
    def structure(self) -> Any:
        """This environment without what only decides its default parameters. Compiled programs depend on nothing else,
        so environments with equal structures share them."""
        return self

    @property
    @abstractmethod
    def default_params(self) -> Any:
        """The default parameters."""
        ...

    @abstractmethod
    def reset_env(self, key: jax.Array, params: Any) -> tuple[jax.Array, Any]:
        """Start an episode.

        Args:
            key: random key.
            params: parameters of the environment.

        Returns:
            The first observation and the state.
        """

    @abstractmethod
    def step_env(
        self, key: jax.Array, state: Any, action: Any, params: Any
    ) -> tuple[jax.Array, Any, jax.Array, jax.Array, dict[str, Any]]:
        """Take one step, without starting a new episode at the end.

        Args:
            key: random key.
            state: state of the environment.
            action: index of the action.
            params: parameters of the environment.

        Returns:
            The observation, the state, the reward, whether the episode terminated, and an info dictionary.
        """

    @abstractmethod
    def observation_space(self, params: Any) -> gymnasium.spaces.Box:
        """Return the observation space for these parameters."""
        ...

    @abstractmethod
    def action_space(self, params: Any) -> gymnasium.spaces.Discrete:
        """Return the action space for these parameters."""
        ...

    @property
    def num_actions(self) -> int:
        """The number of actions."""
        return int(self.action_space(self.default_params).n)

    @property
    def name(self) -> str:
        """The name of the environment: that of its class."""
        return type(self).__name__

    def is_truncated(self, state: Any, params: Any) -> jax.Array:
        """Return whether the state has reached the time limit."""
        return state.time >= params.max_steps_in_episode

    def reset(self, key: jax.Array, params: Any = None) -> tuple[jax.Array, Any]:
        """Start an episode.

        Args:
            key: random key.
            params: parameters of the environment; by default `default_params`.

        Returns:
            The first observation and the state.
        """
        return _started(self.structure, key, self.default_params if params is None else params)

    def step(
        self, key: jax.Array, state: Any, action: Any, params: Any = None
    ) -> tuple[jax.Array, Any, jax.Array, jax.Array, jax.Array, dict[str, Any]]:
        """Take one step; at the end of an episode, start a new one.

        At the end, observation and state are those of the new episode, and the last observation is
        `info["final_observation"]`. An episode that reaches its goal with the last step allowed is both terminated
        and truncated: bootstrap from the final observation unless terminated.

        Args:
            key: random key.
            state: state of the environment.
            action: index of the action.
            params: parameters of the environment; by default `default_params`.

        Returns:
            The observation, the state, the reward, whether the episode terminated, whether it was truncated, and an
            info dictionary.
        """
        return _stepped(self.structure, key, state, action, self.default_params if params is None else params)


@jax.jit(static_argnums=0)
def _started(env: Any, key: jax.Array, params: Any) -> tuple[jax.Array, Any]:
    return env.reset_env(key, params)


@jax.jit(static_argnums=0)
def _stepped(env: Any, key: jax.Array, state: Any, action: Any, params: Any) -> Any:
    step_key, reset_key = jax.random.split(key)
    reached, reached_state, reward, terminated, info = env.step_env(step_key, state, action, params)
    truncated = env.is_truncated(reached_state, params)
    is_over = terminated | truncated
    observation, state = jax.tree.map(
        lambda fresh, old: jnp.where(is_over, fresh, old), env.reset_env(reset_key, params), (reached, reached_state)
    )
    ends = {"terminated": terminated, "truncated": truncated, "final_observation": reached}
    return observation, state, reward, terminated, truncated, {**info, **ends}


def structure_of(env: Any) -> Any:
    """Return what compiled programs depend on: the environment without its default parameters.

    Args:
        env: a functional environment.
    """
    return env.structure if isinstance(env, FunctionalEnv) else env


def name_of(env: Any) -> str:
    """Return the name of an environment.

    Args:
        env: a functional environment.
    """
    return str(getattr(env, "name", type(env).__name__))


def check_spaces(env: Any, params: Any, *, pictures: bool = False) -> tuple[np.ndarray, np.ndarray, int]:
    """Check that observations are vectors, or pictures, and actions are discrete.

    Spaces are recognised by their attributes instead of their class, since gymnax has its own. Bounds may be
    infinite; the largest float32, which some environments declare, counts as infinite.

    Args:
        env: a functional environment.
        params: its parameters.
        pictures: also allow observations of height × width × channels, or of height × width.

    Returns:
        The lowest and the highest observation, and the number of actions.

    Raises:
        InvalidInput: if the spaces are of other kinds.
    """
    actions, observations = env.action_space(params), env.observation_space(params)
    # MultiBinary also has an n, but its shape is not ().
    is_discrete = hasattr(actions, "n") and actions.shape == () and getattr(actions, "start", 0) == 0
    _check_space(f"the action space of {name_of(env)}", actions, "a Discrete space that starts at 0", is_discrete)
    is_box = all(hasattr(observations, part) for part in ("low", "high"))
    is_vector = is_box and len(observations.shape) == 1
    is_picture = is_box and len(observations.shape) in (2, 3) and min(observations.shape[:2]) >= LEAST_SIDE
    allowed = "a Box of one dimension" + f", or of pictures from {LEAST_SIDE} × {LEAST_SIDE} on" * pictures
    is_allowed = is_vector or (pictures and is_picture)
    _check_space(f"the observation space of {name_of(env)}", observations, allowed, is_allowed)
    low, high = (np.full(observations.shape, bound, np.float64) for bound in (observations.low, observations.high))
    low, high = np.where(low <= -_LARGEST, -np.inf, low), np.where(high >= _LARGEST, np.inf, high)
    return low, high, int(actions.n)


def _check_space(name: str, space: Any, allowed: str, is_allowed: bool) -> None:
    if not is_allowed:
        raise InvalidInput(f"{name} is {' '.join(repr(space).split())}; allowed: {allowed}")
