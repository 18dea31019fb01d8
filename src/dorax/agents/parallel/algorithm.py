"""Algorithm of a `ParallelAgent` in the engine."""

# JAX and Equinox: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

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
from dorax.agents.explorers.protocol import Explorer, Look, Visited
from dorax.agents.parallel import experience
from dorax.agents.parallel.experience import Replay, Sequences
from dorax.agents.parallel.targets import Rollout, lambda_returns, without_ends
from dorax.agents.value_network import Inputs, ValueNetwork
from dorax.agents.value_network import parameters as parameters_of
from dorax.core.rules import Sample
from dorax.core.schedules import at_step
from dorax.core.spreads import for_games, has_spread
from dorax.core.turns import actions_in_turns, greedy_actions
from dorax.engine.protocols import Step, View

if TYPE_CHECKING:
    from dorax.agents.parallel.agent import ParallelAgent


class Seen(NamedTuple):
    """Features of the games' observations.

    Attributes:
        x: input of the networks.
        looks: features of the explorers.
        own_values: values of each game's own head; None if all games act on the same values.
    """

    x: Any
    looks: tuple[Any, ...]
    own_values: Float[JaxArray, "games actions"] | None


class Row(NamedTuple):
    """One step of all games.

    Attributes:
        steps: what Q is learned from; see `Sequences`.
        next_x: observations that followed.
        next_action: actions that will be taken there.
        time: number of steps learned from so far.
        explorers: rows of the explorers.
    """

    steps: Sequences
    next_x: Any
    next_action: Int[JaxArray, " games"]
    time: Int[JaxArray, ""]
    explorers: tuple[Any, ...]


class Memory(NamedTuple):
    """Memory of a `ParallelAgent`.

    Attributes:
        network: weights of Q.
        opt_state: state of its optimizer.
        prior: weights of the fixed random networks of an ensemble; None without one.
        explorers: states of the explorers.
        replay: past rollouts; None if there is no replay.
    """

    network: Any
    opt_state: Any
    prior: Any
    explorers: tuple[Any, ...]
    replay: Replay | None


