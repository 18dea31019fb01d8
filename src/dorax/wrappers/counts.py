"""Generalized visit counts for the observations and actions of any Gymnasium environment.

E is learned by SARSA from the actions that are taken. The next action is known only one step
later, so each visit is counted twice: first provisionally, with the mean of E over the actions
of the next state, then for good when the next action is taken. When an episode ends there is
no next action: a terminal step counts as a plain visit, and a truncated one keeps its
provisional count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gymnasium import spaces

from dorax.core.checks import InvalidInput
from dorax.core.counters import EValues, Visits
from dorax.features.specs import Features, HashedCodes, KWinners
from dorax.wrappers.count_table import CountTable, Transition
from dorax.wrappers.features import Keys, default_features, make_coder, takes_smallest
from dorax.wrappers.spaces import enumerate_actions, fingerprint, in_one_line, unbatched, without_text


class CountsOfSpaces:
    """What counts of the actions and observations of some spaces have in common, wherever they are stored.

    Args:
        observation_space: of a single environment.
        action_space: of a single environment; a count is kept for each action.
        num_envs: the number of environments that run in parallel.
        counter: counts visits.
        features: how counts are stored.
        seed: seeds what is random in them.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        num_envs: int,
        counter: EValues | Visits,
        features: Any,
        seed: int,
    ) -> None:
        self.observation_space, self.action_space, self.num_envs = observation_space, action_space, num_envs
        self.counter, self.features, self._seed = counter, features, seed
        self.learning_rate, self._discount = rate_and_discount(counter)
        self.num_actions, self._index_of = enumerate_actions(action_space)
        self._current: list[Any] = [None] * num_envs  # where the running episodes are
        self._pending: list[Any] = [None] * num_envs  # visits that wait for the next action

    def action_index(self, action: Any) -> int:
        """Return the index of an action among all actions, from 0.

        Args:
            action: an element of the action space.
        """
        index = self._index_of(action)
        if not 0 <= index < self.num_actions:
            raise InvalidInput(f"the action is {in_one_line(action)}; allowed: one of {in_one_line(self.action_space)}")
        return index

    @property
    def what(self) -> dict[str, str]:
        """What must agree before saved counts can be loaded."""
        return {
            "observations": in_one_line(without_text(self.observation_space)),
            "actions": in_one_line(self.action_space),
            "bounds": fingerprint(self.observation_space) + fingerprint(self.action_space),
            "features": " ".join(str(self.features).split()),
            "counter": f"discount {self._discount}, learning rate {self.learning_rate}",
            "seed": str(self._seed),
        }

    def _here(self, env_index: int) -> Any:
        """Return where the running episode of an environment is."""
        here = self._current[env_index]
        if here is None:
            raise InvalidInput(f"environment {env_index} has no episode; allowed: visit after begin(observation)")
        return here


