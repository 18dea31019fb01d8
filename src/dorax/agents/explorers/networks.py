"""Counts predicted by a network, in one of the forms of `EValues`."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from dorax.agents.adam import adam_state
from dorax.agents.explorers.protocol import Look, Visited
from dorax.agents.explorers.training import Pair, are_equal, pair_of, trained
from dorax.agents.losses import surrogate, taken
from dorax.agents.value_network import Inputs, ValueNetwork
from dorax.core.bonuses import Bonus
from dorax.core.counters import ApproximatedCounter
from dorax.features.specs import CountNetwork


class Outputs(NamedTuple):
    """Features of `NetworkCounts`.

    Attributes:
        x: the observations.
        outputs: outputs of all actions.
    """

    x: Any
    outputs: Float[Array, "games actions"]


class NetworkCounts(eqx.Module):
    """Explorer with counts by a network, which learns them by SARSA.

    The state is a pair of weights and optimizer state.

    Attributes:
        counter: how outputs become counts, and what they learn.
        bonus: bonus of a count, or None.
        spec: the network.
        inputs: what it sees.
        actions: number of actions.
    """

    counter: ApproximatedCounter
    bonus: Bonus | None
    spec: CountNetwork
    inputs: Inputs = eqx.field(static=True)
    actions: int = eqx.field(static=True)

    def init(self, key: PRNGKeyArray) -> tuple[Any, Any]:
        weights = self._network.init(key)
        return weights, adam_state(weights)

    def look(self, state: tuple[Any, Any], x: Any) -> Look:
        outputs = self._network.apply(state[0], x)
        return Look(Outputs(x, outputs), self.counter.count(outputs))

    def are_same(self, features: Outputs) -> Bool[Array, "games games"]:
        return are_equal(features.x)

    def observe(self, state: tuple[Any, Any], visited: Visited) -> tuple[tuple[Any, Any], Float[Array, " games"], Pair]:
        bonus = jnp.zeros(len(visited.action))
        if self.bonus is not None:
            output = taken(visited.features.outputs, visited.action)
            successor = taken(visited.arrived.features.outputs, visited.next_action)
            error = self.counter.error(output, successor, visited.terminated)
            bonus = self.bonus(self.counter.visited_count(output, error), self.counter.rate())
        return state, bonus, pair_of(visited)

    def update(self, state: tuple[Any, Any], rows: Pair, key: PRNGKeyArray, learns: Bool[Array, ""]) -> Any:
        """Learn from the steps since the last update."""

        def loss(weights: Any, rows: Pair) -> Float[Array, ""]:
            output = taken(self._network.apply(weights, rows.x), rows.action)
            successor = taken(self._network.apply(weights, rows.next_x), rows.next_action)
            error = self.counter.error(output, successor, rows.terminated)
            return surrogate(output, jnp.where(rows.is_visit, error, 0.0))

        return trained(loss, state, rows, self.spec.learning_rate, key, learns)

    @property
    def _network(self) -> ValueNetwork:
        return ValueNetwork(self.inputs, self.actions, self.spec.width, self.spec.depth)
