"""Learning targets."""

from __future__ import annotations

from dorax.core.arrays import Array, namespace


def q_target(reward: Array, terminated: Array, best_value: Array, discount: Array | float) -> Array:
    """Compute Q-learning's target, r + discount * max_a' Q(s', a').

    Nothing is added after a terminal transition. A truncated step is not terminal: it bootstraps.

    Args:
        reward: reward r of the transition.
        terminated: whether it ended the episode.
        best_value: highest value of the next state's actions.
        discount: the paper's gamma.

    Returns:
        The target.
    """
    xp = namespace(reward, best_value)
    return reward + xp.where(terminated, 0.0, discount * best_value)