class GeneralizedCounts(CountsOfSpaces):
    """Generalized visit counts of state-action pairs, for one environment or for several that share their counts.

    Args:
        observation_space: of a single environment.
        action_space: of a single environment; a count is kept for each action.
        num_envs: the number of environments that run in parallel.
        counter: counts visits, generalized (`EValues`, whose learning rate is 0.5 unless given) or plain
            (`Visits`).
        features: how counts are stored: `Table`, `Tiles`, `KWinners`, `HashedCodes` or `Prototypes`; by default the
            observation space decides.
        seed: seeds the random codes of `KWinners` and `HashedCodes`.

    Attributes:
        counter: as given.
        features: as given, or as chosen for the space.
        num_actions: the number of actions of a state.
        num_envs: the number of environments.
        learning_rate: the paper's alpha_E, that of the counter or its default.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        num_envs: int = 1,
        *,
        counter: EValues | Visits = EValues(0.99),
        features: Features | None = None,
        seed: int = 0,
    ) -> None:
        features = default_features(observation_space) if features is None else features
        super().__init__(observation_space, action_space, num_envs, counter, features, seed)
        self._coder = make_coder(observation_space, self.features, seed)
        self._table = CountTable(
            self.num_actions, self.learning_rate, self._discount, takes_smallest=takes_smallest(self.features)
        )

    def of(self, observations: Any) -> np.ndarray:
        """Return the counts of all actions in the given states.

        Args:
            observations: a list of observations, or a batch as a vector environment returns it.

        Returns:
            An array, states x actions.
        """
        return np.array([self._table.counts(keys) for keys in self._keys_of(observations)])

    def visits_of(self, observations: Any) -> np.ndarray:
        """Return how often each action was taken in the given states, not generalized.

        Exact with `Table` features; with `HashedCodes`, the smallest number of visits of any entry of the state; with
        others, the largest.

        Args:
            observations: a list of observations, or a batch as a vector environment returns it.

        Returns:
            An array, states x actions.
        """
        return np.array([self._table.visits(keys) for keys in self._keys_of(observations)])

    def begin(self, observation: Any, env_index: int = 0) -> None:
        """Begin an episode. If the one before did not end, it is treated as truncated.

        Args:
            observation: the first of the episode.
            env_index: the environment in which it begins.
        """
        self._count_pending(env_index)
        self._current[env_index] = self._coder.visit(observation)
        self._merge()

    def visit(
        self,
        action: Any,
        next_observation: Any,
        terminated: bool,
        truncated: bool,
        env_index: int = 0,
        *,
        is_counted: bool = True,
    ) -> float:
        """Count one step.

        Args:
            action: the action taken.
            next_observation: what it led to; at the end of an episode, the last observation of that episode.
            terminated: whether the episode ended in a terminal state.
            truncated: whether it was cut off, as by a time limit.
            env_index: the environment that took the step.
            is_counted: if False, the step is followed but not counted.

        Returns:
            The count of the visited pair after this visit, provisional unless the episode ended; if the step is
            not counted, the count as it was.
        """
        keys: Keys = self._here(env_index)
        index = self.action_index(action)
        next_keys = (self._coder.visit if is_counted else self._coder.keys)(next_observation)
        self._current[env_index] = next_keys
        if not is_counted:
            self._count_pending(env_index)
            return self._table.counts(keys)[index]
        pending = self._pending[env_index]
        if pending is not None:
            self._table.update(pending, index)
        transition = Transition(keys, index, next_keys, bool(terminated))
        count = self._table.next_count(transition)
        self._pending[env_index] = transition
        if terminated or truncated:
            self._count_pending(env_index)
        self._coder.observe(next_observation)
        self._merge()
        return count

    def table(self) -> tuple[np.ndarray, np.ndarray]:
        """Return generalized counts and visits, one row per visited entry (state or tile), one column per action."""
        arrays = self._table.arrays()
        return arrays["counts"], arrays["visits"]

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything that was learned, to be saved. Running episodes are treated as truncated."""
        table = self._table.copy()
        for transition in self._pending:
            if transition is not None:
                table.update(transition)
        return table.arrays() | self._coder.arrays()

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Replace what was learned by what `arrays` returned.

        Args:
            arrays: arrays by name.
        """
        self._table.restore(arrays)
        self._coder.restore(arrays)
        self._pending = [None] * self.num_envs

    @property
    def what(self) -> dict[str, str]:
        """What must agree before saved counts can be loaded."""
        is_random = isinstance(self.features, KWinners | HashedCodes)
        return super().what | ({} if is_random else {"seed": "any"})

    def _keys_of(self, observations: Any) -> Iterator[Keys]:
        return map(self._coder.keys, unbatched(self.observation_space, observations))

    def _merge(self) -> None:
        """Follow the coder where it merged keys to make room for new ones."""
        moved = self._coder.merged()
        if not moved:
            return
        self._table.merge(moved)

        def current(keys: Keys) -> Keys:
            return tuple(moved.get(key, key) for key in keys)

        self._current = [None if keys is None else current(keys) for keys in self._current]
        self._pending = [
            None if one is None else one._replace(keys=current(one.keys), next_keys=current(one.next_keys))
            for one in self._pending
        ]

    def _count_pending(self, env_index: int) -> None:
        """Count the pending visit of an environment with its provisional count: there is no next action."""
        pending = self._pending[env_index]
        if pending is not None:
            self._table.update(pending)
        self._pending[env_index] = None


def rate_and_discount(counter: EValues | Visits) -> tuple[float, float]:
    """Return the learning rate and the discount of a counter, as Python floats: arrays would make every formula slower.

    Args:
        counter: the counter.

    Raises:
        InvalidInput: if wrappers do not support one of its options.
    """
    if not isinstance(counter, EValues | Visits):
        raise InvalidInput(f"counter is {counter!r}; allowed: EValues, such as EValues(0.99), or Visits()")
    if counter.features is not None:
        raise InvalidInput(
            f"features of the counter are {in_one_line(counter.features)}; "
            "allowed: None (wrappers have an option features)"
        )
    e_values = counter if isinstance(counter, EValues) else counter.approximated()
    if e_values.form != "count":
        raise InvalidInput(f"the form of E-values is {e_values.form!r}; wrappers support 'count'")
    if e_values.successor_rule != "sarsa":
        raise InvalidInput(f"successor_rule is {e_values.successor_rule!r}; wrappers support 'sarsa'")
    numbers = {
        "step size": e_values.step,
        "exploration learning rate": e_values.rate(),
        "exploration discount": e_values.discount,
    }
    for name, number in numbers.items():
        if np.ndim(number) != 0:
            raise InvalidInput(f"the {name} is {in_one_line(number)}; wrappers support one number")
    step, rate, discount = map(float, numbers.values())
    if step != 1:
        raise InvalidInput(f"the step size of E-values is {step:g}; wrappers support 1, the default")
    return rate, discount
