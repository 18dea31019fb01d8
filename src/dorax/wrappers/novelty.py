"""Bonuses by predictors, `RND` and `NovelD`: the explorers of agents, on one step of all environments at a time."""

# JAX and Equinox: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from dorax.agents.explorers.making import explorers_of
from dorax.agents.explorers.predictors import Place, Seen
from dorax.agents.explorers.protocol import Visited
from dorax.agents.explorers.specs import RND, NovelD
from dorax.core.checks import InvalidInput, check_whole
from dorax.wrappers.explored import network_inputs
from dorax.wrappers.source import BonusSource, Scale, Visit, check_reward
from dorax.wrappers.spaces import fingerprint, in_one_line, without_text


class PredictedNovelty(BonusSource):
    """The bonus of `RND` or `NovelD` for environments that run in parallel.

    Args:
        observation_space: of a single environment.
        num_envs: the number of environments that run in parallel and share the networks.
        spec: `RND` or `NovelD`.
        scale: multiplies the bonus: a number, or a function of the number of steps so far, such as
            `LinearSchedule`.
        batch_size: number of observations that are collected before the predictor is trained on them.
        seed: seeds the networks, the order in which they learn and random codes.

    Attributes:
        num_envs: as given.
        spec: as given.
        scale: as given; may be changed at any time.
        steps: the number of steps so far.
        is_on: if False, nothing is learned from steps and the bonus is 0.
        history: rewards and bonuses over time, for `diagnose`.
    """

    kind, basis = "predictor", "novelty"

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        num_envs: int = 1,
        spec: RND | NovelD = RND(),  # noqa: B008  # it cannot be changed
        *,
        scale: Scale = 1.0,
        batch_size: int = 128,
        seed: int = 0,
    ) -> None:
        super().__init__(num_envs, scale, seed)
        check_whole("batch_size", batch_size)
        self.observation_space, self.spec, self._seed = observation_space, spec, seed
        inputs, self._seen = network_inputs(observation_space)
        (self._explorer,) = explorers_of(None, spec, inputs, actions=1, games=num_envs)
        self._state: Any = _init(self._explorer, np.uint32(seed))
        self._x = np.zeros(num_envs, np.int32) if inputs.is_finite else np.zeros((num_envs, inputs.size), np.float32)
        self._has_begun = np.zeros(num_envs, bool)
        self._is_start = np.zeros(num_envs, bool)  # episodes that the explorer has not been told of
        rounds = -(-batch_size // num_envs)
        # Steps to train on: the observations that they led to, and whether there were any.
        self._rows = np.zeros((rounds, *self._x.shape), self._x.dtype), np.zeros((rounds, num_envs), bool)
        self._filled = self._updates = 0

    def begin(self, observation: Any, env_index: int = 0) -> None:
        """Begin an episode. If the one before did not end, it is treated as truncated.

        Args:
            observation: the first of the episode.
            env_index: the environment in which it begins.
        """
        self._x[env_index] = self._seen(observation)
        self._has_begun[env_index] = self._is_start[env_index] = True

    def visit_all(self, visits: Sequence[Visit]) -> list[tuple[float, float]]:
        """Learn from one step of several environments, and compute their bonuses.

        Args:
            visits: the steps, at most one of each environment.

        Returns:
            For each step, the bonus and the novelty of the next observation. While it is off, 0 and that novelty.
        """
        if not visits:
            return []
        next_x, is_visit, is_over = self._x.copy(), np.zeros(self.num_envs, bool), np.zeros(self.num_envs, bool)
        for visit in visits:
            check_reward(visit.reward)
            i = visit.env_index
            if not self._has_begun[i]:
                raise InvalidInput(f"environment {i} has no episode; allowed: visit after begin(observation)")
            next_x[i], is_visit[i] = self._seen(visit.next_observation), True
            is_over[i] = visit.terminated or visit.truncated
        if self.is_on:
            unscaled, novelty = self._learned(next_x, is_visit, is_over)
            bonuses = [self._scaled(visit.reward, unscaled[visit.env_index], visit.env_index) for visit in visits]
        else:
            novelty = np.asarray(_novelty_of(self._explorer, self._state, next_x)).tolist()
            bonuses = [0.0] * len(visits)
            self._is_start |= is_visit  # when it is turned on again, an episode begins in the middle
        self._x = next_x
        for visit in visits:
            if visit.start is not None:
                self.begin(visit.start, visit.env_index)
        return [(bonus, novelty[visit.env_index]) for bonus, visit in zip(bonuses, visits, strict=True)]

    def _learned(self, next_x: np.ndarray, is_visit: np.ndarray, is_over: np.ndarray) -> list[list[float]]:
        """Learn from one step; return two lists, the bonuses without the scale and the novelties."""
        if self._is_start.any():
            self._state = _begun(self._explorer, self._state, self._x, self._is_start)
            self._is_start = np.zeros(self.num_envs, bool)
        self._state, found, is_used = _visited(self._explorer, self._state, self._x, next_x, is_visit, is_over)
        x, used = self._rows
        x[self._filled], used[self._filled] = next_x, is_used
        self._filled += 1
        if self._filled == len(x):
            # Copies: the computation may read them after the next steps were written into the originals.
            rows = Seen(x.copy(), jnp.array(used))
            self._state = _trained(self._explorer, self._state, rows, np.uint32(self._seed), np.uint32(self._updates))
            self._filled, self._updates = 0, self._updates + 1
        return np.asarray(found).tolist()

    @property
    def _what(self) -> dict[str, str]:
        return {
            "observations": in_one_line(without_text(self.observation_space)),
            "bounds": fingerprint(self.observation_space),
            "environments": str(self.num_envs),
            "bonus": in_one_line(self.spec),
            "batch size": str(len(self._rows[0])),
            "seed": str(self._seed),
        }

    def _arrays(self) -> dict[str, np.ndarray]:
        leaves = {f"state/{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(self._state))}
        x, used = (rows[: self._filled] for rows in self._rows)
        return leaves | {"rows/x": x, "rows/is_used": used, "updates": np.array(self._updates)}

    def _restore(self, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        del facts
        old, structure = jax.tree.flatten(self._state)
        new = [jnp.array(arrays[f"state/{i}"]) for i in range(len(old))]
        if any(leaf.shape != like.shape for leaf, like in zip(new, old, strict=True)):
            raise ValueError("the arrays have other shapes than those of these networks")
        filled, updates = len(arrays["rows/x"]), int(arrays["updates"])
        for rows, name in zip(self._rows, ("rows/x", "rows/is_used"), strict=True):
            rows[:filled] = arrays[name]
        self._state, self._filled, self._updates = jax.tree.unflatten(structure, new), filled, updates
        self._is_start = self._has_begun.copy()


@jax.jit
def _init(explorer: Any, seed: Any) -> Any:
    return explorer.init(jax.random.key(seed))


@jax.jit
def _novelty_of(explorer: Any, state: Any, x: Any) -> Any:
    return _novelty(explorer.look(state, x).features)


@jax.jit
def _begun(explorer: Any, state: Any, x: Any, is_start: Any) -> Any:
    """Return the state after episodes have begun."""
    return explorer.observe(state, _step(explorer, state, x, x, ~is_start, is_start))[0]


@jax.jit
def _visited(explorer: Any, state: Any, x: Any, next_x: Any, is_visit: Any, is_over: Any) -> tuple[Any, Any, Any]:
    """Return the state after a step, bonuses and novelties, and which observations are to be learned."""
    step = _step(explorer, state, x, next_x, is_over, jnp.zeros_like(is_visit))._replace(is_visit=is_visit)
    state, bonus, row = explorer.observe(state, step)
    return state, jnp.stack([bonus, _novelty(step.arrived.features)]), row.is_used


@jax.jit
def _trained(explorer: Any, state: Any, rows: Seen, seed: Any, updates: Any) -> Any:
    """Return the state after an update."""
    key = jax.random.fold_in(jax.random.key(seed), updates)
    return explorer.update(state, rows, key, jnp.ones((), bool))


def _step(explorer: Any, state: Any, x: Any, next_x: Any, is_over: Any, is_start: Any) -> Visited:
    """Describe a step, without a visit."""
    seen, arrived = explorer.look(state, x).features, explorer.look(state, next_x)
    action = jnp.zeros(len(is_start), jnp.int32)
    no = jnp.zeros_like(is_start)
    return Visited(x, seen, action, next_x, arrived, action, is_over, is_over, is_start, no)


def _novelty(features: Any) -> Any:
    return features.novelty if isinstance(features, Place) else features
