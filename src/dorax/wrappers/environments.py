"""Gymnasium environments, one or many side by side, that pay for what is little known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Unpack

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from dorax.core.checks import InvalidInput
from dorax.wrappers.exploration import Exploration, Options
from dorax.wrappers.spaces import each_of

_ELSEWHERE = " (around a VecEnv of Stable-Baselines3: dorax.wrappers.sb3.VecEValueBonus)"


class EValueBonus(gymnasium.Wrapper[Any, Any, Any, Any], gymnasium.utils.RecordConstructorArgs):
    """Adds to the reward a bonus that shrinks with the generalized count of the state-action pair.

        env = dorax.EValueBonus(gymnasium.make("FrozenLake-v1"), scale=0.1, discount=0.9)

    The true reward, the bonus and the count are in `info`, as `true_reward`, `bonus` and
    `generalized_count`. Everything else is in `exploration`: counts, saving and loading,
    and the switch, `exploration.off()`, for evaluation.

    The options are those of `Exploration`: `scale` (0.03) multiplies the bonus, `discount`
    (0.99) says how far a count looks ahead and `learning_rate` (0.5) how much one visit is
    trusted, `bonus` makes reward of a count, `features` says what counts are kept by, and
    `seed` is that of what is random in them.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], **options: Unpack[Options]) -> None:
        if isinstance(env, VectorEnv):
            raise InvalidInput(f"the environment is a vector of them, {env}; allowed: VectorEValueBonus around it")
        if not isinstance(env, gymnasium.Env):
            raise InvalidInput(f"the environment is {env!r}; allowed: a gymnasium.Env{_ELSEWHERE}")
        refuse_unfit(env)
        gymnasium.utils.RecordConstructorArgs.__init__(self, **options)
        gymnasium.Wrapper.__init__(self, env)
        self.exploration = Exploration(env.observation_space, env.action_space, **options)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self.exploration.begin(observation)
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        reward = float(reward)
        bonus, count = self.exploration.visit(action, reward, observation, terminated, truncated)
        told = {"true_reward": reward, "bonus": bonus, "generalized_count": count}
        return observation, reward + bonus, terminated, truncated, info | told


class VectorEValueBonus(VectorWrapper):
    """`EValueBonus` for a vector environment. All its environments share their counts.

    Under next-step autoreset, the step in which an environment only begins anew is no
    visit: it earns nothing.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], **options: Unpack[Options]) -> None:
        if isinstance(env, gymnasium.Env):
            raise InvalidInput(f"the environment is a single one, {env}; allowed: EValueBonus around it")
        if not isinstance(env, VectorEnv):
            raise InvalidInput(f"the environment is {env!r}; allowed: a gymnasium.vector.VectorEnv{_ELSEWHERE}")
        refuse_unfit(env)
        super().__init__(env)
        self._mode = _autoreset_mode(env)
        self._is_over = np.zeros(env.num_envs, bool)
        self.exploration = Exploration(env.single_observation_space, env.single_action_space, env.num_envs, **options)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        # The environment takes the mask out of the options.
        begins = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        observations, infos = self.env.reset(seed=seed, options=options)
        for lane, observation in enumerate(each_of(self.env.single_observation_space, observations)):
            if begins[lane]:
                self.exploration.begin(observation, lane)
        self._is_over = self._is_over & ~begins
        return observations, infos

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        refuse_paid(infos)
        each = zip(
            each_of(self.env.single_action_space, actions),
            each_of(self.env.single_observation_space, observations),
            strict=True,
        )
        bonuses, counts = np.zeros(self.num_envs), np.zeros(self.num_envs)
        for lane, (action, observation) in enumerate(each):
            if self._mode is AutoresetMode.NEXT_STEP and self._is_over[lane]:
                self.exploration.begin(observation, lane)
                continue
            is_over = terminated[lane] or truncated[lane]
            begins_at_once = is_over and self._mode is AutoresetMode.SAME_STEP
            arrived = _final(infos)[lane] if begins_at_once else observation
            bonuses[lane], counts[lane] = self.exploration.visit(
                action, rewards[lane], arrived, terminated[lane], truncated[lane], lane
            )
            if begins_at_once:
                self.exploration.begin(observation, lane)
        is_step = ~self._is_over if self._mode is AutoresetMode.NEXT_STEP else np.ones(self.num_envs, bool)
        self._is_over = np.asarray(terminated | truncated)
        told = {"true_reward": np.asarray(rewards, np.float64), "bonus": bonuses, "generalized_count": counts}
        infos = infos | told | {f"_{name}": is_step for name in told}
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


def _final(infos: dict[str, Any]) -> Any:
    """What was seen last by the environments that begin anew in the same step."""
    if "final_obs" not in infos:
        raise InvalidInput(
            "an episode ended, and in the same step another began, with no word of how the first ended; "
            "allowed: infos['final_obs'], as Gymnasium's own vector environments have it"
        )
    return infos["final_obs"]


def layers(env: Any) -> Iterator[Any]:
    """The environment, and every one within it that can be seen from here."""
    yield env
    parts = getattr(env, "__dict__", {})
    several = parts.get("envs")
    for inner in (parts.get("env"), parts.get("venv"), *(several if isinstance(several, list | tuple) else ())):
        if inner is not None:
            yield from layers(inner)


def exploration_of(layer: Any) -> Exploration | None:
    """That of a wrapper which pays a bonus."""
    found = getattr(layer, "__dict__", {}).get("exploration")
    return found if isinstance(found, Exploration) else None


def refuse_unfit(env: Any) -> None:
    """Raise if around the environment, or one within, there is a bonus already or what resets unseen."""
    for layer in layers(env):
        if exploration_of(layer) is not None:
            raise InvalidInput(f"the environment has a bonus already, {layer}; allowed: one wrapper around it")
        if isinstance(layer, gymnasium.wrappers.Autoreset):
            raise InvalidInput(
                "the environment begins anew by itself, by Autoreset; allowed: Autoreset around the bonus"
            )


def refuse_paid(info: dict[str, Any]) -> None:
    """Raise if a bonus is paid already: environments in other processes cannot be looked into, but tell."""
    if not isinstance(info, dict):
        raise InvalidInput(f"infos come as {type(info).__name__}; allowed: a dictionary (DictInfoToList goes around)")
    if "generalized_count" in info:
        raise InvalidInput("the environment has a bonus already, in its own process; allowed: one wrapper around it")
