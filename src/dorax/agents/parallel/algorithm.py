"""Algorithm of a `ParallelAgent` in the engine."""

# JAX and Equinox: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array as JaxArray
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from dorax.agents.adam import adam_state, adam_step
from dorax.agents.parallel.counting import Tables, Visited, are_same, counted, counts_of
from dorax.agents.parallel.networks import ValueNetwork
from dorax.agents.parallel.targets import Rollout, lambda_returns
from dorax.core.schedules import at_step
from dorax.core.turns import actions_in_turns, greedy_actions
from dorax.engine.protocols import Step, View
from dorax.features.codes import Code, Encoder

if TYPE_CHECKING:
    from dorax.agents.parallel.agent import ParallelAgent


class Seen(NamedTuple):
    """Features of the games' observations.

    Attributes:
        x: input of the network.
        code: entries of the count tables; None without a counter.
    """

    x: Any
    code: Code | None


class Row(NamedTuple):
    """One step of all games, to learn Q from.

    Attributes:
        x: input of the network.
        action: action taken.
        rollout: what the targets of Q depend on.
        novelty: the same for the values of the bonus, if it has any.
        steps: number of steps learned from so far.
    """

    x: Any
    action: Int[JaxArray, " games"]
    rollout: Rollout
    novelty: Rollout | None
    steps: Int[JaxArray, ""]


class Batch(NamedTuple):
    """Steps to learn from.

    Attributes:
        x: inputs of the network.
        action: actions taken.
        target: target of Q, followed by that of the values of the bonus if it has any.
        learns: whether to learn from the step.
    """

    x: Any
    action: Int[JaxArray, " batch"]
    target: Float[JaxArray, "batch values"]
    learns: Bool[JaxArray, " batch"]


class Memory(NamedTuple):
    """Memory of a `ParallelAgent`.

    Attributes:
        network: weights of Q.
        opt_state: state of its optimizer.
        counts: count tables; None without a counter.
        book: what the counter's encoder has learned.
    """

    network: Any
    opt_state: Any
    counts: Tables | None
    book: Any


