"""Generalized visit counts for anybody's loop: the observations and actions of any environment, one visit at a time.

E is learned by SARSA from the actions that pass through. The action after a step is known
only one step later, so a visit is counted in two halves: at once, provisionally, with the
mean of E over the actions of the new state; and for good when the next action arrives. At
the end of an episode there is no next action: a terminal step counts as a plain visit, and
of a truncated one the provisional value stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gymnasium import spaces

from dorax.core.checks import InvalidInput, check_discount, check_rate
from dorax.features.specs import Features, KWinners
from dorax.wrappers.features import Keys, chosen_for, coder_of
from dorax.wrappers.rows import Rows, Visit
from dorax.wrappers.spaces import actions_of, each_of, fingerprint, in_one_line


class GeneralizedCounts:
    """Counts of state-action pairs, shared by so many `lanes`: environments that run side by side.

    `discount` is the paper's gamma_E, how far a count looks ahead (0: plain visits), and
    `learning_rate` its alpha_E. `features` says what counts are kept by (`Table`, `Tiles`
    or `KWinners`); by default the observation space decides.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lanes: int = 1,
        *,
        discount: float = 0.99,
        learning_rate: float = 0.5,
        features: Features | None = None,
        seed: int = 0,
    ) -> None:
        check_discount("the exploration discount", discount)
        check_rate("the exploration learning rate", learning_rate)
        self.observation_space, self.action_space = observation_space, action_space
        self.discount, self.learning_rate = float(discount), float(learning_rate)
        self.features = chosen_for(observation_space) if features is None else features
        actions = actions_of(action_space)
        self.actions, self._number = actions.size, actions.number
        self._seed = seed
        self._coder = coder_of(observation_space, self.features, seed)
        self._rows = Rows(self.actions, self.learning_rate, self.discount)
        self._at: list[Keys | None] = [None] * lanes
        self._pending: list[Visit | None] = [None] * lanes

    @property
    def lanes(self) -> int:
        return len(self._pending)

    def of(self, observations: Any) -> np.ndarray:
        """The counts of all actions in each of some states: states x actions.

        `observations` are a list, or come together as from a vector environment.
        """
        return np.array([self._rows.counts(keys) for keys in self._keys_of(observations)])

    def visits_of(self, observations: Any) -> np.ndarray:
        """The true visits of all actions in each of some states that are counted by themselves: states x actions."""
        return np.array([self._rows.visits_of(keys) for keys in self._keys_of(observations)])

    def begin(self, lane: int, observation: Any) -> None:
        """An episode begins in a lane. If the one before came to no end, its last provisional value stands."""
        self._settle(lane)
        self._at[lane] = self._coder.keys(observation)

    def visit(
        self,
        lane: int,
        action: Any,
        next_observation: Any,
        terminated: bool,
        truncated: bool,
        *,
        is_counted: bool = True,
    ) -> float:
        """One step of a lane: the count of the visited pair, with this visit; provisional unless the episode ends.

        One that is not to be counted moves the lane on, and its count is the one before.
        """
        seen = self._at[lane]
        if seen is None:
            raise InvalidInput(f"lane {lane} has no observation to start from; allowed: begin(observation) first")
        number = self.number(action)
        arrived = self._coder.keys(next_observation)
        self._at[lane] = arrived
        if not is_counted:
            self._settle(lane)
            return self._rows.counts(seen)[number]
        before = self._pending[lane]
        if before is not None:
            self._rows.learn(before, number)
        visit = Visit(seen, number, arrived, bool(terminated))
        count = self._rows.after(visit)
        self._pending[lane] = visit
        if terminated or truncated:
            self._settle(lane)
        self._coder.notice(next_observation)
        return count

    def number(self, action: Any) -> int:
        """Which of the actions it is."""
        number = self._number(action)
        if not 0 <= number < self.actions:
            raise InvalidInput(f"the action is {in_one_line(action)}; allowed: one of {in_one_line(self.action_space)}")
        return number

    def table(self) -> tuple[np.ndarray, np.ndarray]:
        """The generalized counts and the true visits of all pairs of the states (or tiles) visited."""
        arrays = self._rows.arrays()
        return arrays["counts"], arrays["visits"]

    def arrays(self) -> dict[str, np.ndarray]:
        """All that was learned. What waits for its next action is counted as if the episode were cut off here."""
        rows = self._rows.copy()
        for waiting in self._pending:
            if waiting is not None:
                rows.learn(waiting)
        return rows.arrays() | self._coder.arrays()

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        self._rows.restore(arrays)
        self._coder.restore(arrays)
        self._pending = [None] * self.lanes

    @property
    def what(self) -> dict[str, str]:
        """What must agree for counts to mean the same."""
        return {
            "observations": in_one_line(self.observation_space),
            "actions": in_one_line(self.action_space),
            "bounds": fingerprint(self.observation_space) + fingerprint(self.action_space),
            "counts": f"{self.features}, discount {self.discount}, learning rate {self.learning_rate}",
            "seed": str(self._seed) if isinstance(self.features, KWinners) else "any",
        }

    def _keys_of(self, observations: Any) -> Iterator[Keys]:
        return map(self._coder.keys, each_of(self.observation_space, observations))

    def _settle(self, lane: int) -> None:
        """No next action will come: the provisional value of what waits for one stands."""
        waiting = self._pending[lane]
        if waiting is not None:
            self._rows.learn(waiting)
        self._pending[lane] = None
