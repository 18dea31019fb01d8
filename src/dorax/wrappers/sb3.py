"""Stable-Baselines3: a bonus for its vector environments, and a DQN with directed exploration.

Needs `pip install 'dorax[sb3]'`; no other module of dorax imports this one.
"""

# Stable-Baselines3: typed in part only.
# pyright: reportUnknownMemberType=false, reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dorax.core.checks import InvalidInput
from dorax.core.extras import needing
from dorax.core.policies import Softmax
from dorax.core.rules import LLL
from dorax.wrappers.environments import EnvBonus, check_no_bonus, check_wrappable
from dorax.wrappers.exploration import Exploration
from dorax.wrappers.options import BonusWrapper, CountOptions, EValueOptions, NovelDOptions, Paid, RNDOptions
from dorax.wrappers.source import BonusSource, Visit
from dorax.wrappers.spaces import unbatched

with needing("sb3"):
    import torch
    from stable_baselines3 import DQN
    from stable_baselines3.common.buffers import ReplayBuffer
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.type_aliases import GymEnv, Schedule
    from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecEnvWrapper
    from stable_baselines3.dqn.policies import DQNPolicy

from dorax.wrappers.sb3_callback import ExplorationCallback as ExplorationCallback
from dorax.wrappers.sb3_ppo import NoveltyPPO as NoveltyPPO


class VecBonus(BonusWrapper, VecEnvWrapper):
    """A bonus wrapper around a `VecEnv`, whose environments share what is learned.

    Args:
        venv: the environments.
        observation_space: their observation space, if not that of `venv`.
        action_space: their action space, if not that of `venv`.
    """

    def _wrap(self, env: Any, source: Callable[..., BonusSource], options: Mapping[str, Any], reward: Paid) -> None:
        if not isinstance(env, VecEnv):
            raise InvalidInput(f"the environment is {env}; allowed: a VecEnv, such as make_vec_env makes")
        check_wrappable(env)
        VecEnvWrapper.__init__(self, env)
        self._set(source(env.observation_space, env.action_space, env.num_envs, **options), reward)
        self._actions: Any = None

    def reset(self) -> Any:
        observations = self.venv.reset()
        for i, observation in enumerate(unbatched(self.observation_space, observations)):
            self.exploration.begin(observation, i)
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = np.copy(actions)
        self.venv.step_async(actions)

    def step_wait(self) -> Any:
        observations, rewards, dones, infos = self.venv.step_wait()
        visits: list[Visit] = []
        for i, observation in enumerate(unbatched(self.observation_space, observations)):
            info, is_over = infos[i], bool(dones[i])
            check_no_bonus(info)
            truncated = is_over and bool(info.get("TimeLimit.truncated", False))
            arrived, start = (info["terminal_observation"], observation) if is_over else (observation, None)
            visits.append(
                Visit(self._actions[i], float(rewards[i]), arrived, is_over and not truncated, truncated, i, start)
            )
        total_rewards = np.array(rewards, np.float32)  # some environments return integers
        new_infos: list[dict[str, Any]] = []
        for visit, (bonus, basis) in zip(visits, self.exploration.visit_all(visits), strict=True):
            i, reward = visit.env_index, visit.reward
            new_infos.append({**infos[i], "true_reward": reward, "bonus": bonus, self.exploration.basis: basis})
            total_rewards[i] = self._paid(reward, bonus)
        return observations, total_rewards, dones, new_infos


class VecEValueBonus(EValueOptions[VecEnv], VecBonus):
    """`dorax.EValueBonus` for a `VecEnv`, whose environments share their counts.

        env = VecEValueBonus(make_vec_env("FrozenLake-v1", 8), counter=dorax.EValues(0.9), scale=0.1)
        model = PPO("MlpPolicy", env).learn(100_000)

    Each `info` holds `true_reward`, `bonus` and `generalized_count`. The returns that `Monitor`
    reports are without the bonus, because it is inside this wrapper.
    """


class VecCountBonus(CountOptions[VecEnv], VecBonus):
    """`dorax.CountBonus` for a `VecEnv`, whose environments share their counts; see `VecEValueBonus`."""


class VecRNDBonus(RNDOptions[VecEnv], VecBonus):
    """`dorax.RNDBonus` for a `VecEnv`, whose environments share their networks; see `VecEValueBonus`."""


class VecNovelDBonus(NovelDOptions[VecEnv], VecBonus):
    """`dorax.NovelDBonus` for a `VecEnv`, whose environments share their networks; see `VecEValueBonus`.

    First visits are those of an episode of one environment.
    """