class ParallelAlgorithm(eqx.Module):
    """Algorithm of a `ParallelAgent`.

    Attributes:
        agent: the agent.
        encoder: tells states apart for the counter; None without a counter.
        available: in a finite MDP, whether an action is available in a state.
        low: lowest observation of other environments.
        high: highest observation of other environments.
        actions: number of actions.
        games: number of games.
        greedy_games: number of games that play greedily, the first ones.
    """

    agent: ParallelAgent
    encoder: Encoder[Any] | None
    available: Bool[JaxArray, "states actions"] | None
    low: tuple[float, ...] = eqx.field(static=True)
    high: tuple[float, ...] = eqx.field(static=True)
    actions: int = eqx.field(static=True)
    games: int = eqx.field(static=True)
    greedy_games: int = eqx.field(static=True)

    @property
    def every(self) -> int:
        return self.agent.rollout

    def init(self, key: PRNGKeyArray) -> Memory:
        for_network, for_codes = jax.random.split(key)
        network = self._network.init(for_network)
        counts = book = None
        if self.encoder is not None:
            counts = jnp.zeros((self.encoder.tables, self.encoder.entries, self.actions))
            book = self.encoder.init(for_codes)
        return Memory(network, adam_state(network), counts, book)

    def view(self, memory: Memory, observation: Any) -> View:
        x = observation if self.available is not None else self._scaled(observation)
        outputs = self._network.apply(memory.network, x)
        values, novelty = outputs[:, : self.actions], None
        if self.available is not None:
            values = jnp.where(self.available[observation], values, -jnp.inf)
        if self.agent.novelty_discount is not None:
            novelty = outputs[:, self.actions :]
        if self.encoder is None or memory.counts is None:
            nothing = jnp.zeros_like(values)
            return View(Seen(x, None), values, nothing, nothing, novelty)
        code = self.encoder.encode(memory.book, x)
        counts = counts_of(memory.counts, code.entries)
        return View(Seen(x, code), values, counts, counts, novelty)

    def act(self, view: View, steps: Int[JaxArray, ""], uniform: Float[JaxArray, " games"]) -> Int[JaxArray, " games"]:
        rule, code = at_step(self.agent.rule, steps), view.features.code
        values = view.values if view.novelty is None else view.values + view.novelty
        is_greedy = jnp.arange(self.games) < self.greedy_games
        greedy = greedy_actions(view.values, uniform)
        if code is not None and self.agent.takes_turns and self.games > 1:
            same = are_same(code.entries)
            return actions_in_turns(rule, values, view.counts, steps, uniform, same, jnp.where(is_greedy, greedy, -1))
        chosen = jax.vmap(rule, in_axes=(0, 0, None, 0))(values, view.counts, steps, uniform)
        return jnp.where(is_greedy, greedy, chosen).astype(jnp.int32)

    def observe(self, memory: Memory, step: Step) -> tuple[Memory, None, Row]:
        """Count the visits, and return what Q will learn from."""
        seen, arrived, learns = step.features, step.next_view, step.learns
        bonus = jnp.zeros_like(step.reward)
        if self.encoder is not None and self.agent.counter is not None and memory.counts is not None:
            counter, codes = self.agent.counter, self.encoder
            successor = jnp.take_along_axis(arrived.counts, step.next_action[:, None], axis=1)[:, 0]
            successor = jnp.where(step.terminated, jnp.inf, successor)
            entries = codes.current(memory.book, seen.code)
            counts, count = counted(counter, memory.counts, Visited(entries, step.action, learns, successor))
            book = codes.visited(memory.book, arrived.features.code, arrived.features.x, learns | step.is_start)
            memory = memory._replace(counts=counts, book=book)
            if self.agent.bonus is not None:
                bonus = self.agent.bonus(count, counter.rate())
        is_over = step.terminated | step.truncated
        has_own_values = arrived.novelty is not None
        best = jnp.max(arrived.values, axis=1)
        taken = jnp.take_along_axis(arrived.values, step.next_action[:, None], axis=1)[:, 0]
        reward = step.reward if has_own_values else step.reward + bonus
        rollout = Rollout(reward, step.terminated, is_over, best, taken >= best, learns)
        novelty = None
        if arrived.novelty is not None:
            ahead = jnp.take_along_axis(arrived.novelty, step.next_action[:, None], axis=1)[:, 0]
            novelty = Rollout(bonus, jnp.zeros_like(is_over), is_over, ahead, jnp.ones_like(is_over), learns)
        return memory, None, Row(seen.x, step.action, rollout, novelty, step.steps)

    def update(self, memory: Memory, rows: Row, key: PRNGKeyArray, learns: Bool[JaxArray, ""]) -> Memory:
        """Learn Q from the rollout, and make room for counts."""
        agent = self.agent
        targets = [lambda_returns(rows.rollout, agent.discount, agent.trace)]
        if rows.novelty is not None and agent.novelty_discount is not None:
            targets.append(lambda_returns(_without_ends(rows.novelty), agent.novelty_discount, agent.trace))
        batch = Batch(rows.x, rows.action, jnp.stack(targets, axis=-1), rows.rollout.learns)
        batch = jax.tree.map(_flat, batch)
        rate = at_step(agent.learning_rate, rows.steps[-1])

        def learned(state: tuple[Any, Any], chosen: Int[JaxArray, " batch"]) -> tuple[tuple[Any, Any], None]:
            network, opt_state = state
            grads = jax.grad(self._loss)(network, jax.tree.map(partial(_rows, chosen), batch))
            return adam_step(network, grads, opt_state, rate, learns), None

        order = [jax.random.permutation(one, len(batch.action)) for one in jax.random.split(key, agent.epochs)]
        chosen = jnp.stack(order).reshape(agent.epochs * agent.minibatches, -1)
        old = memory.network, memory.opt_state
        network, opt_state = _where(learns, jax.lax.scan(learned, old, chosen)[0], old)
        counts, book = memory.counts, memory.book
        if self.encoder is not None and counts is not None:
            book, counts = self.encoder.tidied(book, counts, learns)
        return Memory(network, opt_state, counts, book)

    def _loss(self, network: Any, batch: Batch) -> Float[JaxArray, ""]:
        """Half the mean squared error of Q, and of the values of the bonus if it has any."""
        outputs = self._network.apply(network, batch.x).reshape(len(batch.action), -1, self.actions)
        taken = jnp.take_along_axis(outputs, batch.action[:, None, None], axis=2)[..., 0]
        error = jnp.where(batch.learns[:, None], taken - batch.target, 0.0)
        return 0.5 * jnp.sum(error**2) / jnp.maximum(jnp.sum(batch.learns), 1)

    @property
    def _network(self) -> ValueNetwork:
        inputs = len(self.low) if self.available is None else self.available.shape[0]
        outputs = self.actions * (1 if self.agent.novelty_discount is None else 2)
        return ValueNetwork(inputs, self.available is not None, outputs, self.agent.width, self.agent.depth)

    def _scaled(self, observation: Float[JaxArray, "games dims"]) -> Float[JaxArray, "games dims"]:
        """Scale bounded observations to [-1, 1]; unbounded ones are unchanged."""
        is_bounded = np.isfinite(self.low) & np.isfinite(self.high)
        low, high = np.where(is_bounded, self.low, -1.0), np.where(is_bounded, self.high, 1.0)
        return (observation - (low + high) / 2) / ((high - low) / 2)


def _without_ends(rows: Rollout) -> Rollout:
    """Let returns go on in the next episode: the state after the end of one is the start of the next."""
    following = jnp.concatenate([rows.next_value[1:], rows.next_value[-1:]])
    return rows._replace(
        is_over=jnp.zeros_like(rows.is_over), next_value=jnp.where(rows.is_over, following, rows.next_value)
    )


def _flat(leaf: JaxArray) -> JaxArray:
    """Merge the axes over steps and games."""
    return leaf.reshape(-1, *leaf.shape[2:])


def _rows(chosen: Int[JaxArray, " batch"], leaf: JaxArray) -> JaxArray:
    return leaf[chosen]


def _where(condition: Bool[JaxArray, ""], chosen: Any, otherwise: Any) -> Any:
    """Select one of two trees of arrays."""

    def selected(new: JaxArray, old: JaxArray) -> JaxArray:
        return jnp.where(condition, new, old)

    return jax.tree.map(selected, chosen, otherwise)
