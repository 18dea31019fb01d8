"""Generalized counts by networks or learned features: the explorers of agents, one visit at a time.

The only part of the wrappers that runs in JAX.
"""

# JAX and Equinox: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from dorax.agents.explorers.making import explorer_of_one
from dorax.agents.explorers.protocol import Explorer, Visited
from dorax.agents.value_network import Inputs
from dorax.core.checks import InvalidInput
from dorax.core.counters import EValues, Visits
from dorax.core.counts import mean_count
from dorax.features.specs import CountNetwork, LearnedPrototypes, RandomStart
from dorax.wrappers.counts import CountsOfSpaces
from dorax.wrappers.inputs import Scaled
from dorax.wrappers.parts import as_box
from dorax.wrappers.spaces import Enumeration, enumeration, index_key, unbatched


class Taken(NamedTuple):
    """A step that waits for the action that follows it.

    Attributes:
        x: what the explorer sees of the state.
        action: the index of the action.
        next_x: what it sees of the state that followed.
        terminated: whether the episode ended there.
    """

    x: Any
    action: int
    next_x: Any
    terminated: bool


class ExploredCounts(CountsOfSpaces):
    """`GeneralizedCounts` by networks or learned features, with the explorers of `dorax.ParallelAgent`.

    A visit is learned from when the next action is known, and the network learns from several visits at a time. Where
    there is no next action, after truncation, it is drawn uniformly.

    Args:
        observation_space: of a single environment.
        action_space: of a single environment; a count is kept for each action.
        num_envs: the number of environments that run in parallel.
        counter: counts visits, generalized (`EValues`) or plain (`Visits`).
        features: `CountNetwork`, `RandomStart` or `LearnedPrototypes`.
        seed: seeds the networks and the order in which they learn.

    Attributes:
        counter: as given.
        features: as given.
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
        features: CountNetwork | RandomStart | LearnedPrototypes,
        seed: int = 0,
    ) -> None:
        super().__init__(observation_space, action_space, num_envs, counter, features, seed)
        inputs, self._seen = network_inputs(observation_space)
        described = EValues(self._discount, learning_rate=self.learning_rate, features=features)
        self._explorer = explorer_of_one(described, _count, inputs, self.num_actions, every=1)
        self._key = jax.random.key(np.uint32(seed))
        self._state: Any = eqx.filter_jit(self._explorer.init)(self._key)
        self._visits = 0

    def of(self, observations: Any) -> np.ndarray:
        """Return the counts of all actions in the given states.

        Args:
            observations: a list of observations, or a batch as a vector environment returns it.

        Returns:
            An array, states x actions.
        """
        seen = map(self._seen, unbatched(self.observation_space, observations))
        return np.array([_counts(self._explorer, self._state, x) for x in seen], np.float64)

    def visits_of(self, observations: Any) -> NoReturn:
        """Raise `InvalidInput`: networks do not know how often an action was taken.

        Args:
            observations: any.
        """
        raise InvalidInput(f"visits are unknown with {type(self.features).__name__}; allowed: features with tables")

    def table(self) -> NoReturn:
        """Raise `InvalidInput`: there is no table."""
        raise InvalidInput(f"there is no table with {type(self.features).__name__}; allowed: features with tables")

    def begin(self, observation: Any, env_index: int = 0) -> None:
        """Begin an episode. If the one before did not end, it is treated as truncated.

        Args:
            observation: the first of the episode.
            env_index: the environment in which it begins.
        """
        self._learn_pending(env_index)
        x = self._seen(observation)
        self._state = _begun(self._explorer, self._state, x)
        self._current[env_index] = x

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
            The count of the visited pair after this visit, with the mean of E over the actions that may follow; if the
            step is not counted, the count as it was.
        """
        x = self._here(env_index)
        index, next_x = self.action_index(action), self._seen(next_observation)
        self._current[env_index] = next_x
        self._learn_pending(env_index, index if is_counted else None)
        if not is_counted:
            return float(_counts(self._explorer, self._state, x)[index])
        taken = Taken(x, index, next_x, bool(terminated))
        counts = _visited_counts(self._explorer, self._state, *_as_arrays(taken))
        self._pending[env_index] = taken
        if terminated or truncated:
            self._learn_pending(env_index)
        return mean_count(np.asarray(counts, np.float64).tolist(), self.learning_rate)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything that was learned, to be saved. Running episodes are treated as truncated."""
        state, visits = self._state, self._visits
        for taken in self._pending:
            if taken is not None:
                state, visits = self._after(state, visits, taken, None)
        leaves = {f"state/{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(state))}
        return leaves | {"visits": np.array(visits)}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Replace what was learned by what `arrays` returned.

        Args:
            arrays: arrays by name.
        """
        old, structure = jax.tree.flatten(self._state)
        new = [jnp.asarray(arrays[f"state/{i}"]) for i in range(len(old))]
        if any(leaf.shape != like.shape for leaf, like in zip(new, old, strict=True)):
            raise ValueError("the arrays have other shapes than those of these features")
        self._state, self._visits = jax.tree.unflatten(structure, new), int(arrays["visits"])
        self._pending = [None] * self.num_envs

    def _learn_pending(self, env_index: int, next_action: int | None = None) -> None:
        """Learn from the last step of an environment; without a next action, after one drawn uniformly."""
        taken = self._pending[env_index]
        if taken is not None:
            self._state, self._visits = self._after(self._state, self._visits, taken, next_action)
        self._pending[env_index] = None

    def _after(self, state: Any, visits: int, taken: Taken, next_action: int | None) -> tuple[Any, int]:
        """Return the state and the number of visits after a step."""
        if next_action is None:
            next_action = int(np.random.default_rng((self._seed, visits)).integers(self.num_actions))
        key = jax.random.fold_in(self._key, visits)
        after = _learned(self._explorer, state, *_as_arrays(taken), np.asarray(next_action, np.int32), key)
        return after, visits + 1


