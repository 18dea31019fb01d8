"""Targets of Q-learning from rollouts of many games: λ-returns."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from dorax.agents.explorers.training import mean_where
from dorax.core.targets import q_target


class Rollout(NamedTuple):
    """Consecutive steps of several games, as far as targets depend on them.

    Attributes:
        reward: rewards.
        terminated: whether the step ended an episode in a terminal state.
        is_over: whether it ended an episode in any way.
        next_value: value of the next state.
        goes_on: whether the action that is taken there has this value, so that its return is one of the policy that is
            learned.
        learns: whether the step is one to learn from; one that only starts an episode is not, and is passed over.
    """

    reward: Float[Array, "steps games"]
    terminated: Bool[Array, "steps games"]
    is_over: Bool[Array, "steps games"]
    next_value: Float[Array, "steps games"]
    goes_on: Bool[Array, "steps games"]
    learns: Bool[Array, "steps games"]


def lambda_returns(rollout: Rollout, discount: Array | float, trace: Array | float) -> Float[Array, "steps games"]:
    """Compute Watkins's λ-returns: a mixture of all n-step targets, up to the next action that is not greedy.

    Args:
        rollout: the steps.
        discount: discount of the values.
        trace: λ; 0 for targets of one step.

    Returns:
        The targets.
    """

    def backward(later: Array, row: Rollout) -> tuple[Array, Array]:
        share = jnp.where(row.goes_on & ~row.is_over, trace, 0.0)
        ahead = row.next_value + share * (later - row.next_value)
        target = jnp.where(row.learns, q_target(row.reward, row.terminated, ahead, discount), later)
        return target, target

    last = rollout.next_value[-1]
    return jax.lax.scan(backward, last, rollout, reverse=True)[1]


def without_ends(rollout: Rollout) -> Rollout:
    """Let returns go on in the next episode: the state after the end of one is the start of the next.

    Where an episode ends in the last row, its next start is not among the rows. Its value is then the mean over all
    starts that are, because the value of the state in which an episode ended is never learned. Without any start among
    the rows, it is the value of that state.

    Args:
        rollout: the steps.

    Returns:
        Steps whose returns no end cuts off.
    """
    never = jnp.zeros_like(rollout.is_over)
    is_start = ~rollout.learns
    start_value = mean_where(rollout.next_value, is_start)
    after_last = jnp.where(jnp.any(is_start), start_value, rollout.next_value[-1:])
    following = jnp.concatenate([rollout.next_value[1:], after_last])
    next_value = jnp.where(rollout.is_over, following, rollout.next_value)
    return rollout._replace(terminated=never, is_over=never, next_value=next_value)
