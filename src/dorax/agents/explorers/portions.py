"""An explorer that learns from more steps at a time than there are between the updates of an agent with a single game.

Networks of explorers learn from batches: a batch of a few steps of one game hardly differ, and features must recognise
an observation among many.
"""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dorax.agents.explorers.protocol import Explorer, Look, Visited
from dorax.agents.explorers.training import Pair
from dorax.agents.value_network import Inputs


class Portion(NamedTuple):
    """State of `InPortions`.

    Attributes:
        state: state of the explorer.
        rows: the steps that wait to be learned from.
        filled: their number.
    """

    state: Any
    rows: Pair
    filled: Int[Array, ""]


class InPortions(eqx.Module):
    """Explorer of one game that hands its steps to another one in portions.

    Attributes:
        explorer: the other one, whose rows are a `Pair`.
        inputs: what networks see.
        size: number of steps of a portion, a multiple of the number between two updates of the agent.
    """

    explorer: Explorer[Any]
    inputs: Inputs = eqx.field(static=True)
    size: int = eqx.field(static=True)

    def init(self, key: PRNGKeyArray) -> Portion:
        whole = jnp.zeros((self.size, 1), jnp.int32)
        x = whole if self.inputs.is_finite else jnp.zeros((self.size, 1, self.inputs.size))
        rows = Pair(x, whole, x, whole, whole > 0, whole > 0)
        return Portion(self.explorer.init(key), rows, jnp.zeros((), jnp.int32))

    def look(self, state: Portion, x: Any) -> Look:
        return self.explorer.look(state.state, x)

    def are_same(self, features: Any) -> Bool[Array, "games games"]:
        return self.explorer.are_same(features)

    def observe(self, state: Portion, visited: Visited) -> tuple[Portion, Float[Array, " games"], Pair]:
        after, bonus, row = self.explorer.observe(state.state, visited)
        return state._replace(state=after), bonus, row

    def update(self, state: Portion, rows: Pair, key: PRNGKeyArray, learns: Bool[Array, ""]) -> Portion:
        """Keep the steps, and learn from them as soon as they are a portion."""
        number = len(rows.action)
        at = jnp.where(learns, state.filled, self.size) + jnp.arange(number)

        def stored(room: Array, leaf: Array) -> Array:
            return room.at[at].set(leaf, mode="drop")

        rows = jax.tree.map(stored, state.rows, rows)
        filled = state.filled + jnp.where(learns, number, 0)

        def is_due(carry: tuple[Any, Any]) -> Any:
            return carry[1]

        def learned(carry: tuple[Any, Any]) -> tuple[Any, Any]:
            return self.explorer.update(carry[0], rows, key, carry[1]), jnp.zeros((), bool)

        # A loop of one round at most; see `PrototypeCodes.tidied`.
        is_full = filled >= self.size
        after, _ = jax.lax.while_loop(is_due, learned, (state.state, is_full))
        return Portion(after, rows, jnp.where(is_full, 0, filled))
