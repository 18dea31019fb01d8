"""Environments as pure functions, so that training compiles whole and many lanes step side by side.

The interface is gymnax 1.0's: whoever takes one of our environments takes one of gymnax's too.
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


class FunctionalEnv(eqx.Module):
    """An environment that remembers nothing: its state goes in and comes out.

    Fields are static configuration only, so that equal environments hash equal and share what was
    compiled. Numbers that may change without compiling again, the time limit among them, are `params`.
    A state counts the steps of its episode in `time`.
    """

    @property
    @abstractmethod
    def default_params(self) -> Any: ...

    @abstractmethod
    def reset_env(self, key: jax.Array, params: Any) -> tuple[jax.Array, Any]:
        """The observation and the state that an episode starts with."""

    @abstractmethod
    def step_env(
        self, key: jax.Array, state: Any, action: Any, params: Any
    ) -> tuple[jax.Array, Any, jax.Array, jax.Array, dict[str, Any]]:
        """One step of the episode: observation, state, reward, terminated, info."""

    @abstractmethod
    def observation_space(self, params: Any) -> gymnasium.spaces.Box: ...

    @abstractmethod
    def action_space(self, params: Any) -> gymnasium.spaces.Discrete: ...

    @property
    def num_actions(self) -> int:
        return int(self.action_space(self.default_params).n)

    @property
    def name(self) -> str:
        return type(self).__name__

    def is_truncated(self, state: Any, params: Any) -> jax.Array:
        return state.time >= params.max_steps_in_episode

    @jax.jit(static_argnums=0)
    def reset(self, key: jax.Array, params: Any = None) -> tuple[jax.Array, Any]:
        return self.reset_env(key, self.default_params if params is None else params)

    @jax.jit(static_argnums=0)
    def step(
        self, key: jax.Array, state: Any, action: Any, params: Any = None
    ) -> tuple[jax.Array, Any, jax.Array, jax.Array, jax.Array, dict[str, Any]]:
        """One step; where it ends the episode, observation and state are those of the next one.

        What was observed at the end is `info["final_observation"]`. An episode that reaches its end with its
        last step is both terminated and truncated: bootstrap from the final observation unless terminated.
        """
        params = self.default_params if params is None else params
        step_key, reset_key = jax.random.split(key)
        reached, reached_state, reward, terminated, info = self.step_env(step_key, state, action, params)
        truncated = self.is_truncated(reached_state, params)
        is_over = terminated | truncated
        observation, state = jax.tree.map(
            lambda fresh, old: jnp.where(is_over, fresh, old),
            self.reset_env(reset_key, params),
            (reached, reached_state),
        )
        ends = {"terminated": terminated, "truncated": truncated, "final_observation": reached}
        return observation, state, reward, terminated, truncated, {**info, **ends}


def check_spaces(env: Any, params: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """The lowest and highest observation and the number of actions; raise unless vectors meet numbered actions.

    Spaces are told by what they have, not by their class: gymnax brings its own. Bounds may be infinite; the
    largest number that there is, which some environments declare, is as good as infinite.
    """
    actions, observations = env.action_space(params), env.observation_space(params)
    # MultiBinary has an n as well, but its shape is not ().
    is_discrete = hasattr(actions, "n") and actions.shape == () and getattr(actions, "start", 0) == 0
    _check_space(f"the action space of {env.name}", actions, "a Discrete space that starts at 0", is_discrete)
    is_vector = all(hasattr(observations, part) for part in ("low", "high")) and len(observations.shape) == 1
    _check_space(f"the observation space of {env.name}", observations, "a Box of one dimension", is_vector)
    low, high = (np.full(observations.shape, bound, np.float64) for bound in (observations.low, observations.high))
    low, high = np.where(low <= -_LARGEST, -np.inf, low), np.where(high >= _LARGEST, np.inf, high)
    return low, high, int(actions.n)


def _check_space(name: str, space: Any, allowed: str, is_allowed: bool) -> None:
    if not is_allowed:
        raise InvalidInput(f"{name} is {' '.join(repr(space).split())}; allowed: {allowed}")
