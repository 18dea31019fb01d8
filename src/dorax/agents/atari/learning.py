"""What runs on the device: seeing and acting once for all games, and learning from replay.

    act     the newest frames of a group of games come in, actions go out; one row more of replay
    learn   some updates of the network

Both are pure. They are queued one after the other while the emulator works.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from dorax.agents.atari import density, replay
from dorax.agents.atari.agent import PixelAgent
from dorax.agents.atari.network import PIXELS, STACK, Network, Outputs, in_blocks, new_network, outputs
from dorax.agents.atari.replay import Outcome, ReplayBuffer, Steps
from dorax.agents.losses import surrogate, taken
from dorax.core.policies import EpsilonGreedy
from dorax.core.rules import LLL, Sample
from dorax.core.targets import q_target

BONUS_FLOOR = 0.01  # under the root of a bonus, as Bellemare et al. (2016) and the authors have it


class TrainState(NamedTuple):
    """The network that learns, the one that its targets are made with, and the one that plays."""

    network: Network
    target: Network
    actor: Network
    opt_state: Any
    updates: jax.Array


class Memory(NamedTuple):
    """What seeing changes: the replay, the frames in sight and, where there is one, the density model."""

    replay: ReplayBuffer
    stacks: jax.Array
    density: density.Density | None


class Seen(NamedTuple):
    """What the games show, on its way to the device; see `dorax.envs.atari.Arrival`."""

    frames: Any
    is_first: Any
    outcome: Outcome


class Metrics(NamedTuple):
    """Sums since the last record, over steps and over updates."""

    bonus: jax.Array
    bonus_spread: jax.Array
    counted: jax.Array
    steps: jax.Array
    q_loss: jax.Array
    e_loss: jax.Array
    updates: jax.Array


def new_train_state(agent: PixelAgent, actions: int, key: jax.Array) -> TrainState:
    network = new_network(key, actions, agent.hidden, has_e=agent.counter is not None)
    target, actor = (jax.tree.map(jnp.copy, network) for _ in range(2))
    return TrainState(network, target, actor, _optimiser(agent).init(network), jnp.zeros((), jnp.int32))


def new_memory(agent: PixelAgent, games: int, groups: int) -> Memory:
    rows = replay.empty(agent.capacity // games, games, groups)
    stacks = jnp.zeros((games, STACK, PIXELS), jnp.uint8)
    return Memory(rows, stacks, density.new_density() if agent.bonus == "density" else None)


def new_metrics() -> Metrics:
    return Metrics(*(jnp.zeros(()) for _ in Metrics._fields))


@partial(jax.jit, static_argnames="agent", donate_argnames=("memory", "metrics"))
def act(
    agent: PixelAgent,
    network: Network,
    memory: Memory,
    metrics: Metrics,
    group: jax.Array,
    seen: Seen,
    epsilon: jax.Array,
    key: jax.Array,
    tick: jax.Array,
) -> tuple[Memory, Metrics, jax.Array]:
    """The actions of a group's games on what they show now; `tick` numbers the looks, for what is drawn at random."""
    frames = in_blocks(seen.frames)
    first, size = group * frames.shape[0], frames.shape[0]
    stacks = with_frames(jax.lax.dynamic_slice_in_dim(memory.stacks, first, size), frames, seen.is_first)
    out = outputs(network, stacks)
    actions = choose_actions(agent, out, epsilon, jax.random.fold_in(jax.random.fold_in(key, 1), tick))
    counts = _counts(agent, out, actions)
    model = memory.density
    if model is not None:
        model, counts = density.seen(model, seen.frames)
    bonuses = _bonus(agent, counts)
    rows = replay.with_outcome(memory.replay, group, seen.outcome)
    rows = replay.with_row(rows, group, frames, seen.is_first, actions, bonuses)
    metrics = metrics._replace(
        bonus=metrics.bonus + jnp.sum(bonuses),
        bonus_spread=metrics.bonus_spread + jnp.std(bonuses) * bonuses.shape[0],
        counted=metrics.counted + jnp.sum(counts),
        steps=metrics.steps + actions.shape[0],
    )
    stacks = jax.lax.dynamic_update_slice_in_dim(memory.stacks, stacks, first, axis=0)
    return Memory(rows, stacks, model), metrics, actions


def with_frames(stacks: jax.Array, frames: jax.Array, is_first: jax.Array) -> jax.Array:
    """The last four frames of each game; an episode begins with nothing before its first."""
    before = jnp.where(is_first[:, None, None], 0, stacks[:, 1:])
    return jnp.concatenate([before, frames[:, None]], axis=1)


