"""Exact solutions of finite MDPs in float64: Q*, the optimal policy and its occupancy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dorax.mdps.mdp import MDP

_PRECISION = 1e-12


def optimal_q(mdp: MDP, discount: float) -> np.ndarray:
    """Compute Q* by value iteration, until the values have converged to about 1e-12.

    Args:
        mdp: the MDP.
        discount: the paper's gamma.

    Returns:
        Optimal values, states x actions; -inf for actions that are not available.
    """
    expected_reward = (mdp.probability * mdp.reward).sum(axis=2)
    continues = mdp.probability * ~mdp.terminal
    values = np.zeros(mdp.states)
    # The remaining error is at most the last change / (1 - discount). Rounding limits the precision.
    precision = max(_PRECISION * (1 - discount), 4 * np.finfo(np.float64).eps)
    while True:
        q = expected_reward + discount * (continues * values[mdp.successor]).sum(axis=2)
        q = np.where(mdp.available, q, -np.inf)
        updated = q.max(axis=1)
        change = np.abs(updated - values).max()
        values = updated
        if change <= precision * (1 + np.abs(values).max()):
            return q


def optimal_return(mdp: MDP) -> float:
    """Compute the largest mean return of an episode, undiscounted and within the time limit, by backward induction.

    Args:
        mdp: the MDP.

    Returns:
        The return.
    """
    expected_reward = (mdp.probability * mdp.reward).sum(axis=2)
    continues = mdp.probability * ~mdp.terminal
    values = np.zeros(mdp.states)
    for _ in range(mdp.max_steps):
        q = expected_reward + (continues * values[mdp.successor]).sum(axis=2)
        values = np.where(mdp.available, q, -np.inf).max(axis=1)
    return float(mdp.start @ values)


def greedy_policy(q: np.ndarray) -> np.ndarray:
    """Return the greedy policy, with ties (up to rounding) shared equally.

    Args:
        q: values, states x actions.

    Returns:
        Probabilities, states x actions.
    """
    best = q.max(axis=1, keepdims=True)
    is_best = q >= best - 1e-9 * (1 + np.abs(best))
    return is_best / is_best.sum(axis=1, keepdims=True)


def occupancy(mdp: MDP, policy: np.ndarray) -> np.ndarray:
    """Compute how often a policy visits each state-action pair.

    The linear system for the occupancy can be singular, if a policy never ends an episode. The state
    distribution is therefore propagated forward for at most `max_steps` steps.

    Args:
        mdp: the MDP.
        policy: probabilities, states x actions.

    Returns:
        Expected visits per episode, states x actions, normalised to sum to 1.
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


def start_values(mdp: MDP, policies: np.ndarray, discount: float) -> np.ndarray:
    """Compute the values of many policies: their expected discounted returns from the start, without a time limit.

    With a discount of 1 these are the returns of episodes, with the time limit: without it, a policy that goes in
    circles may have none.

    Args:
        mdp: the MDP.
        policies: probabilities, policies x states x actions.
        discount: the paper's gamma.

    Returns:
        One value per policy.
    """
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import spsolve

    # One linear system for all policies: (1 - discount P) V = r, with one block of P per policy.
    policies = np.where(mdp.available, policies, 0.0)
    reward = (policies * (mdp.probability * mdp.reward).sum(axis=2)).sum(axis=2)
    weight = policies[..., None] * (mdp.probability * ~mdp.terminal)
    policy, state, action, outcome = np.nonzero(weight)
    row = policy * mdp.states + state
    column = policy * mdp.states + mdp.successor[state, action, outcome]
    size = reward.size
    moves = csc_array((weight[policy, state, action, outcome], (row, column)), shape=(size, size))
    if discount == 1:
        return _returns(mdp, moves, reward)
    values = spsolve(eye_array(size, format="csc") - discount * moves, reward.ravel())
    return values.reshape(reward.shape) @ mdp.start


def _returns(mdp: MDP, moves: Any, reward: np.ndarray) -> np.ndarray:
    """Propagate the state distributions of many policies forward, for an episode, and add up what they earn."""
    here = np.tile(mdp.start.astype(np.float64), len(reward))
    total = np.zeros(len(reward))
    for _ in range(mdp.max_steps):
        total += (here.reshape(reward.shape) * reward).sum(axis=1)
        here = here @ moves
        if here.sum() < _PRECISION:
            break
    return total
