"""A callback of Stable-Baselines3 that logs how much of the reward is bonus, and how much has been seen."""

# Stable-Baselines3: typed in part only.
# pyright: reportUnknownMemberType=false, reportMissingImports=false

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecNormalize

from dorax.core.checks import InvalidInput, check_whole
from dorax.features.specs import KWinners, Tiles
from dorax.wrappers.environments import exploration_of, layers


class ExplorationCallback(BaseCallback):
    """Logs a bonus through the logger of Stable-Baselines3, wherever that writes: a terminal, TensorBoard, W&B.

        model = PPO("MlpPolicy", VecEValueBonus(make_vec_env("FrozenLake-v1", 8)))
        model.learn(100_000, callback=ExplorationCallback())

    Means since the last line of the log are `exploration/true_reward`, `exploration/bonus`,
    `exploration/bonus_share`, the share of the bonus in |true reward| + bonus, and `exploration/generalized_count` or,
    of bonuses by predictors, `exploration/novelty`.
    Where counts are in a table, `exploration/states` and `exploration/pairs` are the numbers of different states,
    or codes of them, and of different state-action pairs so far. It warns where `VecNormalize` changes the share.

    Args:
        coverage_every: number of steps of the vector environment after which states and pairs are counted again;
            that takes longer than a step. They are also counted after every rollout of PPO and other on-policy
            algorithms.
        verbose: as for other callbacks.
    """

    def __init__(self, coverage_every: int = 1_000, verbose: int = 0) -> None:
        super().__init__(verbose)
        check_whole("coverage_every", coverage_every)
        self.coverage_every = coverage_every
        self._reward = self._bonus = 0.0  # sums since the last line of the log
        self._exploration: Any = None

    def _on_training_start(self) -> None:
        found = list(layers(self.training_env))
        places = [i for i, layer in enumerate(found) if exploration_of(layer) is not None]
        self._exploration = exploration_of(found[places[0]]) if places else None
        for i, layer in enumerate(found):
            if places and isinstance(layer, VecNormalize) and layer.norm_reward:
                warnings.warn(_AROUND if i < places[0] else _INSIDE, stacklevel=2)

    def _on_step(self) -> bool:
        infos = self.locals["infos"]
        if any("bonus" not in info for info in infos):
            raise InvalidInput("the environment adds no bonus; allowed: one in a bonus wrapper, such as VecEValueBonus")
        if "exploration/bonus" not in self.logger.name_to_value:  # a line of the log was written
            self._reward = self._bonus = 0.0
            self._record_coverage()
        elif self.n_calls % self.coverage_every == 0:
            self._record_coverage()
        self._reward += sum(abs(info["true_reward"]) for info in infos)
        self._bonus += sum(info["bonus"] for info in infos)
        total = self._reward + self._bonus
        self.logger.record("exploration/bonus_share", self._bonus / total if total > 0 else 0.0)
        for name in ("true_reward", "bonus", "generalized_count", "novelty"):
            values = [info[name] for info in infos if name in info]
            if values:
                self.logger.record_mean(f"exploration/{name}", float(np.mean(values)))
        return True

    def _on_rollout_end(self) -> None:
        if not hasattr(self.model, "replay_buffer"):  # off-policy rollouts are a few steps long
            self._record_coverage()

    def _record_coverage(self) -> None:
        counts: Any = getattr(self._exploration, "counts", None)
        if hasattr(counts, "table") and not isinstance(counts.features, Tiles | KWinners):  # several entries per state
            visits = counts.table()[1]
            self.logger.record("exploration/states", int((visits > 0).any(axis=1).sum()))
            self.logger.record("exploration/pairs", int((visits > 0).sum()))


_AROUND = (
    "VecNormalize around the bonus divides reward and bonus by the deviation of their sum, so the bonus grows again as "
    "it decays; allowed without this warning: VecNormalize(..., norm_reward=False)"
)
_INSIDE = (
    "VecNormalize inside the bonus wrapper rescales the reward but not the bonus, which may then be swallowed; allowed "
    "without this warning: VecNormalize(..., norm_reward=False)"
)
