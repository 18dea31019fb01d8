"""What values are learned from."""

from __future__ import annotations

from dorax.core.arrays import Array, namespace


def q_target(reward: Array, terminated: Array, best_value: Array, discount: Array) -> Array:
    """Q-learning's target: the reward, and the best value of the next state unless the episode terminated.

    A truncated step is not terminal: it bootstraps.
    """
    xp = namespace(reward, best_value)
    return reward + xp.where(terminated, 0.0, discount * best_value)
