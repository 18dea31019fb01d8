"""Stable-Baselines3: a bonus around its vector environments, and directed exploration inside its DQN.

Needs `pip install stable-baselines3`; nothing else in dorax imports this module.
"""

# Stable-Baselines3: typed in part only.
# pyright: reportUnknownMemberType=false, reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from dorax.core.checks import InvalidInput
from dorax.core.policies import Softmax
from dorax.core.rules import LLL
from dorax.wrappers.environments import EValueBonus, refuse_paid, refuse_unfit
from dorax.wrappers.exploration import Exploration, Options
from dorax.wrappers.spaces import each_of

try:
    import torch
    from stable_baselines3 import DQN
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecEnvWrapper
except ImportError:
    raise InvalidInput("Stable-Baselines3 is not installed; install it with pip install 'dorax[sb3]'") from None


_RULE = LLL(Softmax(0.1))


class VecEValueBonus(VecEnvWrapper):
    """`dorax.EValueBonus` for a `VecEnv`. All its environments share their counts.

        env = VecEValueBonus(make_vec_env("FrozenLake-v1", 8), scale=0.1, discount=0.9)
        model = PPO("MlpPolicy", env).learn(100_000)

    Each `info` holds `true_reward`, `bonus` and `generalized_count`. What `Monitor` reports
    as the return of an episode is made of true rewards: it sits inside.
    """

    def __init__(self, venv: VecEnv, **options: Unpack[Options]) -> None:
        if not isinstance(venv, VecEnv):
            raise InvalidInput(f"the environment is {venv}; allowed: a VecEnv, such as make_vec_env makes")
        refuse_unfit(venv)
        super().__init__(venv)
        self.exploration = Exploration(venv.observation_space, venv.action_space, venv.num_envs, **options)
        self._actions: Any = None

    def reset(self) -> Any:
        observations = self.venv.reset()
        for lane, observation in enumerate(each_of(self.observation_space, observations)):
            self.exploration.begin(observation, lane)
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = np.copy(actions)
        self.venv.step_async(actions)

    def step_wait(self) -> Any:
        observations, rewards, dones, infos = self.venv.step_wait()
        paid = np.array(rewards, np.float32)  # some environments pay whole numbers
        told: list[dict[str, Any]] = []
        for lane, observation in enumerate(each_of(self.observation_space, observations)):
            info, is_over = infos[lane], bool(dones[lane])
            refuse_paid(info)
            truncated = is_over and bool(info.get("TimeLimit.truncated", False))
            arrived = info["terminal_observation"] if is_over else observation
            reward = float(rewards[lane])
            bonus, count = self.exploration.visit(
                self._actions[lane], reward, arrived, is_over and not truncated, truncated, lane
            )
            if is_over:
                self.exploration.begin(observation, lane)
            told.append({**info, "true_reward": reward, "bonus": bonus, "generalized_count": count})
            paid[lane] = reward + bonus
        return observations, paid, dones, told


class DirectedDQN(DQN):
    """DQN that acts by a rule on its Q-values and the generalized counts, such as `dorax.LLL`, in place of ε-greedy.

        env = VecEValueBonus(make_vec_env("FrozenLake-v1", 1), scale=0.0)  # counts alone, no bonus
        model = DirectedDQN("MlpPolicy", env, rule=dorax.LLL(dorax.Softmax(0.1)))

    With `deterministic=True`, as for evaluation, it acts greedily like any DQN.
    """

    rule: Callable[..., Any]

    def __init__(self, policy: Any, env: Any, *, rule: Callable[..., Any] = _RULE, **options: Any) -> None:
        if not callable(rule):
            raise InvalidInput(
                f"rule is {rule!r}; allowed: dorax.LLL, dorax.UCB, dorax.Deficit or a function like them"
            )
        self.rule = rule
        super().__init__(policy, env, **options)
        _check_counts(self.env)

    def set_env(self, env: Any, force_reset: bool = True) -> None:
        super().set_env(env, force_reset)
        _check_counts(self.env)

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False
    ) -> tuple[np.ndarray, Any]:
        exploration = _exploration_seeing(self.env)
        if deterministic or exploration is None:
            return super().predict(observation, state, episode_start, deterministic=True)
        with torch.no_grad():
            tensor, is_vector = self.policy.obs_to_tensor(observation)
            values = self.q_net(tensor).cpu().numpy()
        actions = exploration.act(self.rule, values, observation if is_vector else [observation])
        return (actions if is_vector else actions[0]), state


def _exploration_seeing(env: Any) -> Exploration | None:
    """What counts the very observations that the agent sees: nothing may stand between the two."""
    if isinstance(env, VecEValueBonus):
        return env.exploration
    if isinstance(env, DummyVecEnv) and env.num_envs == 1:
        inner = env.envs[0]
        inner = inner.env if isinstance(inner, Monitor) else inner
        return inner.exploration if isinstance(inner, EValueBonus) else None
    return None


def _check_counts(env: Any) -> None:
    if env is None:  # a model that was loaded to be evaluated
        return
    if _exploration_seeing(env) is None:
        raise InvalidInput(
            "the environment counts nothing that the agent sees; allowed: VecEValueBonus around all other wrappers "
            "(for images around VecTransposeImage), or dorax.EValueBonus"
        )
    if int(getattr(env.action_space, "start", 0)) != 0:
        raise InvalidInput(f"the action space is {env.action_space}; allowed: one that starts at 0, as DQN takes it")
