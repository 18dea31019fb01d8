"""Gymnasium wrappers that add an exploration bonus to the reward, for one environment or a vector of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from dorax.core.checks import InvalidInput
from dorax.wrappers.options import BonusWrapper, CountOptions, EValueOptions, NovelDOptions, Paid, RNDOptions
from dorax.wrappers.source import BonusSource, Visit
from dorax.wrappers.spaces import unbatched


class EnvBonus(BonusWrapper, gymnasium.Wrapper[Any, Any, Any, Any], gymnasium.utils.RecordConstructorArgs):
    """A bonus wrapper around one environment."""

    def _wrap(self, env: Any, source: Callable[..., BonusSource], options: Mapping[str, Any], reward: Paid) -> None:
        name = type(self).__name__
        if isinstance(env, VectorEnv):
            raise InvalidInput(f"the environment is a vector environment, {env}; allowed: Vector{name} around it")
        if not isinstance(env, gymnasium.Env):
            raise InvalidInput(f"the environment is {env!r}; allowed: a gymnasium.Env{_for_sb3(name)}")
        check_wrappable(env)
        # Defaults are left out: as objects they would keep the spec from being rebuilt from JSON.
        defaults = type(self).__init__.__kwdefaults__ or {}
        given = {name: value for name, value in [*options.items(), ("reward", reward)] if value is not defaults[name]}
        gymnasium.utils.RecordConstructorArgs.__init__(self, **given)
        gymnasium.Wrapper.__init__(self, env)
        self._set(source(env.observation_space, env.action_space, 1, **options), reward)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self.exploration.begin(observation)
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        reward = float(reward)
        bonus, basis = self.exploration.visit(action, reward, observation, terminated, truncated)
        added = {"true_reward": reward, "bonus": bonus, self.exploration.basis: basis}
        return observation, self._paid(reward, bonus), terminated, truncated, info | added


class VectorBonus(BonusWrapper, VectorWrapper):
    """A bonus wrapper around a vector of environments, which share what is learned.

    All autoreset modes are supported. In next-step mode, the step that only resets an
    environment is not a visit and earns no bonus.
    """

    def _wrap(self, env: Any, source: Callable[..., BonusSource], options: Mapping[str, Any], reward: Paid) -> None:
        name = type(self).__name__.removeprefix("Vector")
        if isinstance(env, gymnasium.Env):
            raise InvalidInput(f"the environment is a single one, {env}; allowed: {name} around it")
        if not isinstance(env, VectorEnv):
            raise InvalidInput(f"the environment is {env!r}; allowed: a gymnasium.vector.VectorEnv{_for_sb3(name)}")
        check_wrappable(env)
        VectorWrapper.__init__(self, env)
        self._mode = _autoreset_mode(env)
        self._is_over = np.zeros(env.num_envs, bool)
        spaces = env.single_observation_space, env.single_action_space
        self._set(source(*spaces, env.num_envs, **options), reward)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        # Read before the environment is reset, which removes the mask from the options.
        is_reset = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        observations, infos = self.env.reset(seed=seed, options=options)
        for i, observation in enumerate(unbatched(self.env.single_observation_space, observations)):
            if is_reset[i]:
                self.exploration.begin(observation, i)
        self._is_over = self._is_over & ~is_reset
        return observations, infos

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        check_no_bonus(infos)
        seen = unbatched(self.env.single_observation_space, observations)
        visits: list[Visit] = []
        for i, action in enumerate(unbatched(self.env.single_action_space, actions)):
            if self._mode is AutoresetMode.NEXT_STEP and self._is_over[i]:
                self.exploration.begin(seen[i], i)
                continue
            visit = Visit(action, rewards[i], seen[i], terminated[i], truncated[i], i)
            if (terminated[i] or truncated[i]) and self._mode is AutoresetMode.SAME_STEP:
                visit = visit._replace(next_observation=_final_observations(infos)[i], start=seen[i])
            visits.append(visit)
        bonuses, bases = np.zeros(self.num_envs), np.zeros(self.num_envs)
        is_step = np.zeros(self.num_envs, bool)
        for visit, (bonus, basis) in zip(visits, self.exploration.visit_all(visits), strict=True):
            i = visit.env_index
            bonuses[i], bases[i], is_step[i] = bonus, basis, True
        self._is_over = np.asarray(terminated | truncated)
        true_rewards = np.asarray(rewards, np.float64)
        added = {"true_reward": true_rewards, "bonus": bonuses, self.exploration.basis: bases}
        infos = infos | added | {f"_{name}": is_step for name in added}
        return observations, self._paid(rewards, bonuses), terminated, truncated, infos


class EValueBonus(EValueOptions["gymnasium.Env[Any, Any]"], EnvBonus):
    """Adds to the reward a bonus that decreases with the generalized count of the state-action pair.

        env = dorax.EValueBonus(gymnasium.make("FrozenLake-v1"), counter=dorax.EValues(0.9), scale=0.1)

    `info` holds `true_reward`, `bonus` and `generalized_count` of every step.
    """


class CountBonus(CountOptions["gymnasium.Env[Any, Any]"], EnvBonus):
    """Adds to the reward a bonus that decreases with the number of visits of the state-action pair.

        env = dorax.CountBonus(gymnasium.make("FrozenLake-v1"), scale=0.1)

    The same as `EValueBonus` with `counter=dorax.Visits()`. `info` holds `true_reward`, `bonus` and
    `generalized_count`, which is the number of visits, of every step.
    """


class RNDBonus(RNDOptions["gymnasium.Env[Any, Any]"], EnvBonus):
    """Adds to the reward the error of a predictor at the next observation: random network distillation.

        env = dorax.RNDBonus(gymnasium.make("MountainCar-v0"), scale=0.3)

    The bonus is computed as by `RND`. `info` holds `true_reward`, `bonus` and `novelty`, the error, of every step.
    """


class NovelDBonus(NovelDOptions["gymnasium.Env[Any, Any]"], EnvBonus):
    """Adds to the reward a bonus for crossing the border of what is known, once in an episode.

        env = dorax.NovelDBonus(gymnasium.make("MountainCar-v0"), scale=0.3)

    The bonus is computed as by `NovelD`. `info` holds `true_reward`, `bonus` and `novelty`, the root of the predictor's
    error at the next observation, of every step.
    """


class VectorEValueBonus(EValueOptions["VectorEnv[Any, Any, Any]"], VectorBonus):
    """`EValueBonus` for a vector environment, whose environments share their counts.

    All autoreset modes are supported. In next-step mode, the step that only resets an
    environment is not counted and earns no bonus.
    """


class VectorCountBonus(CountOptions["VectorEnv[Any, Any, Any]"], VectorBonus):
    """`CountBonus` for a vector environment, whose environments share their counts; see `VectorEValueBonus`."""


class VectorRNDBonus(RNDOptions["VectorEnv[Any, Any, Any]"], VectorBonus):
    """`RNDBonus` for a vector environment, whose environments share their networks; see `VectorEValueBonus`."""


class VectorNovelDBonus(NovelDOptions["VectorEnv[Any, Any, Any]"], VectorBonus):
    """`NovelDBonus` for a vector environment, whose environments share their networks; see `VectorEValueBonus`.

    First visits are those of an episode of one environment.
    """


def _for_sb3(name: str) -> str:
    return f" (around a VecEnv of Stable-Baselines3: dorax.wrappers.sb3.Vec{name})"


def _autoreset_mode(env: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    mode = env.metadata.get("autoreset_mode")
    try:
        return AutoresetMode(mode)
    except ValueError:
        allowed = ", ".join(f"AutoresetMode.{known.name}" for known in AutoresetMode)
        raise InvalidInput(
            f"metadata['autoreset_mode'] of {env} is {mode!r}, no autoreset mode; allowed: {allowed}"
        ) from None


def _final_observations(infos: dict[str, Any]) -> Any:
    """Return the last observations of episodes that ended in this step, if environments reset in the same step."""
    if "final_obs" not in infos:
        raise InvalidInput(
            "an environment was reset in the step that ended its episode, and infos lack its last observation; "
            "allowed: infos['final_obs'], as in Gymnasium's own vector environments"
        )
    return infos["final_obs"]


def layers(env: Any) -> Iterator[Any]:
    """Iterate over an environment and all environments inside it that can be reached from this process.

    Args:
        env: the outermost environment.
    """
    yield env
    parts = getattr(env, "__dict__", {})
    several = parts.get("envs")
    for inner in (parts.get("env"), parts.get("venv"), *(several if isinstance(several, list | tuple) else ())):
        if inner is not None:
            yield from layers(inner)


def exploration_of(layer: Any) -> BonusSource | None:
    """Return the `exploration` of a bonus wrapper, or None for any other environment.

    Args:
        layer: a wrapper or an environment.
    """
    found = getattr(layer, "__dict__", {}).get("exploration")
    return found if isinstance(found, BonusSource) else None


def check_wrappable(env: Any) -> None:
    """Raise `InvalidInput` if an environment has a bonus already, or resets itself without the wrapper noticing.

    Args:
        env: the environment.
    """
    for layer in layers(env):
        if exploration_of(layer) is not None:
            raise InvalidInput(f"the environment has a bonus already, {layer}; allowed: one bonus wrapper")
        if isinstance(layer, gymnasium.wrappers.Autoreset):
            raise InvalidInput("the environment is wrapped in Autoreset; allowed: Autoreset around the bonus")


def check_no_bonus(info: dict[str, Any]) -> None:
    """Raise `InvalidInput` if `info` shows that there is a bonus already, in an environment of another process.

    Args:
        info: the info dictionary of a step.
    """
    if not isinstance(info, dict):
        raise InvalidInput(f"infos are a {type(info).__name__}; allowed: a dictionary (DictInfoToList goes around)")
    if "generalized_count" in info or {"true_reward", "bonus"} <= info.keys():
        raise InvalidInput("the environment has a bonus already, in another process; allowed: one bonus wrapper")
