"""Recording: a learner of the engine, with a probe that keeps what the page shows after each episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from dorax.agents.tabular import TabularAgent
from dorax.core.checks import InvalidInput, check_whole
from dorax.engine.protocols import Change, Step, View
from dorax.engine.training import train
from dorax.mdps import MDP

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
    """The learner that `dorax.train` trains with this seed, after at most `most` - 1 of its episodes.

    Args:
        mdp: where it learns.
        agent: the agent.
        episodes: the episodes to learn.
        seed: of the run.
        most: the most frames, the one before the first episode among them.
    """
    check_whole("episodes", episodes)
    shown = shown_episodes(episodes, most)
    probe = RecorderProbe(mdp.states, mdp.actions, mdp.max_steps, tuple(shown[1:]))
    result = train(agent, mdp, episodes, [seed], probes=[probe], learners=[])
    data = result.data.isel(seed=0)
    nothing = np.zeros((mdp.states, mdp.actions))
    start = np.where(mdp.available, float(np.asarray(agent.update.initial_entry(agent.discount)["q"])), -np.inf)
    frames = [Frame(0, 0, 0.0, np.zeros(0, np.int32), 0, False, nothing.astype(np.int32), nothing, start)]
    for episode in shown[1:]:
        now = data.sel(snapshot=episode)
        frames.append(
            Frame(
                episode=episode,
                steps=int(data.steps.sel(episode=episode)),
                total_reward=float(data["return"].sel(episode=episode)),
                path=now.path.values[: int(now.path_length)],
                last_action=int(now.last_action),
                is_terminal=bool(now.is_terminal),
                visits=now.pair_visits.values,
                counts=now.pair_count.values,
                q=now.pair_q.values,
            )
        )
    return Recording(agent, seed, frames)


def shown_episodes(episodes: int, most: int = FRAMES) -> list[int]:
    """0 and at most `most` - 1 episodes, the last among them: all at first, when most happens, then ever fewer."""
    if most < 2:
        raise InvalidInput(f"most is {most}; allowed: 2 frames or more, a first and a last")
    frames = min(episodes, most - 1)
    return [0] + [max(i, round(episodes ** (i / frames))) for i in range(1, frames + 1)]


class RecorderState(NamedTuple):
    """What the engine does not keep: visits, and the path of the last episode."""

    visits: Int[Array, "states actions"]
    path: Int[Array, " steps"]
    length: Int[Array, ""]
    last_action: Int[Array, ""]
    is_terminal: Bool[Array, ""]


class RecorderProbe(eqx.Module):
    """A probe that keeps the path of every episode and, at each mark, the tables of the learner."""

    states: int = eqx.field(static=True)
    actions: int = eqx.field(static=True)
    max_steps: int = eqx.field(static=True)
    marks: Sequence[int] = eqx.field(static=True)
    columns: tuple[str, ...] = eqx.field(default=(), static=True)

    def init(self, algorithm: Any, memory: Any) -> RecorderState:
        zero = jnp.zeros((), jnp.int32)
        visits = jnp.zeros((self.states, self.actions), jnp.int32)
        return RecorderState(visits, jnp.zeros(self.max_steps, jnp.int32), zero, zero, zero > 0)

    def watch(self, state: RecorderState, step: Step, change: Change | None, observation: Any) -> RecorderState:
        here, action, learns = step.features[0], step.action[0], step.learns[0]
        length = jnp.where(step.is_start[0], 0, state.length)
        at = jnp.where(learns, length, self.max_steps)  # a step that is not learned from is noted nowhere
        return RecorderState(
            visits=state.visits.at[here, action].add(learns.astype(jnp.int32)),
            path=state.path.at[at].set(here, mode="drop"),
            length=length + learns,
            last_action=jnp.where(learns, action, state.last_action),
            is_terminal=jnp.where(learns, step.terminated[0], state.is_terminal),
        )

    def record(self, state: RecorderState) -> tuple[Float[Array, ""], ...]:
        return ()

    def enough(self, state: RecorderState) -> Bool[Array, ""]:
        return jnp.zeros((), bool)

    def summary(self, state: Any) -> Mapping[str, Any]:
        return {}

    def dims(self, name: str) -> tuple[str, ...]:
        pairs = ("state", "action") if name.startswith("pair_") else ()
        return ("place",) if name == "path" else pairs

    def snapshot(self, state: Any, views: Callable[[Any], View]) -> Mapping[str, np.ndarray]:
        seen = views(jnp.arange(self.states))
        return {
            "path": np.asarray(state.path),
            "path_length": np.asarray(state.length),
            "last_action": np.asarray(state.last_action),
            "is_terminal": np.asarray(state.is_terminal),
            "pair_visits": np.asarray(state.visits),
            "pair_count": np.asarray(seen.counts),
            "pair_q": np.asarray(seen.values),
        }
