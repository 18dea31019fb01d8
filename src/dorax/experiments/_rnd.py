"""Random network distillation (Burda et al., 2018), as a baseline: the bonus is a prediction error.

A predictor learns the outputs of a fixed random network; its error is large for observations
that it has rarely seen. Observations and errors are normalised by running statistics, which
the authors found necessary.
"""

# Stable-Baselines3 and PyTorch: typed in part only.
# pyright: reportUnknownMemberType=false, reportMissingImports=false

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.running_mean_std import RunningMeanStd
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

_WIDTH, _OUTPUTS = 128, 64
_BATCH = 8
_CLIP = 5.0  # standard deviations
_DISCOUNT = 0.99  # of the return of bonuses, whose standard deviation normalises them


class RNDBonus(VecEnvWrapper):
    """Adds the error of the predictor to the reward, divided by the standard deviation of its discounted sum.

    Args:
        venv: the environments.
        scale: multiplies the bonus.
        seed: of both networks.
        learning_rate: of the predictor.
    """

    def __init__(self, venv: VecEnv, scale: float, seed: int, learning_rate: float = 1e-3) -> None:
        super().__init__(venv)
        self._scale = scale
        space = venv.observation_space
        self._states = int(space.n) if isinstance(space, spaces.Discrete) else None
        inputs = self._states or int(np.prod(space.shape or ()))
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self._target, self._predictor = _network(inputs), _network(inputs)
        self._optimiser = torch.optim.Adam(self._predictor.parameters(), lr=learning_rate)
        self._unlearned: list[torch.Tensor] = []
        self._moments = RunningMeanStd(shape=(inputs,))
        self._returns, self._return_moments = np.zeros(venv.num_envs), RunningMeanStd(shape=())

    def reset(self) -> Any:
        return self.venv.reset()

    def step_wait(self) -> Any:
        observations, rewards, dones, infos = self.venv.step_wait()
        arrived = [
            info["terminal_observation"] if done else seen
            for seen, done, info in zip(observations, dones, infos, strict=True)
        ]
        bonuses = self._bonuses(np.asarray(arrived))
        return observations, rewards + self._scale * bonuses, dones, infos

    def _bonuses(self, observations: np.ndarray) -> np.ndarray:
        x = self._inputs(observations)
        self._moments.update(x)
        x = np.clip((x - self._moments.mean) / np.sqrt(self._moments.var + 1e-8), -_CLIP, _CLIP)
        x = torch.as_tensor(x, dtype=torch.float32)
        with torch.no_grad():
            found = self._errors(x).numpy().astype(np.float64)
        self._learn(x)
        self._returns = _DISCOUNT * self._returns + found
        self._return_moments.update(self._returns)
        return found / np.sqrt(self._return_moments.var + 1e-8)

    def _errors(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            target = self._target(x)
        return ((self._predictor(x) - target) ** 2).mean(dim=1)

    def _learn(self, x: torch.Tensor) -> None:
        """Update the predictor once per batch, however many observations arrive at a time."""
        self._unlearned.append(x)
        if sum(map(len, self._unlearned)) >= _BATCH:
            self._optimiser.zero_grad()
            self._errors(torch.cat(self._unlearned)).mean().backward()
            self._optimiser.step()
            self._unlearned.clear()

    def _inputs(self, observations: np.ndarray) -> np.ndarray:
        if self._states is None:
            return observations.reshape(len(observations), -1).astype(np.float64)
        return np.eye(self._states)[observations.astype(int).ravel()]


def _network(inputs: int) -> torch.nn.Sequential:
    return torch.nn.Sequential(
        torch.nn.Linear(inputs, _WIDTH),
        torch.nn.ReLU(),
        torch.nn.Linear(_WIDTH, _WIDTH),
        torch.nn.ReLU(),
        torch.nn.Linear(_WIDTH, _OUTPUTS),
    )
