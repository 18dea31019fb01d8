"""Finite MDPs that are seen through a random map, with noise.

A vector with a single 1 tells states apart perfectly, so counts of hashed vectors are a table in disguise. Here the
agent sees a fixed random point for each state instead, and beside it inputs that are new noise in every observation, so
that no observation is ever seen twice. The exact answers of the MDP still hold.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dorax import mdps
from dorax.core.brief import call_of
from dorax.core.checks import InvalidInput, check_at_least, check_whole
from dorax.envs.functional import FunctionalEnv
from dorax.envs.simulation import FiniteSimulation, FiniteState, finite_simulation
from dorax.mdps import MDP


class DenseParams(NamedTuple):
    """Parameters of a `DenseView`.

    Attributes:
        simulation: the MDP.
        points: what is seen of each state.
        noise: standard deviation of the noise inputs.
    """

    simulation: FiniteSimulation
    points: Float[Array, "states dims"]
    noise: Float[Array, ""]


class DenseView(FunctionalEnv):
    """A finite MDP seen through a fixed random linear map, beside inputs that are noise.

        seas = [dorax.envs.DenseView(dorax.mdps.deep_sea(20, seed), seed) for seed in range(5)]
        result = dorax.train(agent, seas, steps=500_000, seeds=5)     # one compiled program

    An observation has `dims` numbers that stand for the state, drawn once from a standard normal distribution, followed
    by `noise_inputs` normal numbers with standard deviation `noise`, drawn anew every time. So the squared distance of
    two observations is 2 · `noise_inputs` · `noise`² on average (32 by default) if they are of the same state, and
    2 · `dims` (128) more if they are of two states: with 16 noise inputs of strength 2 the noise is as large as the
    signal. A terminal state, which the MDP does not have, is seen as noise alone.

    Args:
        mdp: a finite MDP in which all states have all actions.
        seed: seed of the map.
        noise: standard deviation of the noise inputs.
        noise_inputs: number of noise inputs.
        dims: number of inputs that stand for the state.
    """

    mdp: MDP = eqx.field(static=True)
    seed: int = eqx.field(default=0, static=True)
    noise: float = eqx.field(default=1.0, static=True)
    noise_inputs: int = eqx.field(default=16, static=True)
    dims: int = eqx.field(default=64, static=True)

    __repr__ = call_of

    def __check_init__(self) -> None:
        if not isinstance(self.mdp, MDP):  # pyright: ignore[reportUnnecessaryIsInstance]  # from users
            raise InvalidInput(f"mdp is {self.mdp!r}; allowed: a finite MDP (dorax.mdps)")
        if not self.mdp.available.all():
            raise InvalidInput(f"mdp is {self.mdp.name}, where some states lack actions; allowed: all states have all")
        check_whole("seed", self.seed, least=0)
        check_at_least("noise", self.noise, 0)
        check_whole("noise_inputs", self.noise_inputs, least=0)
        check_whole("dims", self.dims)

    @property
    def structure(self) -> DenseView:
        """The same view of any MDP: what is seen, and of which, is in `params`."""
        return replace(self, mdp=_stand_in(), seed=0, noise=0.0)

    @property
    def name(self) -> str:
        """The name of the environment: that of its MDP, marked as a dense view."""
        return f"dense view of {self.mdp.name}"

    @property
    def default_params(self) -> DenseParams:
        """The default parameters."""
        points = np.random.default_rng(self.seed).standard_normal((self.mdp.states, self.dims))
        return DenseParams(finite_simulation(self.mdp), jnp.asarray(points, float), jnp.asarray(self.noise, float))

    def reset_env(self, key: jax.Array, params: DenseParams) -> tuple[jax.Array, FiniteState]:
        for_state, for_noise = jax.random.split(key)
        number, state = params.simulation.reset(jax.random.uniform(for_state))
        return self._observation(for_noise, params.points[number], params), state

    def step_env(
        self, key: jax.Array, state: FiniteState, action: Any, params: DenseParams
    ) -> tuple[jax.Array, FiniteState, jax.Array, jax.Array, dict[str, Any]]:
        for_state, for_noise = jax.random.split(key)
        draw = jax.random.uniform(for_state)
        number, state, reward, terminated, _ = params.simulation.step(draw, state, jnp.asarray(action))
        seen = jnp.where(terminated, 0.0, params.points[number])
        return self._observation(for_noise, seen, params), state, reward, terminated, {}

    def is_truncated(self, state: FiniteState, params: DenseParams) -> jax.Array:
        return state.time >= params.simulation.max_steps

    def observation_space(self, params: DenseParams) -> gymnasium.spaces.Box:
        return gymnasium.spaces.Box(-np.inf, np.inf, (self.dims + self.noise_inputs,), np.float32)

    def action_space(self, params: DenseParams) -> gymnasium.spaces.Discrete:
        return gymnasium.spaces.Discrete(params.simulation.actions)

    def _observation(self, key: jax.Array, seen: jax.Array, params: DenseParams) -> jax.Array:
        return jnp.concatenate([seen, params.noise * jax.random.normal(key, (self.noise_inputs,))])


@functools.cache
def _stand_in() -> MDP:
    return mdps.deep_sea(2)
