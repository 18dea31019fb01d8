"""Runs of Stable-Baselines3 agents with a bonus."""

# Stable-Baselines3: typed in part only.
# pyright: reportUnknownMemberType=false, reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import torch
import xarray as xr
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

from dorax.core.counters import EValues, Visits
from dorax.engine.running import Progress
from dorax.experiments._rnd import RNDBonus
from dorax.wrappers.sb3 import VecEValueBonus

RECORDS = 50
_MODELS = {"PPO": PPO, "DQN": DQN}
_NUM_ENVS = {"PPO": 8, "DQN": 1}

BONUSES: dict[str, Callable[..., Any]] = {
    "no bonus": lambda env, scale, seed: env,
    "E-values": lambda env, scale, seed: VecEValueBonus(env, counter=EValues(0.99), scale=scale, seed=seed),
    "visits": lambda env, scale, seed: VecEValueBonus(env, counter=Visits(), scale=scale, seed=seed),
    "RND": RNDBonus,
}


def returns_over_time(
    algorithm: tuple[str, dict[str, Any]],
    environment: tuple[str, dict[str, Any]],
    steps: int,
    with_bonus: Callable[[Any], Any],
    seed: int,
    progress: Progress | None,
) -> xr.Dataset:
    """Train an agent and return its true returns over time.

    Args:
        algorithm: its name, PPO or DQN, and what differs from its defaults.
        environment: its id and its arguments.
        steps: the number of environment steps.
        with_bonus: wraps the environment in a bonus.
        seed: of the agent and of the environment.
        progress: called now and then with the fraction that is done and the steps so far.

    Returns:
        `record_return`, the mean true return of the episodes that ended in each fiftieth of the run, and
        `record_step`, the step at which that fiftieth ended.
    """
    torch.set_num_threads(1)
    (model, settings), (name, keywords) = algorithm, environment
    env = with_bonus(make_vec_env(name, _NUM_ENVS[model], seed=seed, env_kwargs=keywords))
    episodes = _Episodes(steps, progress)
    _MODELS[model]("MlpPolicy", env, seed=seed, device="cpu", **settings).learn(steps, callback=episodes)
    env.close()
    edges = np.linspace(0, steps, RECORDS + 1)
    return xr.Dataset({"record_step": ("record", edges[1:]), "record_return": ("record", episodes.means(edges))})


def fingerprint(
    algorithm: tuple[str, dict[str, Any]],
    environment: tuple[str, dict[str, Any]],
    steps: int,
    with_bonus: Callable[[Any], Any],
) -> dict[str, Any]:
    """Train an agent for a few steps, and return its actions and the sums of reward and bonus in each tenth.

    The arguments are those of `returns_over_time`.
    """
    torch.set_num_threads(1)
    (model, settings), (name, keywords) = algorithm, environment
    env = with_bonus(make_vec_env(name, _NUM_ENVS[model], seed=1, env_kwargs=keywords))
    steps_taken = _Steps()
    _MODELS[model]("MlpPolicy", env, seed=1, device="cpu", **settings).learn(steps, callback=steps_taken)
    env.close()
    paid = [float(f"{part.sum():.6g}") for part in np.array_split(np.ravel(steps_taken.rewards), 10)]
    return {"actions": "".join(map(str, np.ravel(steps_taken.actions))), "paid": paid}


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
