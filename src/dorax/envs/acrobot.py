"""Acrobot with a sparse reward.

Two links hang from a fixed point and only the joint between them is actuated. The reward is given when the
tip swings above the fixed point by the length of a link. The dynamics are those of Gymnasium's Acrobot-v1: the
equations of Sutton and Barto (1998), integrated by one Runge-Kutta step.
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
    """State of the acrobot.

    Attributes:
        first_angle: angle of the first link; 0 points down.
        second_angle: angle of the second link relative to the first.
        first_velocity: angular velocity of the first link.
        second_velocity: angular velocity of the second link.
        time: steps since the start of the episode.
    """

    first_angle: jax.Array
    second_angle: jax.Array
    first_velocity: jax.Array
    second_velocity: jax.Array
    time: jax.Array


class AcrobotParams(NamedTuple):
    """Parameters of the acrobot; the defaults are Gymnasium's.

    Attributes:
        first_length: length of the first link.
        first_mass: mass of the first link.
        second_mass: mass of the second link.
        first_centre: distance from the first link's start to its centre of mass.
        second_centre: distance from the second link's start to its centre of mass.
        inertia: moment of inertia of each link.
        gravity: gravitational acceleration.
        torque: torque of actions 0 (negative) and 2 (positive).
        step_seconds: seconds per step.
        max_first_speed: bound on the first link's angular velocity.
        max_second_speed: bound on the second link's angular velocity.
        goal_height: height of the tip above the fixed point at which the episode terminates.
        max_steps_in_episode: time limit.
    """

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
    """Acrobot with reward 1 for reaching the goal height and 0 otherwise.

    The actions apply negative (0), no (1) or positive (2) torque.

    Args:
        observes: `"vector"` observes the cosine and sine of each angle and the two velocities, as Gymnasium
            does. `"angles"` observes the angles in [-π, π] and the velocities: fewer dimensions for tile coding,
            but with a jump where an angle wraps around.
    """

    observes: Observes = eqx.field(default="vector", static=True)

    def __check_init__(self) -> None:
        if self.observes not in get_args(Observes):
            raise InvalidInput(f"observes is {self.observes!r}; allowed: {', '.join(get_args(Observes))}")

    @property
    def default_params(self) -> AcrobotParams:
        """The default parameters."""
        return AcrobotParams()

    def reset_env(self, key: jax.Array, params: AcrobotParams) -> tuple[jax.Array, AcrobotState]:
        state = AcrobotState(*jax.random.uniform(key, (4,), minval=-0.1, maxval=0.1), time=jnp.int32(0))
        return self._observation(state), state

    def step_env(
        self, key: jax.Array, state: AcrobotState, action: Any, params: AcrobotParams
    ) -> tuple[jax.Array, AcrobotState, jax.Array, jax.Array, dict[str, Any]]:
        torque = (jnp.int32(action) - 1) * params.torque  # int32: an unsigned 0 - 1 would overflow
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
        # A compiled cosine may exceed 1 by rounding, which the observation space would not contain.
        turns = jnp.clip(jnp.stack([cos(first), sin(first), cos(second), sin(second)]), -1, 1)
        return jnp.concatenate([turns, jnp.stack(velocities)])


def _after_one_step(y: jax.Array, torque: jax.Array, params: AcrobotParams) -> jax.Array:
    """Integrate angles and velocities over one step by the classical Runge-Kutta method."""
    seconds = params.step_seconds
    k1 = _derivative(y, torque, params)
    k2 = _derivative(y + seconds / 2 * k1, torque, params)
    k3 = _derivative(y + seconds / 2 * k2, torque, params)
    k4 = _derivative(y + seconds * k3, torque, params)
    return y + seconds / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def _derivative(y: jax.Array, torque: jax.Array, params: AcrobotParams) -> jax.Array:
    """Return velocities and accelerations; d1, d2, phi1 and phi2 are the names of Sutton and Barto."""
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
    """Wrap an angle to [-π, π]. It is clipped as well, since rounding may leave it slightly beyond π."""
    turns = jnp.ceil((jnp.abs(angle) - pi) / (2 * pi))
    return jnp.clip(angle - jnp.sign(angle) * turns * 2 * pi, -pi, pi)
