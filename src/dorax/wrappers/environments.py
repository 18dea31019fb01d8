"""Gymnasium wrappers that add an exploration bonus to the reward, for one environment or a vector of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from dorax.core.bonuses import InverseRootCount
from dorax.core.checks import InvalidInput
from dorax.core.counters import EValues, Visits
from dorax.features.specs import Features
from dorax.wrappers.exploration import Bonus, Exploration, Scale
from dorax.wrappers.spaces import unbatched

_FOR_SB3 = " (around a VecEnv of Stable-Baselines3: dorax.wrappers.sb3.VecEValueBonus)"


class EValueBonus(gymnasium.Wrapper[Any, Any, Any, Any], gymnasium.utils.RecordConstructorArgs):
    """Adds to the reward a bonus that decreases with the generalized count of the state-action pair.

        env = dorax.EValueBonus(gymnasium.make("FrozenLake-v1"), counter=dorax.EValues(0.9), scale=0.1)

    `info` holds `true_reward`, `bonus` and `generalized_count` of every step.

    Args:
        env: the environment, with discrete actions.
        counter: counts visits, generalized (`EValues`, whose learning rate is 0.5 unless given) or plain
            (`Visits`).
        bonus: turns a count into a bonus: `InverseRootCount`, `InverseCount` or a function of a count and the
            counter's learning rate.
        scale: multiplies the bonus: a number, or a function of the number of steps so far, such as
            `LinearSchedule`.
        features: how counts are stored: `Table`, `Tiles`, `KWinners`, `HashedCodes`, `Prototypes`, `LearnedPrototypes`,
            `CountNetwork` or `RandomStart`; by default the observation space decides.
        seed: seeds the random numbers of `exploration.act` and the random codes and networks of `features`.

    Attributes:
        exploration: the `Exploration` behind the wrapper: its counts, saving and loading, and `exploration.off()`
            for evaluation.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        *,
        counter: EValues | Visits = EValues(0.99),
        bonus: Bonus = InverseRootCount(),
        scale: Scale = 0.03,
        features: Features | None = None,
        seed: int = 0,
    ) -> None:
        if isinstance(env, VectorEnv):
            raise InvalidInput(f"the environment is a vector environment, {env}; allowed: VectorEValueBonus around it")
        if not isinstance(env, gymnasium.Env):
            raise InvalidInput(f"the environment is {env!r}; allowed: a gymnasium.Env{_FOR_SB3}")
        check_wrappable(env)
        options = {"counter": counter, "bonus": bonus, "scale": scale, "features": features, "seed": seed}
        # Defaults are left out: as objects they would keep the spec from being rebuilt from JSON.
        defaults = EValueBonus.__init__.__kwdefaults__ or {}
        given = {name: value for name, value in options.items() if value is not defaults[name]}
        gymnasium.utils.RecordConstructorArgs.__init__(self, **given)
        gymnasium.Wrapper.__init__(self, env)
        self.exploration = Exploration(
            env.observation_space,
            env.action_space,
            counter=counter,
            bonus=bonus,
            scale=scale,
            features=features,
            seed=seed,
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self.exploration.begin(observation)
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        reward = float(reward)
        bonus, count = self.exploration.visit(action, reward, observation, terminated, truncated)
        added = {"true_reward": reward, "bonus": bonus, "generalized_count": count}
        return observation, reward + bonus, terminated, truncated, info | added


class VectorEValueBonus(VectorWrapper):
    """`EValueBonus` for a vector environment, whose environments share their counts.

    All autoreset modes are supported. In next-step mode, the step that only resets an
    environment is not counted and earns no bonus.

    Args:
        env: the vector environment, with discrete actions.
        counter: counts visits, generalized (`EValues`, whose learning rate is 0.5 unless given) or plain
            (`Visits`).
        bonus: turns a count into a bonus: `InverseRootCount`, `InverseCount` or a function of a count and the
            counter's learning rate.
        scale: multiplies the bonus: a number, or a function of the number of steps so far, such as
            `LinearSchedule`.
        features: how counts are stored: `Table`, `Tiles`, `KWinners`, `HashedCodes`, `Prototypes`, `LearnedPrototypes`,
            `CountNetwork` or `RandomStart`; by default the observation space decides.
        seed: seeds the random numbers of `exploration.act` and the random codes and networks of `features`.

    Attributes:
        exploration: the `Exploration` behind the wrapper.
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        *,
        counter: EValues | Visits = EValues(0.99),
        bonus: Bonus = InverseRootCount(),
        scale: Scale = 0.03,
        features: Features | None = None,
        seed: int = 0,
    ) -> None:
        if isinstance(env, gymnasium.Env):
            raise InvalidInput(f"the environment is a single one, {env}; allowed: EValueBonus around it")
        if not isinstance(env, VectorEnv):
            raise InvalidInput(f"the environment is {env!r}; allowed: a gymnasium.vector.VectorEnv{_FOR_SB3}")
        check_wrappable(env)
        super().__init__(env)
        self._mode = _autoreset_mode(env)
        self._is_over = np.zeros(env.num_envs, bool)
        self.exploration = Exploration(
            env.single_observation_space,
            env.single_action_space,
            env.num_envs,
            counter=counter,
            bonus=bonus,
            scale=scale,
            features=features,
            seed=seed,
        )

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
        pairs = zip(
            unbatched(self.env.single_action_space, actions),
            unbatched(self.env.single_observation_space, observations),
            strict=True,
        )
        bonuses, counts = np.zeros(self.num_envs), np.zeros(self.num_envs)
        for i, (action, observation) in enumerate(pairs):
            if self._mode is AutoresetMode.NEXT_STEP and self._is_over[i]:
                self.exploration.begin(observation, i)
                continue
            is_over = terminated[i] or truncated[i]
            is_reset = is_over and self._mode is AutoresetMode.SAME_STEP
            next_observation = _final_observations(infos)[i] if is_reset else observation
            bonuses[i], counts[i] = self.exploration.visit(
                action, rewards[i], next_observation, terminated[i], truncated[i], i
            )
            if is_reset:
                self.exploration.begin(observation, i)
        is_step = ~self._is_over if self._mode is AutoresetMode.NEXT_STEP else np.ones(self.num_envs, bool)
        self._is_over = np.asarray(terminated | truncated)
        added = {"true_reward": np.asarray(rewards, np.float64), "bonus": bonuses, "generalized_count": counts}
        infos = infos | added | {f"_{name}": is_step for name in added}
        return observations, rewards + bonuses, terminated, truncated, infos


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


def exploration_of(layer: Any) -> Exploration | None:
    """Return the `Exploration` of a bonus wrapper, or None for any other environment.

    Args:
        layer: a wrapper or an environment.
    """
    found = getattr(layer, "__dict__", {}).get("exploration")
    return found if isinstance(found, Exploration) else None


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
    if "generalized_count" in info:
        raise InvalidInput("the environment has a bonus already, in another process; allowed: one bonus wrapper")
