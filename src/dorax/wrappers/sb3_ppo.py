"""PPO with values of its own for the bonus, under Stable-Baselines3.

Needs `pip install 'dorax[sb3]'`. The bonus is not added to the reward: a second output of the value network predicts
its discounted sum, with a discount of its own and across the ends of episodes (Burda et al., 2018), and PPO follows the
sum of both advantages.
"""

# Stable-Baselines3 and PyTorch: typed in part only.
# pyright: reportUnknownMemberType=false, reportMissingImports=false

from __future__ import annotations

from collections.abc import Generator
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from dorax.core.checks import InvalidInput, check_discount
from dorax.core.extras import needing
from dorax.wrappers.environments import layers

with needing("sb3"):
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.buffers import DictRolloutBuffer, RolloutBuffer
    from stable_baselines3.common.policies import (
        ActorCriticCnnPolicy,
        ActorCriticPolicy,
        BasePolicy,
        MultiInputActorCriticPolicy,
    )
    from stable_baselines3.common.type_aliases import GymEnv, Schedule
    from stable_baselines3.common.utils import obs_as_tensor
    from stable_baselines3.common.vec_env import VecNormalize

_KEPT_APART = "novelty_values", "novelty_returns"  # arrays of the buffer, steps x environments


class _TwoValues:
    """Mixin of the policies: the value network has two outputs, of the reward and of the bonus."""

    value_net: torch.nn.Module

    def _build(self, lr_schedule: Schedule) -> None:
        super()._build(lr_schedule)  # type: ignore[misc]
        both = torch.nn.Linear(self.mlp_extractor.latent_dim_vf, 2)  # type: ignore[attr-defined]
        if self.ortho_init:  # type: ignore[attr-defined]
            self.init_weights(both, gain=1)  # type: ignore[attr-defined]
        self.value_net = both
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)  # type: ignore[attr-defined]

    def predict_values(self, obs: Any) -> torch.Tensor:
        return super().predict_values(obs)[:, :1]  # type: ignore[misc]

    def predict_novelty(self, obs: Any) -> torch.Tensor:
        """Predict the discounted sum of bonuses."""
        return super().predict_values(obs)[:, 1]  # type: ignore[misc]


class _MlpPolicy(_TwoValues, ActorCriticPolicy):
    pass


class _CnnPolicy(_TwoValues, ActorCriticCnnPolicy):
    pass


class _MultiInputPolicy(_TwoValues, MultiInputActorCriticPolicy):
    pass


class _KeepsApart:
    """Mixin of the rollout buffers: what belongs to the bonus is kept apart from what belongs to the reward."""

    bonuses: np.ndarray
    novelty_values: np.ndarray
    novelty_returns: np.ndarray
    new_bonuses: np.ndarray | None = None  # of the step that will be added next

    def reset(self) -> None:
        super().reset()  # type: ignore[misc]
        for name in ("bonuses", *_KEPT_APART):
            setattr(self, name, np.zeros((self.buffer_size, self.n_envs), np.float32))  # type: ignore[attr-defined]

    def add(
        self, obs: Any, action: Any, reward: np.ndarray, episode_start: Any, value: torch.Tensor, log_prob: Any
    ) -> None:
        assert self.new_bonuses is not None
        at = self.pos  # type: ignore[attr-defined]
        self.bonuses[at] = self.new_bonuses
        self.novelty_values[at] = value[:, 1].cpu().numpy()
        super().add(obs, action, reward - self.new_bonuses, episode_start, value[:, :1], log_prob)  # type: ignore[misc]

    def add_novelty(self, last_values: np.ndarray, discount: float) -> None:
        """Compute the returns of bonuses, and add their advantages to those of the rewards.

        Args:
            last_values: values of the bonus after the last step, one for each environment.
            discount: discount of the bonus.
        """
        advantage = np.zeros_like(last_values)
        following = last_values
        for step in reversed(range(self.buffer_size)):  # type: ignore[attr-defined]
            error = self.bonuses[step] + discount * following - self.novelty_values[step]
            advantage = error + discount * self.gae_lambda * advantage  # type: ignore[attr-defined]
            following = self.novelty_values[step]
            self.novelty_returns[step] = advantage + following
            self.advantages[step] += advantage  # type: ignore[attr-defined]

    def get(self, batch_size: int | None = None) -> Generator[Any, None, None]:
        if not self.generator_ready:  # type: ignore[attr-defined]
            for name in _KEPT_APART:
                setattr(self, name, self.swap_and_flatten(getattr(self, name)))  # type: ignore[attr-defined]
        yield from super().get(batch_size)  # type: ignore[misc]

    def _get_samples(self, batch_inds: np.ndarray, env: VecNormalize | None = None) -> Any:
        """Select a minibatch. Values and returns alternate between those of the reward and of the bonus, as the
        policy's outputs do when PPO makes one axis of them."""
        samples = super()._get_samples(batch_inds, env)  # type: ignore[misc]

        def beside(own: torch.Tensor, novelty: np.ndarray) -> torch.Tensor:
            found = self.to_torch(novelty[batch_inds].flatten())  # type: ignore[attr-defined]
            return torch.stack([own, found], dim=1).flatten()

        return samples._replace(
            old_values=beside(samples.old_values, self.novelty_values),
            returns=beside(samples.returns, self.novelty_returns),
        )


