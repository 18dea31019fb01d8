"""Runs of Stable-Baselines3 agents with a bonus."""

# Stable-Baselines3: typed in part only.
# pyright: reportUnknownMemberType=false, reportMissingImports=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
import xarray as xr
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv

from dorax.core.counters import EValues, Visits
from dorax.core.policies import Softmax
from dorax.core.rules import LLL
from dorax.engine.running import Progress
from dorax.experiments._rnd import RNDBonus
from dorax.wrappers.sb3 import DirectedDQN, VecEValueBonus

RECORDS = 50
_MODELS = {"PPO": PPO, "DQN": DQN}
_NUM_ENVS = {"PPO": 8, "DQN": 1}
_COUNTERS = {"E-values": EValues(0.99), "visits": Visits()}
_ACTING = "acting by "


@dataclass(frozen=True)
class Setup:
    """What to train, where, and how it explores.

    Attributes:
        algorithm: its name, PPO or DQN, and what differs from its defaults.
        environment: its id and its arguments.
        kind: how it explores: by a bonus of some kind, by acting by counts, or neither.
        setting: the scale of the bonus, or the temperature of acting by counts.
    """

    algorithm: tuple[str, dict[str, Any]]
    environment: tuple[str, dict[str, Any]]
    kind: str
    setting: Mapping[str, float]

    def model(self, seed: int) -> BaseAlgorithm:
        """Make the agent, in its environment.

        Args:
            seed: of the agent, the environment and the bonus.

        Returns:
            The agent.
        """
        (name, settings), (env_id, keywords) = self.algorithm, self.environment
        env = self._counting(make_vec_env(env_id, _NUM_ENVS[name], seed=seed, env_kwargs=keywords), seed)
        settings = {**settings, "seed": seed, "device": "cpu"}
        if not self.kind.startswith(_ACTING):
            return _MODELS[name]("MlpPolicy", env, **settings)
        return DirectedDQN("MlpPolicy", env, rule=LLL(Softmax(self.setting["temperature"])), **settings)

    def _counting(self, env: VecEnv, seed: int) -> VecEnv:
        """Wrap an environment so that it counts and pays a bonus, as far as the kind needs it."""
        scale = self.setting.get("scale", 0.0)
        if self.kind == "no bonus":
            return env
        if self.kind == "RND":
            return RNDBonus(env, scale=scale, seed=seed)
        return VecEValueBonus(env, counter=_COUNTERS[self.kind.removeprefix(_ACTING)], scale=scale, seed=seed)


def returns_over_time(setup: Setup, steps: int, seed: int, progress: Progress | None) -> xr.Dataset:
    """Train an agent and return its true returns over time.

    Args:
        setup: what to train.
        steps: the number of environment steps.
        seed: of the agent and of the environment.
        progress: called now and then with the fraction that is done and the steps so far.

    Returns:
        `record_return`, the mean true return of the episodes that ended in each fiftieth of the run, and
        `record_step`, the step at which that fiftieth ended.
    """
    episodes = _Episodes(steps, progress)
    _train(setup, steps, seed, episodes)
    edges = np.linspace(0, steps, RECORDS + 1)
    return xr.Dataset({"record_step": ("record", edges[1:]), "record_return": ("record", episodes.means(edges))})


def fingerprint(setup: Setup, steps: int) -> dict[str, Any]:
    """Train an agent for a few steps, and return its actions and the sums of reward and bonus in each tenth.

    Args:
        setup: what to train.
        steps: the number of environment steps.

    Returns:
        The fingerprint.
    """
    steps_taken = _Steps()
    _train(setup, steps, 1, steps_taken)
    paid = [float(f"{part.sum():.6g}") for part in np.array_split(np.ravel(steps_taken.rewards), 10)]
    return {"actions": "".join(map(str, np.ravel(steps_taken.actions))), "paid": paid}


def _train(setup: Setup, steps: int, seed: int, callback: BaseCallback) -> None:
    torch.set_num_threads(1)
    env = setup.model(seed).learn(steps, callback=callback).get_env()
    assert env is not None
    env.close()


class _Steps(BaseCallback):
    """Records every action and its reward, including the bonus."""

    def __init__(self) -> None:
        super().__init__()
        self.actions: list[np.ndarray] = []
        self.rewards: list[np.ndarray] = []

    def _on_step(self) -> bool:
        self.actions.append(np.copy(self.locals["actions"]))
        self.rewards.append(np.copy(self.locals["rewards"]))
        return True


class _Episodes(BaseCallback):
    """Records the true return of every episode, and the step at which it ended."""

    def __init__(self, steps: int, progress: Progress | None) -> None:
        super().__init__()
        self._steps, self._progress = steps, progress
        self._ended: list[tuple[int, float]] = []

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if "episode" in info:  # from Monitor, which is inside the bonus wrapper
                self._ended.append((self.num_timesteps, float(info["episode"]["r"])))
        if self._progress is not None and self.num_timesteps % 1024 == 0:
            self._progress(min(self.num_timesteps / self._steps, 0.999), self.num_timesteps)
        return True

    def _on_training_end(self) -> None:
        if self._progress is not None:
            self._progress(1.0, self.num_timesteps)

    def means(self, edges: np.ndarray) -> np.ndarray:
        """Return the mean return between each two edges; where no episode ended, the mean before it."""
        step, total = np.array(self._ended, np.float64).reshape(-1, 2).T
        means = [0.0]
        for low, high in pairwise(edges):
            is_within = (low < step) & (step <= high)
            means.append(float(total[is_within].mean()) if is_within.any() else means[-1])
        return np.array(means[1:])