def choose_actions(agent: PixelAgent, out: Outputs, epsilon: jax.Array, key: jax.Array) -> jax.Array:
    policy = EpsilonGreedy(epsilon)
    rule = LLL(policy) if agent.acts_by == "lll" else Sample(policy)
    uniform = jax.random.uniform(key, out.values.shape[:1])
    form = agent.counter
    counts = jnp.zeros_like(out.e) if form is None else form.count(out.e)
    return rule(out.values, counts, jnp.zeros(()), uniform)


@partial(jax.jit, static_argnames=("agent", "updates"), donate_argnames=("learner", "metrics"))
def learn(
    agent: PixelAgent, learner: TrainState, buffer: ReplayBuffer, metrics: Metrics, key: jax.Array, updates: int
) -> tuple[TrainState, Metrics]:
    """So many updates. The target network, which does not change among them, looks at all their successors at once."""
    key = jax.random.fold_in(jax.random.fold_in(key, 2), learner.updates)
    steps = replay.sample(buffer, key, updates * agent.batch)
    successors = outputs(learner.target, steps.next_stacks)
    by_update = jax.tree.map(lambda leaf: leaf.reshape(updates, agent.batch, *leaf.shape[1:]), (steps, successors))

    def update(carry: tuple[Network, Any], drawn: tuple[Steps, Outputs]) -> tuple[tuple[Network, Any], Any]:
        network, opt_state = carry
        grads, losses = jax.grad(partial(_loss, agent), has_aux=True)(network, *drawn)
        change, opt_state = _optimiser(agent).update(grads, opt_state)
        return (jax.tree.map(jnp.add, network, change), opt_state), losses

    if updates == 1:
        # XLA's convolutions on a CPU are ten times slower within a loop.
        (network, opt_state), losses = update(
            (learner.network, learner.opt_state), jax.tree.map(lambda leaf: leaf[0], by_update)
        )
    else:
        (network, opt_state), losses = jax.lax.scan(update, (learner.network, learner.opt_state), by_update)
    total = learner.updates + updates

    def renewed(copy: Network, every: int) -> Network:
        is_due = total // every > learner.updates // every
        return jax.tree.map(lambda old, new: jnp.where(is_due, new, old), copy, network)

    target, actor = renewed(learner.target, agent.target_every), renewed(learner.actor, agent.actor_every)
    q_loss, e_loss = (jnp.sum(loss) for loss in losses)
    metrics = metrics._replace(
        q_loss=metrics.q_loss + q_loss, e_loss=metrics.e_loss + e_loss, updates=metrics.updates + updates
    )
    return TrainState(network, target, actor, opt_state, total), metrics


def _loss(
    agent: PixelAgent, network: Network, steps: Steps, successors: Outputs
) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    """Squared errors of Q and of E; errors are clipped to ±√clip, so that they keep a gradient."""
    out = outputs(network, steps.stacks)
    reward, is_terminal, is_step = steps.outcome
    bonuses = steps.bonuses
    if agent.bonus_at == "replay":
        bonuses = _bonus(agent, jax.lax.stop_gradient(_counts(agent, out, steps.actions)))
    best = jnp.max(successors.values, axis=1)
    value, output = taken(out.values, steps.actions), taken(out.e, steps.actions)
    q_error = q_target(jnp.clip(reward + bonuses, -1, 1), is_terminal, best, agent.discount) - value
    e_error = jnp.zeros_like(q_error)
    if agent.counter is not None:
        e_error = agent.counter.error(output, taken(successors.e, steps.next_actions), is_terminal)
    most = agent.clip**0.5
    q_error, e_error = (jnp.clip(jnp.where(is_step, error, 0), -most, most) for error in (q_error, e_error))
    return 2 * (surrogate(value, q_error) + surrogate(output, e_error)), (jnp.mean(q_error**2), jnp.mean(e_error**2))


def _counts(agent: PixelAgent, out: Outputs, actions: jax.Array) -> jax.Array:
    form = agent.counter
    return jnp.zeros(actions.shape) if form is None else form.count(taken(out.e, actions))


def _bonus(agent: PixelAgent, counts: jax.Array) -> jax.Array:
    """scale / sqrt(-log E + 0.01), -log E being the count times log 2; of a pseudo-count, scale / sqrt(N + 0.01).

    Before any visit E is 1/2, which is one visit. Counts start at 0, and this visit is added.
    """
    if agent.bonus == "none":
        return jnp.zeros_like(counts)
    form = agent.counter
    if agent.bonus == "e-values" and form is not None:
        counts = counts + 1 if agent.e_form == "count" else counts
        counts = -jnp.log1p(-form.rate()) * counts
    return agent.bonus_scale / jnp.sqrt(counts + BONUS_FLOOR)


def _optimiser(agent: PixelAgent) -> Any:
    return optax.chain(optax.clip_by_global_norm(agent.clip), optax.adam(agent.learning_rate, eps=agent.adam_epsilon))
