"""Exact answers about a finite MDP, in float64: Q*, the optimal policy, its occupancy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dorax.mdps.mdp import MDP

_PRECISION = 1e-12


def optimal_q(mdp: MDP, discount: float) -> np.ndarray:
    """Value iteration until no value moves by more than the precision."""
    expected_reward = (mdp.probability * mdp.reward).sum(axis=2)
    continues = mdp.probability * ~mdp.terminal
    values = np.zeros(mdp.states)
    # What remains to change is at most the last change / (1 - discount); below rounding nothing changes.
    precision = max(_PRECISION * (1 - discount), 4 * np.finfo(np.float64).eps)
    while True:
        q = expected_reward + discount * (continues * values[mdp.successor]).sum(axis=2)
        q = np.where(mdp.available, q, -np.inf)
        updated = q.max(axis=1)
        change = np.abs(updated - values).max()
        values = updated
        if change <= precision * (1 + np.abs(values).max()):
            return q


def greedy_policy(q: np.ndarray) -> np.ndarray:
    """The best actions of each state share it evenly; nearly equal counts as equal."""
    best = q.max(axis=1, keepdims=True)
    is_best = q >= best - 1e-9 * (1 + np.abs(best))
    return is_best / is_best.sum(axis=1, keepdims=True)


def occupancy(mdp: MDP, policy: np.ndarray) -> np.ndarray:
    """Expected visits of each pair in an episode, normalised, carried forward from the start.

    The linear system for it may be singular (a policy that walks for ever), so the
    distribution is propagated for at most the length of an episode.
    """
    here = mdp.start.astype(np.float64)
    visits = np.zeros(policy.shape)
    moves = mdp.probability * ~mdp.terminal
    for _ in range(mdp.max_steps):
        acts = here[:, None] * policy
        visits += acts
        here = np.bincount(mdp.successor.ravel(), (acts[..., None] * moves).ravel(), minlength=mdp.states)
        if here.sum() < _PRECISION:
            break
    return visits / visits.sum()
