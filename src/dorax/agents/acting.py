"""How agents with a single game choose its action."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from dorax.core.rules import Rule
from dorax.core.schedules import at_step
from dorax.engine.protocols import View


def chosen_action(rule: Rule, view: View, steps: Int[Array, ""], uniform: Float[Array, " 1"]) -> Int[Array, " 1"]:
    """Choose the action of a single game.

    The rule is applied without the axis over games, which costs time even where its length is 1.

    Args:
        rule: the agent's rule; its schedules are resolved here.
        view: the agent's view of the game.
        steps: steps so far.
        uniform: random number of the rule.

    Returns:
        The action, with the axis over games.
    """
    action = at_step(rule, steps)(view.values[0], view.counts[0], steps, uniform[0])
    return jnp.asarray(action)[None]
