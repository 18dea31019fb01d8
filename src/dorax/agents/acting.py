"""Agents with a single game: its view with an axis over games, and its action.

The axis costs time even where its length is 1, so it is left out of all that is computed.
"""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Shaped

from dorax.core.rules import Rule
from dorax.core.schedules import at_step
from dorax.engine.protocols import View


def single_view(
    features: Shaped[Array, ...],
    values: Float[Array, " actions"],
    counts: Float[Array, " actions"],
    outputs: Float[Array, " actions"],
    novelty: Float[Array, " actions"] | None = None,
) -> View:
    """Make the view of a single game.

    Args:
        features: its features.
        values: values of its actions.
        counts: counts of its actions.
        outputs: what the counts are made of.
        novelty: what is added to the values to act on them; None for nothing.

    Returns:
        The view, whose arrays have an axis over games in front.
    """
    each = None if novelty is None else novelty[None]
    return View(features[None], values[None], counts[None], outputs[None], each)


def chosen_action(rule: Rule, view: View, steps: Int[Array, ""], uniform: Float[Array, " 1"]) -> Int[Array, " 1"]:
    """Choose the action of a single game.

    Args:
        rule: the agent's rule; its schedules are resolved here.
        view: the agent's view of the game.
        steps: steps so far.
        uniform: random number of the rule.

    Returns:
        The action, with the axis over games.
    """
    values = view.values[0] if view.novelty is None else view.values[0] + view.novelty[0]
    action = at_step(rule, steps)(values, view.counts[0], steps, uniform[0])
    return jnp.asarray(action)[None]


def scaled(
    observation: Float[Array, "*games dims"], low: Sequence[float], high: Sequence[float]
) -> Float[Array, "*games dims"]:
    """Scale bounded observations to [-1, 1]; unbounded ones are unchanged.

    Args:
        observation: the observation.
        low: lowest observation.
        high: highest observation.

    Returns:
        What networks and codes see.
    """
    is_bounded = np.isfinite(low) & np.isfinite(high)
    lowest, highest = np.where(is_bounded, low, -1.0), np.where(is_bounded, high, 1.0)
    return (observation - (lowest + highest) / 2) / ((highest - lowest) / 2)
