"""What runs on the device: seeing and acting once for all games, and learning from replay.

    look    the newest frames of a group of games come in, actions go out; one row more of replay
    learn   some updates of the network

Both are pure. They are queued one after the other while the emulator works.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from dorax.core.policies import EpsilonGreedy
from dorax.core.rules import LLL, Sample
from dorax.deep.losses import pull, taken
from dorax.deep.pixels import density, replay
from dorax.deep.pixels.agent import PixelAgent
from dorax.deep.pixels.network import PIXELS, STACK, Network, Outputs, in_blocks, new_network, outputs
from dorax.deep.pixels.replay import Outcome, Rows, Steps

BONUS_FLOOR = 0.01  # under the root of a bonus, as Bellemare et al. (2016) and the authors have it


class Learner(NamedTuple):
    """The network that learns, the one that its targets are made with, and the one that plays."""

    network: Network
    target: Network
    actor: Network
    moments: Any
    updates: jax.Array


class Memory(NamedTuple):
    """What seeing changes: the replay, the frames in sight and, where there is one, the density model."""

    rows: Rows
    stacks: jax.Array
    density: density.Density | None


class Seen(NamedTuple):
    """What the games show, on its way to the device; see `dorax.envs.atari.Arrival`."""

    frames: Any
    is_first: Any
    outcome: Outcome


class Tally(NamedTuple):
    """Sums since the last record, over steps and over updates."""

    bonus: jax.Array
    bonus_spread: jax.Array
    counted: jax.Array
    steps: jax.Array
    q_loss: jax.Array
    e_loss: jax.Array
    updates: jax.Array


def new_learner(agent: PixelAgent, actions: int, key: jax.Array) -> Learner:
    network = new_network(key, actions, agent.hidden, has_e=agent.e_values is not None)
    target, actor = (jax.tree.map(jnp.copy, network) for _ in range(2))
    return Learner(network, target, actor, _optimiser(agent).init(network), jnp.zeros((), jnp.int32))


def new_memory(agent: PixelAgent, games: int, groups: int) -> Memory:
    rows = replay.empty(agent.capacity // games, games, groups)
    stacks = jnp.zeros((games, STACK, PIXELS), jnp.uint8)
    return Memory(rows, stacks, density.new_density() if agent.bonus == "density" else None)


def new_tally() -> Tally:
    return Tally(*(jnp.zeros(()) for _ in Tally._fields))


@partial(jax.jit, static_argnames="agent", donate_argnames=("memory", "tally"))
def look(
    agent: PixelAgent,
    network: Network,
    memory: Memory,
    tally: Tally,
    group: jax.Array,
    seen: Seen,
    epsilon: jax.Array,
    key: jax.Array,
    tick: jax.Array,
) -> tuple[Memory, Tally, jax.Array]:
    """The actions of a group's games on what they show now; `tick` numbers the looks, for what is drawn at random."""
    frames = in_blocks(seen.frames)
    first, size = group * frames.shape[0], frames.shape[0]
    stacks = with_frames(jax.lax.dynamic_slice_in_dim(memory.stacks, first, size), frames, seen.is_first)
    out = outputs(network, stacks)
    actions = chosen(agent, out, epsilon, jax.random.fold_in(jax.random.fold_in(key, 1), tick))
    counts = _counts(agent, out, actions)
    model = memory.density
    if model is not None:
        model, counts = density.seen(model, seen.frames)
    bonuses = _bonus(agent, counts)
    rows = replay.with_outcome(memory.rows, group, seen.outcome)
    rows = replay.with_row(rows, group, frames, seen.is_first, actions, bonuses)
    tally = tally._replace(
        bonus=tally.bonus + jnp.sum(bonuses),
        bonus_spread=tally.bonus_spread + jnp.std(bonuses) * bonuses.shape[0],
        counted=tally.counted + jnp.sum(counts),
        steps=tally.steps + actions.shape[0],
    )
    stacks = jax.lax.dynamic_update_slice_in_dim(memory.stacks, stacks, first, axis=0)
    return Memory(rows, stacks, model), tally, actions


def with_frames(stacks: jax.Array, frames: jax.Array, is_first: jax.Array) -> jax.Array:
    """The last four frames of each game; an episode begins with nothing before its first."""
    before = jnp.where(is_first[:, None, None], 0, stacks[:, 1:])
    return jnp.concatenate([before, frames[:, None]], axis=1)