def network_inputs(space: spaces.Space[Any]) -> tuple[Inputs, Callable[[Any], Any]]:
    """Return what networks see of a space, and the function that makes it of an observation.

    Args:
        space: the observation space.
    """
    elements = enumeration(space)
    if elements is None:
        box, vector = as_box(space)
        scaled = Scaled(box)
        return Inputs(scaled.size), scaled if box is space else _Composed(vector, scaled)
    return Inputs(elements.size, is_finite=True), _Numbered(elements, space)


class _Composed:
    """Two functions, one after the other."""

    def __init__(self, first: Callable[[Any], Any], second: Callable[[Any], Any]) -> None:
        self._first, self._second = first, second

    def __call__(self, observation: Any) -> Any:
        return self._second(self._first(observation))


class _Numbered:
    """The numbers of the states of a finite space."""

    def __init__(self, elements: Enumeration, space: spaces.Space[Any]) -> None:
        self._elements, self._space = elements, space

    def __call__(self, observation: Any) -> np.int32:
        return np.int32(index_key(self._elements, self._space, observation))


def _as_arrays(taken: Taken) -> tuple[Any, Any, Any, Any]:
    """Return a step as arrays: each new Python number would be compiled in."""
    return taken.x, np.asarray(taken.action, np.int32), taken.next_x, np.asarray(taken.terminated, bool)


def _count(count: Any, rate: Any) -> Any:
    """A bonus that is the count itself."""
    del rate
    return count


@eqx.filter_jit
def _counts(explorer: Explorer[Any], state: Any, x: Any) -> Any:
    counts = explorer.look(state, jnp.asarray(x)[None]).counts
    assert counts is not None
    return counts[0]


@eqx.filter_jit
def _begun(explorer: Explorer[Any], state: Any, x: Any) -> Any:
    """Return the state after an episode has begun."""
    zero, no = jnp.zeros((), jnp.int32), jnp.zeros((), bool)
    return explorer.observe(state, _step(explorer, state, x, zero, x, no, zero, is_start=True))[0]


@eqx.filter_jit
def _visited_counts(explorer: Explorer[Any], state: Any, x: Any, action: Any, next_x: Any, terminated: Any) -> Any:
    """Return the counts of a pair after a visit, for each action that may follow it."""

    def count(next_action: Any) -> Any:
        return explorer.observe(state, _step(explorer, state, x, action, next_x, terminated, next_action))[1][0]

    counts = explorer.look(state, jnp.asarray(next_x)[None]).counts
    assert counts is not None
    return jax.vmap(count)(jnp.arange(counts.shape[1], dtype=jnp.int32))


@eqx.filter_jit
def _learned(
    explorer: Explorer[Any], state: Any, x: Any, action: Any, next_x: Any, terminated: Any, next_action: Any, key: Any
) -> Any:
    """Return the state after a step and an update."""
    step = _step(explorer, state, x, action, next_x, terminated, next_action)
    state, _, row = explorer.observe(state, step)
    return explorer.update(state, jax.tree.map(lambda leaf: leaf[None], row), key, jnp.ones((), bool))


def _step(
    explorer: Explorer[Any], state: Any, x: Any, action: Any, next_x: Any, terminated: Any, next_action: Any,
    *, is_start: bool = False,
) -> Visited:  # fmt: skip
    """Describe one step of one game."""
    x, action, next_x, terminated, next_action = (
        jnp.asarray(one)[None] for one in (x, action, next_x, terminated, next_action)
    )
    starts = jnp.full(1, is_start)
    seen, arrived = explorer.look(state, x).features, explorer.look(state, next_x)
    return Visited(x, seen, action, next_x, arrived, next_action, terminated, terminated, starts, ~starts)
