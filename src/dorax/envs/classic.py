"""Gymnasium's mountain car and acrobot with sparse rewards."""

from __future__ import annotations

from gymnasium.envs.classic_control import AcrobotEnv, MountainCarEnv


class SparseMountainCarEnv(MountainCarEnv):
    """Gymnasium's mountain car with reward 1 for reaching the goal and 0 otherwise.

    Args:
        render_mode: Gymnasium's render mode.
        goal_velocity: smallest velocity that counts at the goal.
    """

    def step(self, action: int):
        """Take one step; see `gymnasium.Env.step`."""
        observation, _, terminated, truncated, info = super().step(action)
        return observation, float(terminated), terminated, truncated, info


class SparseAcrobotEnv(AcrobotEnv):
    """Gymnasium's acrobot with reward 1 for reaching the goal height and 0 otherwise.

    Args:
        render_mode: Gymnasium's render mode.
    """

    def step(self, a: int):
        """Take one step; see `gymnasium.Env.step`."""
        observation, _, terminated, truncated, info = super().step(a)
        return observation, float(terminated), terminated, truncated, info
