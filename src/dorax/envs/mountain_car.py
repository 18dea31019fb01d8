"""Mountain car with a sparse reward.

The car is too weak to drive up the hill and has to gain momentum by driving away from the goal first. Uniformly
random actions hardly ever reach the goal, so the task needs exploration. The dynamics are those of Gymnasium's
MountainCar-v0 (Moore, 1990).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from dorax.envs.functional import FunctionalEnv


class MountainCarState(NamedTuple):
    """State of the mountain car.

    Attributes:
        position: position of the car.
        velocity: velocity of the car.
        time: steps since the start of the episode.
    """

    position: jax.Array
    velocity: jax.Array
    time: jax.Array


class MountainCarParams(NamedTuple):
    """Parameters of the mountain car; the defaults are Gymnasium's except for the time limit.

    Attributes:
        min_position: left wall.
        max_position: right end of the track.
        max_speed: bound on the velocity.
        goal_position: position at which the episode terminates.
        goal_velocity: smallest velocity that counts at the goal.
        force: acceleration by actions 0 (left) and 2 (right).
        gravity: strength of gravity.
        max_steps_in_episode: time limit.
    """

    min_position: float = -1.2
    max_position: float = 0.6
    max_speed: float = 0.07
    goal_position: float = 0.5
    goal_velocity: float = 0.0
    force: float = 0.001
    gravity: float = 0.0025
    max_steps_in_episode: int = 1000


class SparseMountainCar(FunctionalEnv):
    """Mountain car with reward 1 for reaching the goal and 0 otherwise.

    The actions push left (0), not at all (1) or right (2).
    """

    @property
    def default_params(self) -> MountainCarParams:
        """The default parameters."""
        return MountainCarParams()

    def reset_env(self, key: jax.Array, params: MountainCarParams) -> tuple[jax.Array, MountainCarState]:
        position = jax.random.uniform(key, minval=-0.6, maxval=-0.4)
        state = MountainCarState(position, jnp.zeros_like(position), jnp.int32(0))
        return _observation(state), state

    def step_env(
        self, key: jax.Array, state: MountainCarState, action: Any, params: MountainCarParams
    ) -> tuple[jax.Array, MountainCarState, jax.Array, jax.Array, dict[str, Any]]:
        push = (jnp.int32(action) - 1) * params.force  # int32: an unsigned 0 - 1 would overflow
        velocity = state.velocity + (push - params.gravity * jnp.cos(3 * state.position))
        velocity = jnp.clip(velocity, -params.max_speed, params.max_speed)
        position = jnp.clip(state.position + velocity, params.min_position, params.max_position)
        is_at_wall = (position == params.min_position) & (velocity < 0)
        velocity = jnp.where(is_at_wall, 0, velocity)
        terminated = (position >= params.goal_position) & (velocity >= params.goal_velocity)
        state = MountainCarState(position, velocity, state.time + 1)
        return _observation(state), state, terminated.astype(position.dtype), terminated, {}

    def observation_space(self, params: MountainCarParams) -> gymnasium.spaces.Box:
        low = np.array([params.min_position, -params.max_speed], np.float32)
        high = np.array([params.max_position, params.max_speed], np.float32)
        return gymnasium.spaces.Box(low, high, dtype=np.float32)

    def action_space(self, params: MountainCarParams) -> gymnasium.spaces.Discrete:
        return gymnasium.spaces.Discrete(3)


def _observation(state: MountainCarState) -> jax.Array:
    return jnp.stack([state.position, state.velocity])
