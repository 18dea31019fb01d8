"""Gymnasium's own mountain car and acrobot, drawings and all, with the sparse rewards of the functional ones."""

from __future__ import annotations

from gymnasium.envs.classic_control import AcrobotEnv, MountainCarEnv


class SparseMountainCarEnv(MountainCarEnv):
    """Reward 1 on reaching the goal, 0 otherwise."""

    def step(self, action: int):
        observation, _, terminated, truncated, info = super().step(action)
        return observation, float(terminated), terminated, truncated, info


class SparseAcrobotEnv(AcrobotEnv):
    """Reward 1 on reaching the height, 0 otherwise."""

    def step(self, a: int):
        observation, _, terminated, truncated, info = super().step(a)
        return observation, float(terminated), terminated, truncated, info
