"""Agents with two small networks, one for Q and one for E."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dorax.core.arrays import Array
from dorax.core.checks import InvalidInput, check_at_least, check_discount
from dorax.core.forms import check_parts
from dorax.deep import losses
from dorax.deep.replay import Replay, Step, added, empty, sample
from dorax.lanes.blocks import BLOCK
from dorax.lanes.episodes import Transition, View
from dorax.lanes.running import check_whole


class DeepAgent(eqx.Module):
    """How to act and how to learn, by two separate networks. Its numbers may be swept; see `dorax.train`.

    Q is learned from replay by Adam against a target network. E, of the form `e_values`,
    is learned either from the `"visits"` themselves, each once, by a step that moves the
    output there by `step_size` of its error; or from `"replay"`, by Adam at Q's rate, where
    `step_size` has no meaning.
    """

    rule: Any
    e_values: Any = None
    bonus: Any = None
    learning_rate: Array = 1e-3
    discount: Array = 0.99
    learns_e_from: Literal["visits", "replay"] = eqx.field(default="visits", static=True)
    width: int = eqx.field(default=64, static=True)
    depth: int = eqx.field(default=2, static=True)
    batch: int = eqx.field(default=32, static=True)
    capacity: int = eqx.field(default=50_000, static=True)
    update_every: int = eqx.field(default=4, static=True)
    target_every: int = eqx.field(default=250, static=True)

    def __check_init__(self) -> None:
        check_at_least("learning_rate", self.learning_rate, 0)
        check_discount("discount", self.discount)
        check_parts(self.rule, self.e_values, self.bonus)
        if self.learns_e_from not in ("visits", "replay"):
            raise InvalidInput(f"learns_e_from is {self.learns_e_from!r}; allowed: 'visits', 'replay'")
        for name in ("width", "depth", "batch", "capacity", "update_every", "target_every"):
            check_whole(name, getattr(self, name))
        if BLOCK % self.update_every:
            raise InvalidInput(f"update_every is {self.update_every}; allowed: a divisor of {BLOCK}")

    def learner(self, low: Sequence[float], high: Sequence[float], actions: int) -> NetworkLearner:
        return NetworkLearner(self, tuple(low), tuple(high), actions, self.update_every)


class Changing(NamedTuple):
    """The networks, as bare arrays, with their targets and optimisers."""

    q: Any
    q_target: Any
    q_moments: Any
    e: Any
    e_target: Any
    e_moments: Any
    updates: jax.Array


class Memory(NamedTuple):
    changing: Changing
    replay: Replay


class NetworkLearner(eqx.Module):
    """An agent for one environment."""

    agent: DeepAgent
    low: tuple[float, ...] = eqx.field(static=True)
    high: tuple[float, ...] = eqx.field(static=True)
    actions: int = eqx.field(static=True)
    update_every: int = eqx.field(static=True)

    @property
    def parameters(self) -> int:
        """The number of weights of each of the two networks."""
        return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(self._shape(), _is_shape)))

    def initial(self, key: jax.Array) -> Memory:
        q, e = self._weights(key)
        e = _zero_last_layer(e)
        zero = jnp.zeros((), jnp.int32)
        nothing = Step(jnp.zeros(len(self.low)), zero, jnp.zeros(()), zero > 0, jnp.zeros(len(self.low)), zero)
        changing = Changing(q, q, _adam().init(q), e, e, _adam().init(e), zero)
        return Memory(changing, empty(nothing, self.agent.capacity))

    def view(self, memory: Memory, observation: jax.Array) -> View:
        x = self._scaled(observation)
        values = self._applied(memory.changing.q, x)
        form = self.agent.e_values
        outputs = jnp.zeros_like(values) if form is None else self._applied(memory.changing.e, x)
        return View(x, values, outputs if form is None else form.count(outputs), outputs)

    def choose(self, view: View, steps: jax.Array, uniform: jax.Array) -> jax.Array:
        return self.agent.rule(view.values, view.counts, steps, uniform)

    def learned(self, memory: Memory, step: Transition, learns: jax.Array) -> Memory:
        """With the step in the replay, and counted if visits are what E is learned from."""
        agent, form, e = self.agent, self.agent.e_values, memory.changing.e
        reward = step.reward
        if form is not None:
            outputs, gradient_of = jax.vjp(lambda e: self._applied(e, step.features), e)
            output = outputs[step.action]
            successor = step.next_view.outputs[step.next_action]
            error = form.error(output, successor, step.is_terminal)
            if agent.learns_e_from == "visits":
                (slope,) = gradient_of(jax.nn.one_hot(step.action, self.actions))
                size = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(slope))
                stride = jnp.where(learns, form.step_size * error / size, 0.0)
                e = jax.tree.map(lambda weight, leaf: weight + stride * leaf, e, slope)
            if agent.bonus is not None:
                reward = reward + agent.bonus(form.visited_count(output, error), form.learning_rate)
        kept = Step(step.features, step.action, reward, step.is_terminal, step.next_view.features, step.next_action)
        return Memory(memory.changing._replace(e=e), added(memory.replay, kept, learns))

    def improved(self, memory: Memory, key: jax.Array, learns: jax.Array) -> Changing:
        """One step of Adam on a batch from the replay, once there is a batch; none in tests."""
        agent, now = self.agent, memory.changing
        batch = sample(memory.replay, key, agent.batch)
        apply = jax.vmap(self._applied, in_axes=(None, 0))
        target = losses.q_target(
            batch.reward, batch.is_terminal, apply(now.q_target, batch.next_observation), agent.discount
        )
        slope = jax.grad(lambda q: losses.q_loss(apply(q, batch.observation), batch.action, target))(now.q)
        q, q_moments = self._stepped(now.q, slope, now.q_moments)
        e, e_moments = now.e, now.e_moments
        if agent.e_values is not None and agent.learns_e_from == "replay":
            successor = apply(now.e_target, batch.next_observation)
            successor = jnp.take_along_axis(successor, batch.next_action[:, None], axis=1)[:, 0]
            slope = jax.grad(
                lambda e: losses.e_loss(
                    agent.e_values, apply(e, batch.observation), batch.action, successor, batch.is_terminal
                )
            )(now.e)
            e, e_moments = self._stepped(now.e, slope, now.e_moments)
        updates = now.updates + 1
        is_due = updates % agent.target_every == 0
        latest = lambda old, new: jax.tree.map(lambda a, b: jnp.where(is_due, b, a), old, new)  # noqa: E731
        improved = Changing(q, latest(now.q_target, q), q_moments, e, latest(now.e_target, e), e_moments, updates)
        is_ready = learns & (memory.replay.added >= agent.batch)
        return jax.tree.map(lambda old, new: jnp.where(is_ready, new, old), now, improved)

    def _stepped(self, weights: Any, slope: Any, moments: Any) -> tuple[Any, Any]:
        direction, moments = _adam().update(slope, moments)
        return jax.tree.map(lambda w, d: w - self.agent.learning_rate * d, weights, direction), moments

    def _shape(self) -> eqx.nn.MLP:
        """The network, with shapes in place of weights."""
        sizes = len(self.low), self.actions, self.agent.width, self.agent.depth
        return eqx.filter_eval_shape(lambda key: eqx.nn.MLP(*sizes, key=key), jax.random.key(0))

    def _weights(self, key: jax.Array) -> tuple[Any, Any]:
        """Weights of two networks, even within 1/sqrt(inputs) as is usual; from one draw, which compiles in no time."""
        shapes, structure = jax.tree.flatten(eqx.filter(self._shape(), _is_shape))
        inputs = [layer.in_features for layer in self._shape().layers for _ in ("weight", "bias")]
        ends = np.cumsum([shape.size for shape in shapes])
        draws = jnp.split(jax.random.uniform(key, (2, ends[-1]), minval=-1.0), ends[:-1], axis=1)
        leaves = [
            draw.reshape(2, *shape.shape) / np.sqrt(n) for draw, shape, n in zip(draws, shapes, inputs, strict=True)
        ]
        q, e = (jax.tree.unflatten(structure, [leaf[i] for leaf in leaves]) for i in range(2))
        return q, e

    def _applied(self, weights: Any, x: jax.Array) -> jax.Array:
        return eqx.combine(weights, eqx.filter(self._shape(), _is_shape, inverse=True))(x)

    def _scaled(self, observation: jax.Array) -> jax.Array:
        """Bounded observations from -1 to 1; where there is no bound, as they are."""
        is_bounded = np.isfinite(self.low) & np.isfinite(self.high)
        low, high = np.where(is_bounded, self.low, -1.0), np.where(is_bounded, self.high, 1.0)
        return (observation - (low + high) / 2) / ((high - low) / 2)


def _adam() -> Any:
    import optax

    return optax.scale_by_adam()


def _zero_last_layer(network: Any) -> Any:
    """Before any visit every output is 0."""
    last = lambda network: (network.layers[-1].weight, network.layers[-1].bias)  # noqa: E731
    return eqx.tree_at(last, network, replace_fn=jnp.zeros_like)


def _is_shape(leaf: Any) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct)