class DirectedDQN(DQN):
    """DQN that chooses actions by a rule on its Q-values and the generalized counts, instead of ε-greedily.

        env = VecEValueBonus(make_vec_env("FrozenLake-v1", 1), scale=0.0)  # counts, but adds no bonus
        model = DirectedDQN("MlpPolicy", env, rule=dorax.LLL(dorax.Softmax(0.1)))

    With `deterministic=True`, as for evaluation, it acts greedily like any DQN. All arguments
    except `env` and `rule` are those of DQN.

    Args:
        policy: as for DQN, such as `"MlpPolicy"`.
        env: a `VecEValueBonus` or `VecCountBonus` around all other wrappers, or a `dorax.EValueBonus`.
        learning_rate: of the optimizer.
        buffer_size: the capacity of the replay buffer.
        learning_starts: the number of steps before learning starts; until then actions are random.
        batch_size: the number of transitions in an update.
        tau: the coefficient of the soft update of the target network.
        gamma: the discount of rewards.
        train_freq: the number of steps between updates.
        gradient_steps: the number of gradient steps in an update.
        replay_buffer_class: the class of the replay buffer.
        replay_buffer_kwargs: its arguments.
        optimize_memory_usage: whether to use a smaller replay buffer, at the cost of some complexity.
        n_steps: the number of rewards in an n-step return.
        target_update_interval: the number of steps between updates of the target network.
        exploration_fraction: of DQN's ε-greedy schedule, which has no effect here.
        exploration_initial_eps: of the same schedule.
        exploration_final_eps: of the same schedule.
        max_grad_norm: at which gradients are clipped.
        stats_window_size: the number of episodes that logged returns are averaged over.
        tensorboard_log: the folder of the TensorBoard log.
        policy_kwargs: arguments of the policy.
        verbose: 0 prints nothing, 1 information, 2 debug messages.
        seed: of the agent.
        device: on which the networks run.
        _init_setup_model: whether to build the networks at once, as for DQN.
        rule: chooses the actions: `dorax.LLL`, `dorax.UCB`, `dorax.Deficit` or a function like them.
    """

    rule: Callable[..., Any]

    def __init__(
        self,
        policy: str | type[DQNPolicy],
        env: GymEnv | str,
        learning_rate: float | Schedule = 1e-4,
        buffer_size: int = 1_000_000,
        learning_starts: int = 100,
        batch_size: int = 32,
        tau: float = 1.0,
        gamma: float = 0.99,
        train_freq: int | tuple[int, str] = 4,
        gradient_steps: int = 1,
        replay_buffer_class: type[ReplayBuffer] | None = None,
        replay_buffer_kwargs: dict[str, Any] | None = None,
        optimize_memory_usage: bool = False,
        n_steps: int = 1,
        target_update_interval: int = 10_000,
        exploration_fraction: float = 0.1,
        exploration_initial_eps: float = 1.0,
        exploration_final_eps: float = 0.05,
        max_grad_norm: float = 10,
        stats_window_size: int = 100,
        tensorboard_log: str | None = None,
        policy_kwargs: dict[str, Any] | None = None,
        verbose: int = 0,
        seed: int | None = None,
        device: torch.device | str = "auto",
        _init_setup_model: bool = True,
        *,
        rule: Callable[..., Any] = LLL(Softmax(0.1)),
    ) -> None:
        if not callable(rule):
            raise InvalidInput(
                f"rule is {rule!r}; allowed: dorax.LLL, dorax.UCB, dorax.Deficit or a function like them"
            )
        self.rule = rule
        super().__init__(
            policy,
            env,
            learning_rate=learning_rate,
            buffer_size=buffer_size,
            learning_starts=learning_starts,
            batch_size=batch_size,
            tau=tau,
            gamma=gamma,
            train_freq=train_freq,
            gradient_steps=gradient_steps,
            replay_buffer_class=replay_buffer_class,
            replay_buffer_kwargs=replay_buffer_kwargs,
            optimize_memory_usage=optimize_memory_usage,
            n_steps=n_steps,
            target_update_interval=target_update_interval,
            exploration_fraction=exploration_fraction,
            exploration_initial_eps=exploration_initial_eps,
            exploration_final_eps=exploration_final_eps,
            max_grad_norm=max_grad_norm,
            stats_window_size=stats_window_size,
            tensorboard_log=tensorboard_log,
            policy_kwargs=policy_kwargs,
            verbose=verbose,
            seed=seed,
            device=device,
            _init_setup_model=_init_setup_model,
        )
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
    """Return the `Exploration` that counts the agent's own observations, or None if a wrapper is in between."""
    if isinstance(env, DummyVecEnv) and env.num_envs == 1:
        env = env.envs[0].env if isinstance(env.envs[0], Monitor) else env.envs[0]
    found = env.exploration if isinstance(env, VecBonus | EnvBonus) else None
    return found if isinstance(found, Exploration) else None


def _check_counts(env: Any) -> None:
    if env is None:  # a model that was loaded for evaluation
        return
    if _exploration_seeing(env) is None:
        raise InvalidInput(
            "the environment does not count the agent's observations; allowed: VecEValueBonus around all other "
            "wrappers (for images around VecTransposeImage), or dorax.EValueBonus"
        )
    if int(getattr(env.action_space, "start", 0)) != 0:
        raise InvalidInput(f"the action space is {env.action_space}; allowed: one that starts at 0, as DQN requires")