class _Buffer(_KeepsApart, RolloutBuffer):
    pass


class _DictBuffer(_KeepsApart, DictRolloutBuffer):
    pass


class NoveltyPPO(PPO):
    """PPO that learns values of rewards and of bonuses apart, each with its own discount.

        env = VecEValueBonus(make_vec_env("dorax/DeepSea-v0", 8), scale=0.03)
        model = NoveltyPPO("MlpPolicy", env, novelty_discount=0.99).learn(100_000)

    Episodes end for rewards and go on for bonuses: what is new after a reset is as good a reason to end an
    episode as any. All arguments except `env` and `novelty_discount` are those of PPO.

    Args:
        policy: `"MlpPolicy"`, `"CnnPolicy"` or `"MultiInputPolicy"`.
        env: an environment with a bonus, such as a `VecEValueBonus`.
        learning_rate: of the optimizer.
        n_steps: the number of steps of every environment between updates.
        batch_size: the number of steps in a minibatch.
        n_epochs: the number of passes over the steps of an update.
        gamma: the discount of rewards.
        gae_lambda: λ of the advantages.
        clip_range: at which the ratio of probabilities is clipped.
        clip_range_vf: at which changes of values are clipped; None for no clipping.
        normalize_advantage: whether to normalize the advantages of a minibatch.
        ent_coef: the coefficient of the entropy.
        vf_coef: the coefficient of the errors of both values.
        max_grad_norm: at which gradients are clipped.
        use_sde: whether to use state-dependent exploration.
        sde_sample_freq: the number of steps between its noise matrices; -1 for one per rollout.
        target_kl: the divergence at which an update ends; None for no limit.
        stats_window_size: the number of episodes that logged returns are averaged over.
        tensorboard_log: the folder of the TensorBoard log.
        policy_kwargs: arguments of the policy.
        verbose: 0 prints nothing, 1 information, 2 debug messages.
        seed: of the agent.
        device: on which the networks run.
        _init_setup_model: whether to build the networks at once, as for PPO.
        novelty_discount: the discount of bonuses.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        "MlpPolicy": _MlpPolicy,
        "CnnPolicy": _CnnPolicy,
        "MultiInputPolicy": _MultiInputPolicy,
    }

    def __init__(
        self,
        policy: str | type[ActorCriticPolicy],
        env: GymEnv | str,
        learning_rate: float | Schedule = 3e-4,
        n_steps: int = 2048,
        batch_size: int = 64,
        n_epochs: int = 10,
        gamma: float = 0.99,
        gae_lambda: float = 0.95,
        clip_range: float | Schedule = 0.2,
        clip_range_vf: float | Schedule | None = None,
        normalize_advantage: bool = True,
        ent_coef: float = 0.0,
        vf_coef: float = 0.5,
        max_grad_norm: float = 0.5,
        use_sde: bool = False,
        sde_sample_freq: int = -1,
        target_kl: float | None = None,
        stats_window_size: int = 100,
        tensorboard_log: str | None = None,
        policy_kwargs: dict[str, Any] | None = None,
        verbose: int = 0,
        seed: int | None = None,
        device: torch.device | str = "auto",
        _init_setup_model: bool = True,
        *,
        novelty_discount: float = 0.99,
    ) -> None:
        check_discount("novelty_discount", novelty_discount)
        is_ours = isinstance(policy, type) and issubclass(policy, _TwoValues)  # as when a model is loaded
        if not is_ours and policy not in self.policy_aliases:
            raise InvalidInput(f"policy is {policy!r}; allowed: {', '.join(map(repr, self.policy_aliases))}")
        self.novelty_discount = novelty_discount
        super().__init__(
            policy,
            env,
            learning_rate=learning_rate,
            n_steps=n_steps,
            batch_size=batch_size,
            n_epochs=n_epochs,
            gamma=gamma,
            gae_lambda=gae_lambda,
            clip_range=clip_range,
            clip_range_vf=clip_range_vf,
            normalize_advantage=normalize_advantage,
            ent_coef=ent_coef,
            vf_coef=vf_coef,
            max_grad_norm=max_grad_norm,
            use_sde=use_sde,
            sde_sample_freq=sde_sample_freq,
            target_kl=target_kl,
            stats_window_size=stats_window_size,
            tensorboard_log=tensorboard_log,
            policy_kwargs=policy_kwargs,
            verbose=verbose,
            seed=seed,
            device=device,
            _init_setup_model=_init_setup_model,
        )
        _check_rewards(self.env)

    def set_env(self, env: Any, force_reset: bool = True) -> None:
        super().set_env(env, force_reset)
        _check_rewards(self.env)

    def collect_rollouts(self, env: Any, callback: Any, rollout_buffer: Any, n_rollout_steps: int) -> bool:
        goes_on = super().collect_rollouts(env, callback, rollout_buffer, n_rollout_steps)
        if goes_on:
            with torch.no_grad():
                novelty = self.policy.predict_novelty(obs_as_tensor(self._last_obs, self.device))  # type: ignore[arg-type,operator]
            rollout_buffer.add_novelty(novelty.cpu().numpy(), self.novelty_discount)
        return goes_on

    def _setup_model(self) -> None:
        self.rollout_buffer_class = _DictBuffer if isinstance(self.observation_space, spaces.Dict) else _Buffer
        super()._setup_model()

    def _update_info_buffer(self, infos: list[dict[str, Any]], dones: np.ndarray | None = None) -> None:
        """Note the bonuses, which the buffer takes out of the rewards. Called after each step, before it is added."""
        if not all("bonus" in info for info in infos):
            raise InvalidInput(
                "the environment has no bonus; allowed: a bonus wrapper, such as VecEValueBonus, around it"
            )
        self.rollout_buffer.new_bonuses = np.array([info["bonus"] for info in infos], np.float32)  # type: ignore[attr-defined]
        super()._update_info_buffer(infos, dones)


def _check_rewards(env: Any) -> None:
    """Raise `InvalidInput` if rewards are normalized after the bonus was added, so that they cannot be told apart."""
    for layer in layers(env):
        if isinstance(layer, VecNormalize) and layer.norm_reward:
            raise InvalidInput(
                "VecNormalize around the bonus normalizes the sum of reward and bonus; allowed: norm_reward=False, or "
                "VecNormalize inside the bonus wrapper"
            )
        if getattr(layer, "exploration", None) is not None:
            return
