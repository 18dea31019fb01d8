"""Algorithm of an `AtariAgent`: DQN's updates from a replay of frames on the device."""

# JAX, Equinox and Optax: typed in part only.
# pyright: reportMissingTypeStubs=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt8, UInt32

from dorax.agents.atari import replay
from dorax.agents.atari.agent import AtariAgent
from dorax.agents.atari.density import DensityModel, DensityState
from dorax.agents.atari.network import Network, Outputs, new_network, outputs
from dorax.agents.atari.replay import Outcome, ReplayBuffer, Transitions
from dorax.agents.losses import surrogate, taken
from dorax.core.policies import EpsilonGreedy
from dorax.core.schedules import at_step
from dorax.core.targets import q_target
from dorax.engine.protocols import Step, View

Stacks = UInt8[Array, "games 4 7056"]


class TrainState(NamedTuple):
    """Networks and optimizer state. For a learner that only acts, all but the actor and `updates` are None.

    Attributes:
        network: network that learns.
        target: target network.
        actor: copy of the network that chooses actions.
        opt_state: state of the optimizer.
        updates: number of updates so far.
    """

    network: Network | None
    target: Network | None
    actor: Network
    opt_state: Any
    updates: Int[Array, ""]


class Metrics(NamedTuple):
    """Sums since the last record.

    Attributes:
        bonus: sum of bonuses.
        bonus_spread: sum over steps of the standard deviation of the bonus over the games of a turn.
        counted: sum of the counts of visited pairs or frames.
        steps: number of steps.
        q_loss: sum of the mean squared errors of Q.
        e_loss: sum of the mean squared errors of the counter.
        updates: number of updates.
    """

    bonus: Float[Array, ""]
    bonus_spread: Float[Array, ""]
    counted: Float[Array, ""]
    steps: Float[Array, ""]
    q_loss: Float[Array, ""]
    e_loss: Float[Array, ""]
    updates: Float[Array, ""]


class Memory(NamedTuple):
    """Memory of an `AtariAgent`.

    Attributes:
        networks: networks and optimizer state.
        replay: past steps. It is large, so a learner that only acts has None.
        density: state of the density model, if it is the counter.
        metrics: sums since the last record.
        key_data: random key from which batches are drawn.
    """

    networks: TrainState
    replay: ReplayBuffer | None
    density: DensityState | None
    metrics: Metrics
    key_data: UInt32[Array, " words"]


