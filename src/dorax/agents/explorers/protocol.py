"""Protocol of explorers: the part of an agent that knows where it has been.

An explorer may have counts, which rules choose actions by, a bonus, or both. Like an algorithm it consists of pure
functions of a state, and it sees all games of a learner at once. It is made from a description, which is the agent's
`counter` or `bonus`; see `Explores`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

if TYPE_CHECKING:
    from dorax.agents.value_network import Inputs as NetworkInputs

State = TypeVar("State")
Inputs = Any  # numbers of states [games], or vectors [games, dims]


class Look(NamedTuple):
    """What an explorer computes from the observations of the games.

    Attributes:
        features: what it needs of them later on.
        counts: counts of all actions; None if it has no counts.
    """

    features: Any
    counts: Float[Array, "games actions"] | None


class Visited(NamedTuple):
    """One step of every game.

    Attributes:
        x: observations in which the actions were taken.
        features: the explorer's own features of them.
        action: actions taken.
        next_x: observations that followed.
        arrived: the explorer's look at them.
        next_action: actions that will be taken there.
        terminated: whether the episode ended in a terminal state.
        is_over: whether it ended in any way.
        is_start: whether the game only starts an episode, in `next_x`.
        is_visit: whether there is a visit to learn from.
    """

    x: Inputs
    features: Any
    action: Int[Array, " games"]
    next_x: Inputs
    arrived: Look
    next_action: Int[Array, " games"]
    terminated: Bool[Array, " games"]
    is_over: Bool[Array, " games"]
    is_start: Bool[Array, " games"]
    is_visit: Bool[Array, " games"]


class Explorer(Protocol[State]):
    """Protocol of explorers."""

    def init(self, key: PRNGKeyArray) -> State:
        """Return the state of a new learner."""
        ...

    def look(self, state: State, x: Inputs, /) -> Look:
        """Look at observations, without a change."""
        ...

    def are_same(self, features: Any, /) -> Bool[Array, "games games"]:
        """Return which games are in the same state, as far as the explorer can tell."""
        ...

    def observe(self, state: State, visited: Visited, /) -> tuple[State, Float[Array, " games"], Any]:
        """Learn from one step.

        Args:
            state: state before the step.
            visited: the step.

        Returns:
            The new state; the bonus of every game; a row for `update`, or None.
        """
        ...

    def update(self, state: State, rows: Any, key: PRNGKeyArray, learns: Bool[Array, ""], /) -> State:
        """Learn from all steps since the last update.

        Args:
            state: state before the update.
            rows: rows that `observe` returned, stacked.
            key: key of the update's random numbers.
            learns: if False, nothing changes.

        Returns:
            The new state.
        """
        ...


@runtime_checkable
class Explores(Protocol):
    """A counter or a bonus of your own: an Equinox module that makes its explorer."""

    def explorer(self, inputs: NetworkInputs, actions: int, games: int, /) -> Explorer[Any]:
        """Make the explorer for one environment.

        Args:
            inputs: what observations are: numbers of states, or vectors of a certain size.
            actions: number of actions.
            games: largest number of games.

        Returns:
            The explorer. That of a counter has counts.
        """
        ...
