"""Acrobot with a sparse reward: two links hang from a bar, only the joint between them has a motor.

The tip has to swing above the bar by the length of a link; nothing is paid before. The dynamics are Gymnasium's
Acrobot-v1, the equations of the book (Sutton and Barto, 1998) over one step of Runge and Kutta.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jax.numpy import cos, pi, sin

from dorax.core.checks import InvalidInput
from dorax.envs.functional import FunctionalEnv

Observes = Literal["vector", "angles"]


class AcrobotState(NamedTuple):
    """The angle of the first link from hanging down, of the second from the first, and how fast they grow."""

    first_angle: jax.Array
    second_angle: jax.Array
    first_velocity: jax.Array
    second_velocity: jax.Array
    time: jax.Array


class AcrobotParams(NamedTuple):
    first_length: float = 1.0
    first_mass: float = 1.0
    second_mass: float = 1.0
    first_centre: float = 0.5
    second_centre: float = 0.5
    inertia: float = 1.0
    gravity: float = 9.8
    torque: float = 1.0
    step_seconds: float = 0.2
    max_first_speed: float = 4 * pi
    max_second_speed: float = 9 * pi
    goal_height: float = 1.0
    max_steps_in_episode: int = 500


class SparseAcrobot(FunctionalEnv):
    """Reward 1 on reaching the height, 0 otherwise. Actions turn the motor back (0), not at all (1) or forth (2).

    It observes a "vector", the cosine and sine of each angle and the two velocities, as Gymnasium's does;
    or the "angles" from -π to π with the velocities: fewer numbers to tile, but with a jump when a link goes over.
    """

    observes: Observes = eqx.field(default="vector", static=True)

    def __check_init__(self) -> None:
        if self.observes not in get_args(Observes):
            raise InvalidInput(f"observes is {self.observes!r}; allowed: {', '.join(get_args(Observes))}")

    @property
    def default_params(self) -> AcrobotParams:
        return AcrobotParams()

    def reset_env(self, key: jax.Array, params: AcrobotParams) -> tuple[jax.Array, AcrobotState]:
        state = AcrobotState(*jax.random.uniform(key, (4,), minval=-0.1, maxval=0.1), time=jnp.int32(0))
        return self._observation(state), state

    def step_env(
        self, key: jax.Array, state: AcrobotState, action: Any, params: AcrobotParams
    ) -> tuple[jax.Array, AcrobotState, jax.Array, jax.Array, dict[str, Any]]:
        torque = (jnp.int32(action) - 1) * params.torque  # an unsigned 0 - 1 would be a mighty torque
        first, second, first_velocity, second_velocity = _after_one_step(jnp.stack(state[:4]), torque, params)
        state = AcrobotState(
            _wrapped(first),
            _wrapped(second),
            jnp.clip(first_velocity, -params.max_first_speed, params.max_first_speed),
            jnp.clip(second_velocity, -params.max_second_speed, params.max_second_speed),
            state.time + 1,
        )
        height = -cos(state.first_angle) - cos(state.second_angle + state.first_angle)
        terminated = height > params.goal_height
        return self._observation(state), state, terminated.astype(height.dtype), terminated, {}

    def observation_space(self, params: AcrobotParams) -> gymnasium.spaces.Box:
        position = [1.0] * 4 if self.observes == "vector" else [pi] * 2
        high = np.array([*position, params.max_first_speed, params.max_second_speed], np.float32)
        return gymnasium.spaces.Box(-high, high, dtype=np.float32)

    def action_space(self, params: AcrobotParams) -> gymnasium.spaces.Discrete:
        return gymnasium.spaces.Discrete(3)

    def _observation(self, state: AcrobotState) -> jax.Array:
        first, second, *velocities, _ = state
        if self.observes == "angles":
            return jnp.stack([first, second, *velocities])
        # A compiled cosine may exceed 1 by its last bit, and the space would not contain it.
        turns = jnp.clip(jnp.stack([cos(first), sin(first), cos(second), sin(second)]), -1, 1)
        return jnp.concatenate([turns, jnp.stack(velocities)])


def _after_one_step(y: jax.Array, torque: jax.Array, params: AcrobotParams) -> jax.Array:
    """Angles and velocities `step_seconds` later, by the classical method of Runge and Kutta."""
    seconds = params.step_seconds
    k1 = _derivative(y, torque, params)
    k2 = _derivative(y + seconds / 2 * k1, torque, params)
    k3 = _derivative(y + seconds / 2 * k2, torque, params)
    k4 = _derivative(y + seconds * k3, torque, params)
    return y + seconds / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def _derivative(y: jax.Array, torque: jax.Array, params: AcrobotParams) -> jax.Array:
    """Velocities and accelerations; d1, d2, phi1 and phi2 as the book calls them."""
    first, second, first_velocity, second_velocity = y
    m1, m2, inertia, gravity = params.first_mass, params.second_mass, params.inertia, params.gravity
    l1, c1, c2 = params.first_length, params.first_centre, params.second_centre
    swing = m2 * l1 * c2 * sin(second)
    d1 = m1 * c1**2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * cos(second)) + 2 * inertia
    d2 = m2 * (c2**2 + l1 * c2 * cos(second)) + inertia
    phi2 = m2 * c2 * gravity * cos(first + second - pi / 2)
    phi1 = -swing * second_velocity**2 - 2 * swing * second_velocity * first_velocity
    phi1 += (m1 * c1 + m2 * l1) * gravity * cos(first - pi / 2) + phi2
    second_force = torque + d2 / d1 * phi1 - swing * first_velocity**2 - phi2
    second_acceleration = second_force / (m2 * c2**2 + inertia - d2**2 / d1)
    first_acceleration = -(d2 * second_acceleration + phi1) / d1
    return jnp.stack([first_velocity, second_velocity, first_acceleration, second_acceleration])


def _wrapped(angle: jax.Array) -> jax.Array:
    """The same direction from -π to π; clipped, since taking turns off a rounded angle may leave a bit beyond π."""
    turns = jnp.ceil((jnp.abs(angle) - pi) / (2 * pi))
    return jnp.clip(angle - jnp.sign(angle) * turns * 2 * pi, -pi, pi)