class ScreenAlgorithm(eqx.Module):
    """Algorithm of an `AtariAgent` in one game. `games` is the size of a group; groups take turns in a fixed order.

    Attributes:
        agent: the agent.
        counter: its counter in the form for function approximators; None for a density model or no counts.
        actions: number of actions.
    """

    agent: AtariAgent
    counter: Any
    actions: int = eqx.field(static=True)

    @property
    def games(self) -> int:
        return self.agent.games // self.agent.groups

    @property
    def groups(self) -> int:
        return self.agent.groups

    @property
    def every(self) -> int:
        """Turns between calls of `update`."""
        return max(1, self.agent.update_every // self.games)

    @property
    def updates(self) -> int:
        """Updates per call of `update`."""
        return max(1, self.games // self.agent.update_every)

    @property
    def warm_up(self) -> int:
        """Steps in the replay before the first update."""
        return max(self.agent.learning_starts, 2 * self.agent.games)

    def init(self, key: PRNGKeyArray) -> Memory:
        memory = self.without_replay(key)
        return memory._replace(replay=self.new_replay())

    def without_replay(self, key: PRNGKeyArray) -> Memory:
        """Return the memory of a new learner, without a replay.

        Args:
            key: random key.
        """
        network = new_network(jax.random.fold_in(key, 0), self.actions, self.agent.hidden, self.counter is not None)
        target, actor = (jax.tree.map(jnp.copy, network) for _ in range(2))
        params: Any = network  # optax accepts any tree, but its type annotations do not say so
        opt_state = self._optimizer().init(params)
        networks = TrainState(network, target, actor, opt_state, jnp.zeros((), jnp.int32))
        density = self.agent.counter.init() if isinstance(self.agent.counter, DensityModel) else None
        # Batches are drawn from the memory's own key, so that a run does not depend on how updates are grouped.
        return Memory(networks, None, density, _no_metrics(), jax.random.key_data(jax.random.fold_in(key, 2)))

    def new_replay(self) -> ReplayBuffer:
        """Return an empty replay."""
        return replay.empty(self.agent.capacity // self.agent.games, self.agent.games, self.agent.groups)

    def view(self, memory: Memory, observation: Stacks) -> View:
        out = outputs(memory.networks.actor, observation)
        counts = jnp.zeros_like(out.counter) if self.counter is None else self.counter.count(out.counter)
        return View(observation, out.values, counts, out.counter)

    def act(self, view: View, steps: Int[Array, ""], uniform: Float[Array, " games"]) -> Int[Array, " games"]:
        rule = at_step(self.agent.rule, steps)
        return jax.vmap(rule, in_axes=(0, 0, None, 0))(view.values, view.counts, steps, uniform)

    def observe(self, memory: Memory, step: Step) -> tuple[Memory, None, None]:
        """Store the outcome of the last row of the replay, and start the next row."""
        buffer, model = memory.replay, memory.density
        assert buffer is not None
        frames: UInt8[Array, "games 7056"] = step.next_view.features[:, -1]
        counts = taken(step.next_view.counts, step.next_action)
        if model is not None:
            model, counts = self.agent.counter.seen(model, frames)
        bonuses = self._bonus(counts, step.steps)
        group = jnp.sum(buffer.begun) % self.groups
        buffer = replay.with_outcome(buffer, group, Outcome(step.reward, step.terminated, step.learns))
        buffer = replay.with_row(buffer, group, frames, step.is_start, step.next_action, bonuses)
        sums = memory.metrics
        metrics = sums._replace(
            bonus=sums.bonus + jnp.sum(bonuses),
            bonus_spread=sums.bonus_spread + jnp.std(bonuses) * bonuses.shape[0],
            counted=sums.counted + jnp.sum(counts),
            steps=sums.steps + bonuses.shape[0],
        )
        return memory._replace(replay=buffer, density=model, metrics=metrics), None, None

    def with_action(self, memory: Memory, view: View, action: Int[Array, " games"], steps: Int[Array, ""]) -> Memory:
        """Replace the action of the newest row of the replay, if another one than the chosen one was taken.

        Args:
            memory: memory with a replay of a single group.
            view: view of the observation in which the action was taken.
            action: action taken.
            steps: number of steps so far.

        Returns:
            The new memory.
        """
        buffer = memory.replay
        assert buffer is not None
        at = (buffer.begun[0] - 1) % buffer.actions.shape[0]
        buffer = buffer._replace(actions=buffer.actions.at[at].set(action.astype(jnp.uint8)))
        if self.counter is not None:  # a density model's bonus is the same for all actions
            buffer = buffer._replace(bonuses=buffer.bonuses.at[at].set(self._bonus(taken(view.counts, action), steps)))
        return memory._replace(replay=buffer)

    def update(self, memory: Memory, rows: Any, key: PRNGKeyArray, learns: Bool[Array, ""]) -> Memory:
        """Run `updates` updates. The target network stays the same, so it evaluates all successors at once."""
        del rows  # the key is not used either: batches are drawn from the memory's own
        now, number, batch = memory.networks, self.updates, self.agent.batch
        buffer, first, target = memory.replay, now.network, now.target
        assert buffer is not None
        assert first is not None
        assert target is not None
        key = jax.random.wrap_key_data(memory.key_data)
        keys = jax.vmap(jax.random.fold_in, in_axes=(None, 0))(key, now.updates + jnp.arange(number))
        steps = replay.sample(buffer, jax.vmap(lambda each: jax.random.bits(each, (2, batch)))(keys))
        successors = outputs(target, steps.next_stacks)
        by_update = jax.tree.map(lambda leaf: leaf.reshape(number, batch, *leaf.shape[1:]), (steps, successors))

        def update(
            carry: tuple[Network, Any], drawn: tuple[Transitions, Outputs]
        ) -> tuple[tuple[Network, Any], tuple[Float[Array, ""], Float[Array, ""]]]:
            network, opt_state = carry
            grads, losses = jax.grad(self._loss, has_aux=True)(network, *drawn)
            change, opt_state = self._optimizer().update(grads, opt_state)
            return (jax.tree.map(jnp.add, network, change), opt_state), losses

        scan = _unrolled_scan if jax.default_backend() == "cpu" else jax.lax.scan
        (network, opt_state), losses = scan(update, (first, now.opt_state), by_update)
        total = now.updates + number

        def renewed(copy: Network, every: int) -> Network:
            is_due = total // every > now.updates // every
            return jax.tree.map(lambda old, new: jnp.where(is_due, new, old), copy, network)

        target, actor = renewed(target, self.agent.target_every), renewed(now.actor, self.agent.actor_every)
        after = TrainState(network, target, actor, opt_state, total)
        q_loss, e_loss = (jnp.sum(loss) for loss in losses)
        sums = memory.metrics
        counted = sums._replace(q_loss=sums.q_loss + q_loss, e_loss=sums.e_loss + e_loss, updates=sums.updates + number)
        select = partial(jax.tree.map, partial(jnp.where, learns))
        return memory._replace(networks=select(after, now), metrics=select(counted, sums))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of `metrics`."""
        return ("updates", "epsilon", "bonus", "bonus_spread", "count", "q_loss", "e_loss")

    def metrics(self, memory: Memory, steps: int) -> tuple[float, ...]:
        """Compute means since the last record, over steps and over updates. `cleared` resets them.

        Args:
            memory: the memory.
            steps: number of steps so far.

        Returns:
            One number for each of `columns`.
        """
        sums = jax.device_get(memory.metrics)
        seen, updates = max(1.0, float(sums.steps)), max(1.0, float(sums.updates))
        policy = getattr(at_step(self.agent.rule, steps), "policy", None)
        epsilon = float(policy.epsilon) if isinstance(policy, EpsilonGreedy) else float("nan")
        return (
            int(memory.networks.updates), epsilon,
            *(float(total) / seen for total in (sums.bonus, sums.bonus_spread, sums.counted)),
            *(float(total) / updates for total in (sums.q_loss, sums.e_loss)),
        )  # fmt: skip

    def cleared(self, memory: Memory) -> Memory:
        """Reset the metrics of a memory.

        Args:
            memory: the memory.

        Returns:
            The memory with metrics 0.
        """
        return memory._replace(metrics=_no_metrics())

    def frozen(self, memory: Memory) -> Memory:
        """Return a small memory that acts with the current network but cannot learn.

        Args:
            memory: the memory.
        """
        network, updates = memory.networks.network, memory.networks.updates
        assert network is not None
        player = TrainState(None, None, network, None, updates)
        # Copies, because the memory itself is donated to the next turn.
        return jax.tree.map(jnp.copy, Memory(player, None, None, _no_metrics(), memory.key_data))

    def _loss(
        self, network: Network, steps: Transitions, successors: Outputs
    ) -> tuple[Float[Array, ""], tuple[Float[Array, ""], Float[Array, ""]]]:
        """Compute squared errors of Q and the counter. Errors are clipped to ±√clip, so that they keep a gradient."""
        agent, out = self.agent, outputs(network, steps.stacks)
        reward, terminated, is_step = steps.outcome
        bonuses = steps.bonuses
        value, output = taken(out.values, steps.actions), taken(out.counter, steps.actions)
        if agent.bonus_at == "replay" and self.counter is not None:
            bonuses = self._bonus(jax.lax.stop_gradient(self.counter.count(output)), 0)  # which follows no schedule
        best = jnp.max(successors.values, axis=1)
        q_error = q_target(jnp.clip(reward + bonuses, -1, 1), terminated, best, agent.discount) - value
        e_error = jnp.zeros_like(q_error)
        if self.counter is not None:
            e_error = self.counter.error(output, taken(successors.counter, steps.next_actions), terminated)
        most = agent.clip**0.5
        q_error, e_error = (jnp.clip(jnp.where(is_step, error, 0), -most, most) for error in (q_error, e_error))
        loss = 2 * (surrogate(value, q_error) + surrogate(output, e_error))
        return loss, (jnp.mean(q_error**2), jnp.mean(e_error**2))

    def _bonus(self, counts: Float[Array, " games"], steps: Int[Array, ""] | int) -> Float[Array, " games"]:
        """Compute the bonus of visits after so many steps.

        The count after this visit depends on the successor, which is not known yet. In the count form the visit is
        counted as a plain one; in the logistic form E starts at 1/2, which is one visit already.
        """
        if self.agent.bonus is None:
            return jnp.zeros_like(counts)
        bonus = at_step(self.agent.bonus, steps)
        if self.counter is None:
            return bonus(counts, 0.5)
        counts = counts + 1 if self.counter.form == "count" else counts
        return bonus(counts, self.counter.rate())

    def _optimizer(self) -> Any:
        agent = self.agent
        adam = optax.adam(agent.learning_rate, eps=agent.adam_epsilon)
        return optax.chain(optax.clip_by_global_norm(agent.clip), adam)


def _no_metrics() -> Metrics:
    return Metrics(*(jnp.zeros(()) for _ in Metrics._fields))


def _unrolled_scan(function: Callable[[Any, Any], tuple[Any, Any]], carry: Any, inputs: Any) -> tuple[Any, Any]:
    """Do what `jax.lax.scan` does without a loop: on a CPU, XLA's convolutions are ten times slower inside one."""
    results: list[Any] = []
    for i in range(jax.tree.leaves(inputs)[0].shape[0]):
        carry, result = function(carry, jax.tree.map(lambda leaf, i=i: leaf[i], inputs))
        results.append(result)
    return carry, jax.tree.map(lambda *leaves: jnp.stack(leaves), *results)
