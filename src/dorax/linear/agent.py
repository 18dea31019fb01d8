"""Agents with tiles: Q and E as sums of the weights of active tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from dorax.core.arrays import Array
from dorax.core.checks import InvalidInput, check_at_least, check_discount
from dorax.core.forms import check_parts
from dorax.lanes.episodes import Transition, View
from dorax.linear.tiles import TileCoder

_MOST_TILES = 2**27  # they lie in one array


class LinearAgent(eqx.Module):
    """How to act and how to learn, by tile coding. Its numbers may be swept; see `dorax.train`.

    `rule` chooses actions, `e_values` is the form of E (`LogisticE`, `CountE`, or None for
    agents that count nothing), `bonus` turns counts into reward. Q is learned by
    semi-gradient Q-learning from weights drawn with the deviation `initial_scale`. Step
    sizes are those of the prediction: each active tile takes an equal share.
    """

    rule: Any
    e_values: Any = None
    bonus: Any = None
    learning_rate: Array = 0.1
    discount: Array = 0.99
    initial_scale: Array = 0.01
    tiles: int | tuple[int, ...] = eqx.field(default=8, static=True)
    tilings: int = eqx.field(default=8, static=True)

    def __check_init__(self) -> None:
        check_at_least("learning_rate", self.learning_rate, 0)
        check_discount("discount", self.discount)
        check_at_least("initial_scale", self.initial_scale, 0)
        check_parts(self.rule, self.e_values, self.bonus)

    def learner(self, low: Sequence[float], high: Sequence[float], actions: int) -> TileLearner:
        return TileLearner(self, TileCoder(low, high, self.tiles, self.tilings), actions)


class TileLearner(eqx.Module):
    """An agent for one environment. Its memory is one table, tiles x actions x (Q, E)."""

    agent: LinearAgent
    coder: TileCoder
    actions: int = eqx.field(static=True)
    update_every: None = eqx.field(default=None, static=True)

    def __check_init__(self) -> None:
        coder = self.coder
        if coder.size > _MOST_TILES:
            size = f"{coder.size:.1e}" if coder.size < 1e300 else "countless"
            raise InvalidInput(
                f"{coder.tilings} tilings of {coder.tiles} tiles are {size} tiles; "
                f"allowed: up to {_MOST_TILES:.1e}, by fewer tiles a dimension"
            )

    @property
    def parameters(self) -> int:
        """The number of weights of each of the two approximators."""
        return self.coder.size * self.actions

    def initial(self, key: jax.Array) -> jax.Array:
        q = self.agent.initial_scale * jax.random.normal(key, (self.coder.size, self.actions))
        return q[..., None] if self.agent.e_values is None else jnp.stack([q, jnp.zeros_like(q)], axis=-1)

    def view(self, weights: jax.Array, observation: jax.Array) -> View:
        tiles = self.coder.active(observation)
        sums = jnp.sum(weights.at[tiles].get(mode="promise_in_bounds"), axis=0)
        values, form = sums[:, 0], self.agent.e_values
        outputs = jnp.zeros_like(values) if form is None else sums[:, 1]
        return View(tiles, values, outputs if form is None else form.count(outputs), outputs)

    def choose(self, view: View, steps: jax.Array, uniform: jax.Array) -> jax.Array:
        return self.agent.rule(view.values, view.counts, steps, uniform)

    def learned(self, weights: jax.Array, step: Transition, learns: jax.Array) -> jax.Array:
        """Weights after (s, a) has learned from (s', a'): those of its active tiles, nothing else."""
        pair = weights.at[step.features, step.action]
        now = jnp.sum(pair.get(mode="promise_in_bounds"), axis=0)
        target = step.reward + jnp.where(step.is_terminal, 0.0, self.agent.discount * jnp.max(step.next_view.values))
        form, changes = self.agent.e_values, []
        if form is not None:
            successor = step.next_view.outputs[step.next_action]
            error = form.error(now[1], successor, step.is_terminal)
            changes = [form.step_size * error]
            if self.agent.bonus is not None:
                # The bonus uses the count after this visit: before it, c may be 0 and the bonus infinite.
                target = target + self.agent.bonus(form.visited_count(now[1], error), form.learning_rate)
        change = jnp.stack([self.agent.learning_rate * (target - now[0]), *changes])
        # A matrix product, so that XLA works the share out once a lane; a plain division it would redo, with all that
        # leads to it, for every tile.
        shares = jnp.eye(len(change)) / self.coder.tilings
        share = jnp.matmul(jnp.where(learns, change, 0.0), shares, precision="highest")
        return pair.add(share, mode="promise_in_bounds", unique_indices=True)
