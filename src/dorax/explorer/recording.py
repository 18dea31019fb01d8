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
WINDOW = 10  # episodes whose mean return is shown


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
        first_reached: the first episode in which the goal was reached, and the steps until its end; None if there was
            none.
        mean_returns: at each frame but the first, the mean return of the last `WINDOW` episodes.
    """

    agent: TabularAgent
    seed: int
    frames: list[Frame]
    first_reached: tuple[int, int] | None
    mean_returns: list[float]


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
    goal = goal_of(mdp)
    wanted = (np.inf, False) if goal is None else (goal.reward, goal.is_end)
    probe = RecorderProbe(mdp.states, mdp.actions, mdp.max_steps, tuple(shown[1:]), *wanted)
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
    reached = np.flatnonzero(data.reached.values > 0)
    first = None if len(reached) == 0 else (int(reached[0]) + 1, int(data.steps.values[reached[0]]))
    returns = data["return"].values
    means = [float(returns[max(episode - WINDOW, 0) : episode].mean()) for episode in shown[1:]]
    return Recording(agent, seed, frames, first, means)


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


@dataclass(frozen=True)
class Goal:
    """What there is to be found in an MDP.

    Attributes:
        name: what to call it.
        reward: the least reward of a step that reaches it.
        is_end: whether only steps that end the episode reach it.
    """

    name: str
    reward: float
    is_end: bool


def goal_of(mdp: MDP) -> Goal | None:
    """Return the goal of an MDP: its largest reward, or the cheapest end where all steps cost.

    Args:
        mdp: the MDP.

    Returns:
        The goal; None if there are no rewards, or only costs without an end.
    """
    happens = (mdp.probability > 0) & (mdp.available & mdp.reachable[:, None])[..., None]
    if not mdp.reward[happens].any():
        return None
    best, is_end = float(mdp.reward[happens].max()), False
    if best <= 0:
        ends = happens & mdp.terminal
        if not ends.any():
            return None
        best, is_end = float(mdp.reward[ends].max()), True
    is_drawn = mdp.layout is not None and any("G" in row for row in mdp.layout.rows)
    name = "the goal" if is_drawn else "an end" if is_end else "the largest reward"
    return Goal(name, best - 1e-5 * abs(best), is_end)  # the engine computes in float32


class RecorderState(NamedTuple):
    """State of the probe: visits, and the path of the last episode.

    Attributes:
        visits: number of visits, states x actions.
        path: state at each step of the episode.
        length: steps of the episode so far.
        last_action: the last action.
        is_terminal: whether the episode terminated.
        reached: whether the episode reached the goal.
    """

    visits: Int[Array, "states actions"]
    path: Int[Array, " steps"]
    length: Int[Array, ""]
    last_action: Int[Array, ""]
    is_terminal: Bool[Array, ""]
    reached: Bool[Array, ""]


class RecorderProbe(eqx.Module):
    """A probe that records the path of every episode and, at chosen episodes, the learner's tables.

    Implements `dorax.engine.protocols.Probe`.

    Args:
        states: number of states.
        actions: number of actions.
        max_steps: time limit of an episode.
        marks: episodes after which to take a snapshot.
        goal: the least reward of a step that reaches the goal.
        is_end: whether only steps that end the episode reach it.
        columns: names of numbers to record after every episode: whether it reached the goal.
    """

    states: int = eqx.field(static=True)
    actions: int = eqx.field(static=True)
    max_steps: int = eqx.field(static=True)
    marks: Sequence[int] = eqx.field(static=True)
    goal: float = eqx.field(static=True)
    is_end: bool = eqx.field(static=True)
    columns: tuple[str, ...] = eqx.field(default=("reached",), static=True)

    def init(self, algorithm: Any, memory: Any) -> RecorderState:
        """Return the initial state."""
        zero = jnp.zeros((), jnp.int32)
        visits = jnp.zeros((self.states, self.actions), jnp.int32)
        return RecorderState(visits, jnp.zeros(self.max_steps, jnp.int32), zero, zero, zero > 0, zero > 0)

    def watch(self, state: RecorderState, step: Step, change: Change | None, observation: Any) -> RecorderState:
        """Update the state with one step."""
        here, action, learns = step.features[0], step.action[0], step.learns[0]
        length = jnp.where(step.is_start[0], 0, state.length)
        reaches = learns & (step.reward[0] >= self.goal) & (step.terminated[0] | (not self.is_end))
        at = jnp.where(learns, length, self.max_steps)  # max_steps is out of bounds: the step is dropped
        return RecorderState(
            visits=state.visits.at[here, action].add(learns.astype(jnp.int32)),
            path=state.path.at[at].set(here, mode="drop"),
            length=length + learns,
            last_action=jnp.where(learns, action, state.last_action),
            is_terminal=jnp.where(learns, step.terminated[0], state.is_terminal),
            reached=(state.reached & ~step.is_start[0]) | reaches,
        )

    def record(self, state: RecorderState) -> tuple[Float[Array, ""], ...]:
        """Return what is recorded after an episode: whether it reached the goal."""
        return (state.reached.astype(jnp.float32),)

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
