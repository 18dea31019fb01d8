"""Recording: train a learner with a probe that records what the page shows after each episode."""

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
from dorax.engine.running import Progress
from dorax.engine.training import train
from dorax.mdps import MDP

FRAMES = 200


@dataclass(frozen=True)
class Frame:
    """What a learner knows after an episode, and how that episode went. Frame 0 precedes the first episode.

    Attributes:
        episode: number of the episode.
        steps: steps so far, over all episodes.
        total_reward: return of the episode.
        path: state at each step of the episode; empty in frame 0.
        last_action: the last action of the episode.
        is_terminal: whether the episode terminated.
        visits: number of visits, states x actions.
        counts: the agent's counts, states x actions.
        q: values, states x actions.
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
    """A recorded training run.

    Attributes:
        agent: the agent.
        seed: seed of the run.
        frames: the recorded frames.
    """

    agent: TabularAgent
    seed: int
    frames: list[Frame]


def record(
    mdp: MDP, agent: TabularAgent, episodes: int, seed: int = 0, most: int = FRAMES, progress: Progress | None = None
) -> Recording:
    """Train as `dorax.train` does with this seed, and record frames.

    Args:
        mdp: the MDP.
        agent: the agent.
        episodes: number of training episodes.
        seed: seed of the run.
        most: maximum number of frames, including the one before the first episode.
        progress: called with the fraction done and the number of steps so far.

    Returns:
        The recording.
    """
    check_whole("episodes", episodes)
    shown = shown_episodes(episodes, most)
    probe = RecorderProbe(mdp.states, mdp.actions, mdp.max_steps, tuple(shown[1:]))
    result = train(agent, mdp, episodes, [seed], probes=[probe], learners=[], progress=progress)
    data = result.data.isel(seed=0)
    nothing = np.zeros((mdp.states, mdp.actions))
    start = np.where(mdp.available, float(np.asarray(agent.initial_entry()["q"])), -np.inf)
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
    """Choose the episodes to show: all of the early ones, then fewer and fewer, and the last.

    Args:
        episodes: number of episodes.
        most: maximum number of frames, including frame 0.

    Returns:
        Numbers of episodes, starting with 0.
    """
    if most < 2:
        raise InvalidInput(f"most is {most}; allowed: 2 or more, the first and the last frame")
    frames = min(episodes, most - 1)
    return [0] + [max(i, round(episodes ** (i / frames))) for i in range(1, frames + 1)]


class RecorderState(NamedTuple):
    """State of the probe: visits, and the path of the last episode.

    Attributes:
        visits: number of visits, states x actions.
        path: state at each step of the episode.
        length: steps of the episode so far.
        last_action: the last action.
        is_terminal: whether the episode terminated.
    """

    visits: Int[Array, "states actions"]
    path: Int[Array, " steps"]
    length: Int[Array, ""]
    last_action: Int[Array, ""]
    is_terminal: Bool[Array, ""]


class RecorderProbe(eqx.Module):
    """A probe that records the path of every episode and, at chosen episodes, the learner's tables.

    Implements `dorax.engine.protocols.Probe`.

    Args:
        states: number of states.
        actions: number of actions.
        max_steps: time limit of an episode.
        marks: episodes after which to take a snapshot.
        columns: names of numbers to record after every episode; none.
    """

    states: int = eqx.field(static=True)
    actions: int = eqx.field(static=True)
    max_steps: int = eqx.field(static=True)
    marks: Sequence[int] = eqx.field(static=True)
    columns: tuple[str, ...] = eqx.field(default=(), static=True)

    def init(self, algorithm: Any, memory: Any) -> RecorderState:
        """Return the initial state."""
        zero = jnp.zeros((), jnp.int32)
        visits = jnp.zeros((self.states, self.actions), jnp.int32)
        return RecorderState(visits, jnp.zeros(self.max_steps, jnp.int32), zero, zero, zero > 0)

    def watch(self, state: RecorderState, step: Step, change: Change | None, observation: Any) -> RecorderState:
        """Update the state with one step."""
        here, action, learns = step.features[0], step.action[0], step.learns[0]
        length = jnp.where(step.is_start[0], 0, state.length)
        at = jnp.where(learns, length, self.max_steps)  # max_steps is out of bounds: the step is dropped
        return RecorderState(
            visits=state.visits.at[here, action].add(learns.astype(jnp.int32)),
            path=state.path.at[at].set(here, mode="drop"),
            length=length + learns,
            last_action=jnp.where(learns, action, state.last_action),
            is_terminal=jnp.where(learns, step.terminated[0], state.is_terminal),
        )

    def record(self, state: RecorderState) -> tuple[Float[Array, ""], ...]:
        """Return what is recorded after an episode: nothing."""
        return ()

    def enough(self, state: RecorderState) -> Bool[Array, ""]:
        """Return whether the run can stop: never."""
        return jnp.zeros((), bool)

    def summary(self, state: Any) -> Mapping[str, Any]:
        """Return results of the whole run: none."""
        return {}

    def dims(self, name: str) -> tuple[str, ...]:
        """Return the dimensions of a snapshot's variable."""
        pairs = ("state", "action") if name.startswith("pair_") else ()
        return ("place",) if name == "path" else pairs

    def snapshot(self, state: Any, views: Callable[[Any], View]) -> Mapping[str, np.ndarray]:
        """Return the path and the tables."""
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
