"""Protocols of the engine: agents, algorithms and probes. The protocol of environments is in `dorax.envs.simulation`.

An *algorithm* is an agent bound to one environment. It consists of pure functions of a *memory*, which holds all that
learning changes. A *probe* records something during a run without affecting it. A lane is one algorithm that plays
`games` games in parallel; arrays of a lane have a leading axis over games, of length 1 for most agents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dorax.envs.simulation import EnvSpec, Observation

Memory = TypeVar("Memory")
ProbeState = TypeVar("ProbeState")


class View(NamedTuple):
    """What an algorithm computes from the observations of its games.

    Attributes:
        features: features of the observations.
        values: values of all actions.
        counts: counts of all actions.
        outputs: outputs that the counts are computed from, if a function approximator predicts them.
        novelty: what is added to the values to act on them, if novelty has values of its own.
    """

    features: Any
    values: Float[Array, "games actions"]
    counts: Float[Array, "games actions"]
    outputs: Float[Array, "games actions"]
    novelty: Float[Array, "games actions"] | None = None


class Step(NamedTuple):
    """One step of every game, with the next action, which is chosen before anything is learned from the step.

    Attributes:
        features: features of the state in which the action was taken.
        action: action taken.
        reward: the environment's reward.
        terminated: whether the episode ended in a terminal state.
        truncated: whether the episode was cut off, as by a time limit.
        is_start: whether the game only starts an episode, so that there is nothing to learn.
        next_view: view of the state that followed.
        next_action: action that will be taken there.
        learns: whether to learn from the step.
        steps: number of steps learned from so far in all games, including these.
    """

    features: Any
    action: Int[Array, " games"]
    reward: Float[Array, " games"]
    terminated: Bool[Array, " games"]
    truncated: Bool[Array, " games"]
    is_start: Bool[Array, " games"]
    next_view: View
    next_action: Int[Array, " games"]
    learns: Bool[Array, " games"]
    steps: Int[Array, ""]


class Change(NamedTuple):
    """Value of each game's visited pair before and after learning from a step.

    Attributes:
        old: value before.
        new: value after.
    """

    old: Float[Array, " games"]
    new: Float[Array, " games"]


class Algorithm(Protocol[Memory]):
    """Protocol of algorithms: an agent bound to one environment.

    Attributes:
        games: number of games played in parallel.
        every: number of steps between calls of `update`; None if it is never called.

    If an algorithm has an attribute `sees_starts` that is True, the step to the first observation of an episode is one
    of its steps also in one's own loop, as it always is in compiled runs.
    """

    @property
    def games(self) -> int: ...
    @property
    def every(self) -> int | None: ...

    def init(self, key: PRNGKeyArray) -> Memory:
        """Return the memory of a new learner."""
        ...

    def view(self, memory: Memory, observation: Observation, /) -> View:
        """Compute features, values and counts of observations."""
        ...

    def act(self, view: View, steps: Int[Array, ""], uniform: Float[Array, " games"]) -> Int[Array, " games"]:
        """Choose an action for each game.

        Args:
            view: view of the games' observations.
            steps: number of steps learned from so far.
            uniform: one uniform random number per game.

        Returns:
            The actions.
        """
        ...

    def observe(self, memory: Memory, step: Step, /) -> tuple[Memory, Change | None, Any]:
        """Learn from one step.

        Args:
            memory: memory before the step.
            step: the step.

        Returns:
            The new memory; the change of the visited pair's value, if it is known; a row for `update`, if there is one.
        """
        ...

    def update(self, memory: Memory, rows: Any, key: PRNGKeyArray, learns: Bool[Array, ""], /) -> Memory:
        """Learn from the last `every` steps, or from replay.

        Args:
            memory: memory before the update.
            rows: rows that `observe` returned since the last update, stacked.
            key: key of the update's random numbers.
            learns: if False, the memory is returned unchanged.

        Returns:
            The new memory.
        """
        ...


class Agent(Protocol):
    """Protocol of agents: descriptions of how to act and learn. An agent's numbers are leaves, so they can be swept."""

    def check_env(self, env: Any) -> None:
        """Raise `InvalidInput` unless the agent supports an environment.

        Args:
            env: the environment.
        """
        ...

    def algorithm(self, env: Any) -> Algorithm[Any]:
        """Return the algorithm of this agent for one environment.

        Args:
            env: the environment or its description.
        """
        ...

    def learner(self, spec: EnvSpec, memory: Any = None, *, steps: int = 0, seed: int = 0) -> Any:
        """Return a learner of this agent.

        Args:
            spec: description of the environment.
            memory: what was learned; None for a new learner.
            steps: number of steps learned from so far.
            seed: seed of the learner's random numbers.
        """
        ...


class Probe(Protocol[ProbeState]):
    """Protocol of probes, which record something during a run. Lanes share a probe's arrays; each has its own state.

    Attributes:
        columns: names of the numbers that the probe adds to the record of each episode.
        marks: episodes (or steps, see `SnapshotProbe`) after which every lane pauses for a snapshot; None for no
            snapshots.
    """

    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def marks(self) -> Sequence[int] | None: ...

    def init(self, algorithm: Any, memory: Any) -> ProbeState:
        """Return the state before the first step."""
        ...

    def watch(self, state: ProbeState, step: Step, change: Change | None, observation: Observation) -> ProbeState:
        """Update the state after a step.

        Args:
            state: state before the step.
            step: the step.
            change: change of the visited pair's value, if it is known.
            observation: observation that followed.

        Returns:
            The new state.
        """
        ...

    def record(self, state: ProbeState) -> tuple[Float[Array, ""], ...]:
        """Return the current values of `columns`."""
        ...

    def enough(self, state: ProbeState) -> Bool[Array, ""]:
        """Return whether the run may end after the episode that just ended."""
        ...

    def summary(self, state: Any) -> Mapping[str, Any]:
        """Return variables for the dataset after a run.

        Args:
            state: final states of all lanes; arrays have leading axes over seeds and settings.
        """
        ...


class SnapshotProbe(Probe[ProbeState], Protocol[ProbeState]):
    """Protocol of probes that take snapshots.

    If a probe has an attribute `clock` that is `"step"`, its marks are numbers of steps instead of episodes.
    """

    def snapshot(self, state: Any, views: Callable[[Any], View]) -> Mapping[str, np.ndarray]:
        """Take a snapshot.

        Args:
            state: states of all lanes, on the device.
            views: computes every lane's views of some observations; leaves [lanes, observations, ...].

        Returns:
            Arrays by name, with a leading axis over lanes.
        """
        ...

    def dims(self, name: str) -> tuple[str, ...]:
        """Return the dimensions of a snapshot's array, after seed, setting and snapshot.

        Args:
            name: name of the array.
        """
        ...
