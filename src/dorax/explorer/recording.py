"""Recording: one learner of the engine, stopped after the episodes that are to be shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dorax.core.checks import InvalidInput
from dorax.lanes.running import check_whole, seed_list
from dorax.mdps import MDP
from dorax.tabular import TabularAgent
from dorax.tabular.engine import BLOCK, Lane, Limits, new_lane, tick, uniforms_of_block
from dorax.tabular.world import World, make_world

FRAMES = 200


@dataclass(frozen=True)
class Frame:
    """What a learner knows after an episode, and how that episode went.

    `steps` are all so far. `path` holds the state of each step of this episode,
    `last_action` what was done in the last of them; the frame before the first episode
    has no path. The tables are states x actions: true visits, the agent's own counts, Q.
    """

    episode: int
    steps: int
    total_reward: float
    path: np.ndarray
    last_action: int
    is_terminal: bool
    visits: np.ndarray
    counts: np.ndarray
    q: np.ndarray


@dataclass(frozen=True)
class Recording:
    """A learner from its first to its last frame."""

    agent: TabularAgent
    seed: int
    frames: list[Frame]


def record(mdp: MDP, agent: TabularAgent, episodes: int, seed: int = 0, most: int = FRAMES) -> Recording:
    """The learner that `dorax.train` trains with this seed, but for rounding, after at most `most` - 1 episodes."""
    check_whole("episodes", episodes)
    (seed,) = seed_list([seed])
    # Numbers as arrays: another agent with the same structure runs the same compiled program.
    numbers = jax.tree.map(lambda leaf: jnp.asarray(leaf, float) if isinstance(leaf, int | float) else leaf, agent)
    world = make_world(mdp, float(np.asarray(agent.discount)))
    film = _unexposed(numbers, world, episodes, mdp.max_steps)
    frames = [_frame(film, mdp)]
    for episode in shown_episodes(episodes, most)[1:]:
        film = _exposed(film, jnp.asarray(episode, jnp.int32), numbers, world, jax.random.key(seed))
        frames.append(_frame(film, mdp))
    return Recording(agent, seed, frames)


def shown_episodes(episodes: int, most: int = FRAMES) -> list[int]:
    """0 and at most `most` - 1 episodes, the last among them: all at first, when most happens, then ever fewer."""
    if most < 2:
        raise InvalidInput(f"most is {most}; allowed: 2 frames or more, a first and a last")
    frames = min(episodes, most - 1)
    return [0] + [max(i, round(episodes ** (i / frames))) for i in range(1, frames + 1)]


class _Film(NamedTuple):
    """A lane of the engine, and what the engine does not keep."""

    lane: Lane
    tick: jax.Array
    visits: jax.Array
    path: jax.Array
    length: jax.Array
    last_action: jax.Array
    is_terminal: jax.Array


def _unexposed(agent: TabularAgent, world: World, episodes: int, max_steps: int) -> _Film:
    zero, no = jnp.zeros((), jnp.int32), jnp.zeros((), bool)
    return _Film(
        lane=new_lane(agent, world, episodes, ~no),
        tick=zero,
        visits=jnp.zeros(world.available.shape, jnp.int32),
        path=jnp.zeros(max_steps, jnp.int32),
        length=zero,
        last_action=zero,
        is_terminal=no,
    )


@eqx.filter_jit
def _exposed(film: _Film, episodes: jax.Array, agent: TabularAgent, world: World, key: jax.Array) -> _Film:
    """The film once so many episodes are over."""
    unlimited = jnp.asarray(2**31 - 1, jnp.int32)
    limits = Limits(unlimited, unlimited, jnp.asarray(-1.0, float))

    def ticked(film: _Film) -> _Film:
        lane = film.lane
        uniforms = uniforms_of_block(key, film.tick // BLOCK)[film.tick % BLOCK]
        is_step = ~lane.is_starting
        # A tick that starts an episode makes no step: its note goes where nothing is kept.
        at = jnp.where(is_step, lane.length, film.path.shape[0])
        return _Film(
            lane=tick(agent, world, limits, lane, uniforms),
            tick=film.tick + 1,
            visits=film.visits.at[lane.state, lane.action].add(is_step.astype(jnp.int32)),
            path=film.path.at[at].set(lane.state, mode="drop"),
            length=jnp.where(is_step, lane.length + 1, 0),
            last_action=lane.action,
            is_terminal=world.move(lane.state, lane.action, uniforms[0])[2],
        )

    return jax.lax.while_loop(lambda film: film.lane.episode < episodes, ticked, film)


def _frame(film: _Film, mdp: MDP) -> Frame:
    lane = film.lane
    episode = int(lane.episode)
    return Frame(
        episode=episode,
        steps=int(lane.steps),
        total_reward=float(lane.records[episode - 1, 0]) if episode else 0.0,
        path=np.asarray(film.path)[: int(film.length)],
        last_action=int(film.last_action),
        is_terminal=bool(film.is_terminal),
        visits=np.asarray(film.visits)[: mdp.states],
        counts=np.asarray(lane.counts)[: mdp.states],
        q=np.asarray(lane.tables["q"])[: mdp.states],
    )
