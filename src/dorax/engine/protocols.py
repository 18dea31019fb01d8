"""The contracts of the engine: agents, algorithms and probes. Environments have theirs in `dorax.envs.simulation`.

An *algorithm* is an agent for one environment: pure functions of its memory, which is all
that learning changes. A *probe* watches a run and never changes it. A lane is one algorithm
that plays `games` games side by side; arrays of a lane start with that axis, which has
length 1 for most.
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
    """What an algorithm makes of its games' observations.

    `features` describe the observation; `values`, `counts` and `outputs` (what counts are
    made of, where a function approximator predicts them) have an entry for every action.
    """

    features: Any
    values: Float[Array, "games actions"]
    counts: Float[Array, "games actions"]
    outputs: Float[Array, "games actions"]


class Step(NamedTuple):
    """One step of every game, with the action that follows it, chosen before anything is learned from the step.

    Where `is_start` a game only begins an episode: there is nothing to learn. `learns` is
    true where the algorithm should learn from the step. `steps` are those learned from so
    far in all games, these among them.
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
    """The value of every game's visited pair, before and after the step was learned from."""

    old: Float[Array, " games"]
    new: Float[Array, " games"]


class Algorithm(Protocol[Memory]):
    """An agent for one environment.

    Attributes:
        games: the games that it plays side by side.
        every: the steps between two calls of `update`; None if there are none.
    """

    @property
    def games(self) -> int: ...
    @property
    def every(self) -> int | None: ...

    def init(self, key: PRNGKeyArray) -> Memory: ...

    def view(self, memory: Memory, observation: Observation, /) -> View: ...

    def act(self, view: View, steps: Int[Array, ""], uniform: Float[Array, " games"]) -> Int[Array, " games"]: ...

    def observe(self, memory: Memory, step: Step, /) -> tuple[Memory, Change | None, Any]:
        """Learn from one step: the memory, the change of values if it is known, and a row for `update`, or None."""
        ...

    def update(self, memory: Memory, rows: Any, key: PRNGKeyArray, learns: Bool[Array, ""], /) -> Memory:
        """Learn from the rows of the last `every` steps, or from replay; the memory as it is unless `learns`."""
        ...


class Agent(Protocol):
    """A description of how to act and to learn, whose numbers are leaves that may be swept."""

    def check_env(self, env: Any) -> None:
        """Raise unless the agent can learn in `env`."""
        ...

    def algorithm(self, env: Any) -> Algorithm[Any]:
        """This agent for one environment."""
        ...

    def learner(self, spec: EnvSpec, memory: Any = None, *, steps: int = 0, seed: int = 0) -> Any:
        """A learner of this agent: new, or with what it has learned already."""
        ...


class Probe(Protocol[ProbeState]):
    """Watches a run. Its arrays are shared by all lanes, its state is one lane's own.

    Attributes:
        columns: names of numbers that it adds to the record of every episode.
        marks: episodes after which every lane pauses for a snapshot; None if it takes none.
    """

    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def marks(self) -> Sequence[int] | None: ...

    def init(self, algorithm: Any, memory: Any) -> ProbeState: ...

    def watch(self, state: ProbeState, step: Step, change: Change | None, observation: Observation) -> ProbeState:
        """The state after one more step, which arrived at `observation`."""
        ...

    def record(self, state: ProbeState) -> tuple[Float[Array, ""], ...]:
        """The numbers of `columns`, now."""
        ...

    def enough(self, state: ProbeState) -> Bool[Array, ""]:
        """Whether the run may end with the episode that just ended."""
        ...

    def summary(self, state: Any) -> Mapping[str, Any]:
        """Variables of the dataset, once a run is over; arrays of the state begin with the axes seed and setting."""
        ...


class SnapshotProbe(Probe[ProbeState], Protocol[ProbeState]):
    """A probe with marks."""

    def snapshot(self, state: Any, views: Callable[[Any], View]) -> Mapping[str, np.ndarray]:
        """What to keep at a mark: arrays whose first axis is the lane.

        Args:
            state: that of all lanes, on the device.
            views: gives what every lane makes of some observations: leaves [lanes, observations, ...].
        """
        ...

    def dims(self, name: str) -> tuple[str, ...]:
        """The dimensions of a snapshot's array, after seed, setting and snapshot."""
        ...