def chosen(agent: PixelAgent, out: Outputs, epsilon: jax.Array, key: jax.Array) -> jax.Array:
    policy = EpsilonGreedy(epsilon)
    rule = LLL(policy) if agent.acts_by == "lll" else Sample(policy)
    uniform = jax.random.uniform(key, out.values.shape[:1])
    form = agent.e_values
    counts = jnp.zeros_like(out.e) if form is None else form.count(out.e)
    return rule(out.values, counts, jnp.zeros(()), uniform)


@partial(jax.jit, static_argnames=("agent", "updates"), donate_argnames=("learner", "tally"))
def learn(
    agent: PixelAgent, learner: Learner, rows: Rows, tally: Tally, key: jax.Array, updates: int
) -> tuple[Learner, Tally]:
    """So many updates. The target network, which does not change among them, looks at all their successors at once."""
    key = jax.random.fold_in(jax.random.fold_in(key, 2), learner.updates)
    steps = replay.sample(rows, key, updates * agent.batch)
    successors = outputs(learner.target, steps.next_stacks)
    by_update = jax.tree.map(lambda leaf: leaf.reshape(updates, agent.batch, *leaf.shape[1:]), (steps, successors))

    def update(carry: tuple[Network, Any], drawn: tuple[Steps, Outputs]) -> tuple[tuple[Network, Any], Any]:
        network, moments = carry
        slope, losses = jax.grad(partial(_loss, agent), has_aux=True)(network, *drawn)
        change, moments = _optimiser(agent).update(slope, moments)
        return (jax.tree.map(jnp.add, network, change), moments), losses

    if updates == 1:
        # XLA's convolutions on a CPU are ten times slower within a loop.
        (network, moments), losses = update(
            (learner.network, learner.moments), jax.tree.map(lambda leaf: leaf[0], by_update)
        )
    else:
        (network, moments), losses = jax.lax.scan(update, (learner.network, learner.moments), by_update)
    total = learner.updates + updates

    def renewed(copy: Network, every: int) -> Network:
        is_due = total // every > learner.updates // every
        return jax.tree.map(lambda old, new: jnp.where(is_due, new, old), copy, network)

    target, actor = renewed(learner.target, agent.target_every), renewed(learner.actor, agent.actor_every)
    q_loss, e_loss = (jnp.sum(loss) for loss in losses)
    tally = tally._replace(q_loss=tally.q_loss + q_loss, e_loss=tally.e_loss + e_loss, updates=tally.updates + updates)
    return Learner(network, target, actor, moments, total), tally


def _loss(
    agent: PixelAgent, network: Network, steps: Steps, successors: Outputs
) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    """Squared errors of Q, and of what pulls at the output of E; held at a square of `clip` they keep a slope."""
    out = outputs(network, steps.stacks)
    reward, is_terminal, is_step = steps.outcome
    bonuses = steps.bonuses
    if agent.bonus_at == "replay":
        bonuses = _bonus(agent, jax.lax.stop_gradient(_counts(agent, out, steps.actions)))
    best = jnp.where(is_terminal, 0.0, agent.discount * jnp.max(successors.values, axis=1))
    value, output = taken(out.values, steps.actions), taken(out.e, steps.actions)
    q_error = jnp.clip(reward + bonuses, -1, 1) + best - value
    e_error = jnp.zeros_like(q_error)
    if agent.e_values is not None:
        e_error = agent.e_values.error(output, taken(successors.e, steps.next_actions), is_terminal)
    most = agent.clip**0.5
    q_error, e_error = (jnp.clip(jnp.where(is_step, error, 0), -most, most) for error in (q_error, e_error))
    return 2 * (pull(value, q_error) + pull(output, e_error)), (jnp.mean(q_error**2), jnp.mean(e_error**2))


def _counts(agent: PixelAgent, out: Outputs, actions: jax.Array) -> jax.Array:
    form = agent.e_values
    return jnp.zeros(actions.shape) if form is None else form.count(taken(out.e, actions))


def _bonus(agent: PixelAgent, counts: jax.Array) -> jax.Array:
    """scale / sqrt(-log E + 0.01), -log E being the count times log 2; of a pseudo-count, scale / sqrt(N + 0.01).

    Before any visit E is 1/2, which is one visit. Counts start at 0, and this visit is added.
    """
    if agent.bonus == "none":
        return jnp.zeros_like(counts)
    form = agent.e_values
    if agent.bonus == "e-values" and form is not None:
        counts = counts + 1 if agent.e_form == "count" else counts
        counts = -jnp.log1p(-form.learning_rate) * counts
    return agent.bonus_scale / jnp.sqrt(counts + BONUS_FLOOR)


def _optimiser(agent: PixelAgent) -> Any:
    return optax.chain(optax.clip_by_global_norm(agent.clip), optax.adam(agent.learning_rate, eps=agent.adam_epsilon))
