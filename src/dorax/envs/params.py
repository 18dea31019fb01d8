"""Functional environments with other default parameters, such as another time limit."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax

from dorax.core.checks import InvalidInput
from dorax.envs.functional import FunctionalEnv, name_of, structure_of


class WithParams(FunctionalEnv):
    """A functional environment with other default parameters; see `with_params`.

    Attributes:
        env: the environment.
        params: the default parameters.
    """

    env: Any = eqx.field(static=True)
    params: Any

    @property
    def structure(self) -> Any:
        return structure_of(self.env)

    @property
    def default_params(self) -> Any:
        return self.params

    @property
    def name(self) -> str:
        """The name of the environment itself."""
        return name_of(self.env)

    def reset_env(self, key: jax.Array, params: Any) -> tuple[jax.Array, Any]:
        return self.env.reset_env(key, params)

    def step_env(
        self, key: jax.Array, state: Any, action: Any, params: Any
    ) -> tuple[jax.Array, Any, jax.Array, jax.Array, dict[str, Any]]:
        return self.env.step_env(key, state, action, params)

    def observation_space(self, params: Any) -> Any:
        return self.env.observation_space(params)

    def action_space(self, params: Any) -> Any:
        return self.env.action_space(params)

    def is_truncated(self, state: Any, params: Any) -> jax.Array:
        return self.env.is_truncated(state, params)


def with_params(env: Any, **changes: Any) -> WithParams:
    """Change default parameters of a functional environment, such as its time limit.

        car = dorax.envs.with_params(dorax.envs.SparseMountainCar(), max_steps_in_episode=500)

    Environments that differ in parameters only share compiled programs, so a list of them, one for each seed, is
    trained side by side.

    Args:
        env: a functional environment (ours, or any with gymnax's interface).
        changes: new values of some parameters, by name.

    Returns:
        The environment with these default parameters.
    """
    params = env.default_params
    known = getattr(params, "_fields", None) or tuple(getattr(params, "__dataclass_fields__", ()))
    for name in changes:
        if name not in known:
            raise InvalidInput(f"a parameter of {name_of(env)} is {name!r}; allowed: {', '.join(known) or 'none'}")
    changed = params._replace(**changes) if hasattr(params, "_replace") else dataclasses.replace(params, **changes)
    return WithParams(env, changed)