class ParallelAlgorithm(eqx.Module):
    """Algorithm of a `ParallelAgent`.

    Attributes:
        agent: the agent.
        explorers: what tells it where to explore.
        available: in a finite MDP, whether an action is available in a state.
        inputs: what the networks see.
        low: lowest observation, of other environments.
        high: highest observation.
        actions: number of actions.
        games: number of games.
        greedy_games: number of games that play greedily, the first ones.
    """

    agent: ParallelAgent
    explorers: tuple[Explorer[Any], ...]
    available: Bool[JaxArray, "states actions"] | None
    inputs: Inputs = eqx.field(static=True)
    low: tuple[float, ...] = eqx.field(static=True)
    high: tuple[float, ...] = eqx.field(static=True)
    actions: int = eqx.field(static=True)
    games: int = eqx.field(static=True)
    greedy_games: int = eqx.field(static=True)

    @property
    def every(self) -> int:
        return self.agent.rollout

    @property
    def sees_starts(self) -> bool:
        return True

    @property
    def parameters(self) -> int:
        """Number of weights of the network."""
        return parameters_of(self._network)

    def init(self, key: PRNGKeyArray) -> Memory:
        for_network, for_prior, *for_explorers = jax.random.split(key, 2 + len(self.explorers))
        network = self._network.init(for_network)
        prior = None if self.agent.heads is None else self._network.init(for_prior, last=1.0)
        states = tuple(one.init(key) for one, key in zip(self.explorers, for_explorers, strict=True))
        replay = None
        if self.agent.replay is not None:
            # With room for all games, also where one is played alone, so that a learner can do both.
            nothing = jax.eval_shape(self._sequences, self._blank_rows())
            replay = experience.empty(nothing, max(1, self.agent.replay // (self.agent.rollout * self.agent.games)))
        return Memory(network, adam_state(network), prior, states, replay)

    def view(self, memory: Memory, observation: Any) -> View:
        x = observation if self.available is not None else self._scaled(observation)
        sets = self._values(memory.network, memory.prior, x)
        heads = sets if self.agent.novelty_discount is None else sets[:, :-1]
        values = jnp.mean(heads, axis=1)
        own = None
        if self.agent.heads is not None:
            own = heads[jnp.arange(self.games), jnp.arange(self.games) % self.agent.heads]
        novelty = None if self.agent.novelty_discount is None else sets[:, -1]
        if self.available is not None:
            values = jnp.where(self.available[observation], values, -jnp.inf)
            own = None if own is None else jnp.where(self.available[observation], own, -jnp.inf)
        looks = [one.look(state, x) for one, state in zip(self.explorers, memory.explorers, strict=True)]
        counts = next((look.counts for look in looks if look.counts is not None), jnp.zeros_like(values))
        return View(Seen(x, tuple(look.features for look in looks), own), values, counts, counts, novelty)

    def act(self, view: View, steps: Int[JaxArray, ""], uniform: Float[JaxArray, " games"]) -> Int[JaxArray, " games"]:
        rule = for_games(at_step(self.agent.rule, steps), self.games, self.greedy_games)
        values = view.values if view.features.own_values is None else view.features.own_values
        values = values if view.novelty is None else values + view.novelty
        greedy = greedy_actions(view.values, uniform)
        is_greedy = jnp.arange(self.games) < self.greedy_games
        # `Sample` does not act by counts, so that nothing would come of turns.
        acts_by_counts = self._counting is not None and not isinstance(rule, Sample)
        if self._counting is not None and acts_by_counts and self.agent.takes_turns and self.games > 1:
            same = self._counting.are_same(view.features.looks[0])
            fixed = jnp.where(is_greedy, greedy, -1)
            alike = self.agent.heads is None and not has_spread(self.agent.rule)
            return actions_in_turns(rule, values, view.counts, steps, uniform, same, fixed, alike)
        numbers, structure = eqx.partition(rule, eqx.is_array)

        def chosen(numbers: Any, *args: Any) -> Any:
            return eqx.combine(numbers, structure)(*args)

        actions = jax.vmap(chosen, in_axes=(0, 0, 0, None, 0))(numbers, values, view.counts, steps, uniform)
        return jnp.where(is_greedy, greedy, actions).astype(jnp.int32)

    def observe(self, memory: Memory, step: Step) -> tuple[Memory, None, Row]:
        """Tell the explorers, and return what Q will learn from."""
        seen, arrived, is_over = step.features, step.next_view, step.terminated | step.truncated
        counts = None if self._counting is None else arrived.counts
        states, rows, bonus = [], [], jnp.zeros_like(step.reward)
        is_start = jnp.broadcast_to(step.is_start, step.learns.shape)
        for i, (explorer, state) in enumerate(zip(self.explorers, memory.explorers, strict=True)):
            visited = Visited(
                seen.x, seen.looks[i], step.action, arrived.features.x, Look(arrived.features.looks[i], counts),
                step.next_action, step.terminated, is_over, is_start, step.learns,
            )  # fmt: skip
            state, more, row = explorer.observe(state, visited)
            states.append(state)
            rows.append(row)
            bonus = bonus + more
        steps = Sequences(seen.x, step.action, step.reward, bonus, step.terminated, is_over, step.learns)
        row = Row(steps, arrived.features.x, step.next_action, step.steps, tuple(rows))
        return memory._replace(explorers=tuple(states)), None, row

    def update(self, memory: Memory, rows: Row, key: PRNGKeyArray, learns: Bool[JaxArray, ""]) -> Memory:
        """Learn Q from the rollout and from the replay; then the explorers learn."""
        agent, fresh = self.agent, self._sequences(rows)
        replay = memory.replay
        if replay is not None:
            replay = experience.added(replay, fresh, learns)
        rate = at_step(agent.learning_rate, rows.time[-1])

        def passed(state: tuple[Any, Any], key: PRNGKeyArray) -> tuple[tuple[Any, Any], None]:
            """Make one pass over the rollout, and over as many steps of the replay as it is to learn from."""
            for_sample, for_order = jax.random.split(key)
            sequences = fresh
            if replay is not None:
                drawn = experience.sample(replay, for_sample, agent.replayed * self.games)
                sequences = jax.tree.map(partial(_joined, axis=1), fresh, drawn)
            batch = self._with_targets(state[0], memory.prior, sequences)

            def learned(state: tuple[Any, Any], chosen: Int[JaxArray, " batch"]) -> tuple[tuple[Any, Any], None]:
                network, opt_state = state
                grads = jax.grad(self._loss)(network, memory.prior, jax.tree.map(partial(_rows, chosen), batch))
                return adam_step(network, grads, opt_state, rate, learns), None

            order = jax.random.permutation(for_order, len(batch.action)).reshape(self._minibatches, -1)
            return jax.lax.scan(learned, state, order)[0], None

        for_explorers, *for_passes = jax.random.split(key, 1 + agent.epochs)
        old = memory.network, memory.opt_state
        new = jax.lax.scan(passed, old, jnp.stack(for_passes))[0]
        network, opt_state = jax.tree.map(partial(jnp.where, learns), new, old)
        states = [
            one.update(state, row, jax.random.fold_in(for_explorers, i), learns)
            for i, (one, state, row) in enumerate(zip(self.explorers, memory.explorers, rows.explorers, strict=True))
        ]
        return Memory(network, opt_state, memory.prior, tuple(states), replay)

    def _with_targets(self, network: Any, prior: Any, steps: Sequences) -> Batch:
        """Compute the targets of all values at the current weights, and merge the axes over steps and games."""
        agent = self.agent
        flat_x = jax.tree.map(_flat, steps.x)
        sets = self._values(network, prior, flat_x).reshape(*steps.action.shape, -1, self.actions)
        if self.available is not None:
            sets = jnp.where(self.available[steps.x][:, :, None], sets, -jnp.inf)
        next_sets, next_action = sets[1:], steps.action[1:]
        taken = jnp.take_along_axis(next_sets, next_action[..., None, None], axis=-1)[..., 0]  # [steps, games, sets]
        best = jnp.max(next_sets, axis=-1)

        def returns(reward: Any, value: Any, goes_on: Any, discount: Any, ends: bool = True) -> Any:
            rollout = Rollout(reward, steps.terminated, steps.is_over, value, goes_on, steps.learns)
            return lambda_returns(rollout if ends else without_ends(rollout), discount, agent.trace)

        has_own = agent.novelty_discount is not None
        reward = steps.reward if has_own else steps.reward + steps.bonus
        over_heads = jax.vmap(returns, in_axes=(None, -1, -1, None), out_axes=-1)
        heads = slice(None, -1 if has_own else None)
        target = over_heads(reward, best[..., heads], (taken >= best)[..., heads], agent.discount)
        if has_own:
            novelty = returns(
                steps.bonus, taken[..., -1], jnp.ones_like(steps.is_over), agent.novelty_discount, ends=False
            )
            target = jnp.concatenate([target, novelty[..., None]], axis=-1)
        batch = Batch(jax.tree.map(lambda leaf: leaf[:-1], steps.x), steps.action[:-1], target, steps.learns)
        return jax.tree.map(_flat, batch)

    def _loss(self, network: Any, prior: Any, batch: Batch) -> Float[JaxArray, ""]:
        """Half the mean squared error of the values, summed over heads and the values of the bonus."""
        sets = self._values(network, prior, batch.x)
        taken = jnp.take_along_axis(sets, batch.action[:, None, None], axis=2)[..., 0]
        error = jnp.where(batch.learns[:, None], taken - batch.target, 0.0)
        return 0.5 * jnp.sum(error**2) / jnp.maximum(jnp.sum(batch.learns), 1)

    def _values(self, network: Any, prior: Any, x: Any) -> Float[JaxArray, "batch sets actions"]:
        """Compute the values of every head, followed by those of the bonus if it has any."""
        outputs = self._network.apply(network, x)
        if prior is not None:
            fixed = jax.lax.stop_gradient(self._network.apply(prior, x)).reshape(len(outputs), -1, self.actions)
            if self.agent.novelty_discount is not None:
                fixed = fixed.at[:, -1].set(0.0)
            return outputs.reshape(fixed.shape) + self.agent.prior_scale * fixed
        return outputs.reshape(len(outputs), -1, self.actions)

    @property
    def _network(self) -> ValueNetwork:
        sets = (self.agent.heads or 1) + (self.agent.novelty_discount is not None)
        return ValueNetwork(self.inputs, sets * self.actions, self.agent.width, self.agent.depth)

    @property
    def _minibatches(self) -> int:
        """Number of steps of Adam in a pass: the size of a minibatch does not depend on the replay."""
        return self.agent.minibatches * (1 if self.agent.replay is None else 1 + self.agent.replayed)

    @property
    def _counting(self) -> Explorer[Any] | None:
        """The explorer with counts, if there is one; it comes first."""
        return self.explorers[0] if self.agent.counter is not None else None

    def _sequences(self, rows: Row) -> Sequences:
        """Append what followed the last step to a rollout."""
        joined = partial(_joined, axis=0)
        last_x, last_action = jax.tree.map(lambda leaf: leaf[-1:], (rows.next_x, rows.next_action))
        x = jax.tree.map(joined, rows.steps.x, last_x)
        return rows.steps._replace(x=x, action=joined(rows.steps.action, last_action))

    def _blank_rows(self) -> Row:
        shape = (self.agent.rollout, self.agent.games)
        flags, numbers, whole = jnp.zeros(shape, bool), jnp.zeros(shape), jnp.zeros(shape, jnp.int32)
        x = whole if self.available is not None else jnp.zeros((*shape, self.inputs.size))
        steps = Sequences(x, whole, numbers, numbers, flags, flags, flags)
        return Row(steps, x, whole, whole[:, 0], ())

    def _scaled(self, observation: Float[JaxArray, "games dims"]) -> Float[JaxArray, "games dims"]:
        """Scale bounded vectors to [-1, 1] and bounded pictures, which are 0 in most places, to [0, 1]; unbounded
        observations are unchanged."""
        is_bounded = np.isfinite(self.low) & np.isfinite(self.high) & (np.asarray(self.low) < self.high)
        if self.inputs.shape is not None:
            low, high = np.where(is_bounded, self.low, 0.0), np.where(is_bounded, self.high, 1.0)
            return (observation - low) / (high - low)
        low, high = np.where(is_bounded, self.low, -1.0), np.where(is_bounded, self.high, 1.0)
        return (observation - (low + high) / 2) / ((high - low) / 2)


class Batch(NamedTuple):
    """Steps with their targets.

    Attributes:
        x: inputs of the network.
        action: actions taken.
        target: targets of the heads, followed by that of the values of the bonus if it has any.
        learns: whether to learn from the step.
    """

    x: Any
    action: Int[JaxArray, " batch"]
    target: Float[JaxArray, "batch sets"]
    learns: Bool[JaxArray, " batch"]


def _flat(leaf: JaxArray) -> JaxArray:
    """Merge the axes over steps and games."""
    return leaf.reshape(-1, *leaf.shape[2:])


def _joined(first: JaxArray, second: JaxArray, axis: int) -> JaxArray:
    return jnp.concatenate([first, second], axis=axis)


def _rows(chosen: Int[JaxArray, " batch"], leaf: JaxArray) -> JaxArray:
    return leaf[chosen]
