"""Tabular learners: the same updates as in the engine, one step at a time, with NumPy and Python numbers."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np

from dorax.agents.tabular.agent import VALUES, Outcome, Tables, TabularAgent
from dorax.core.checks import InvalidInput, check_whole
from dorax.core.schedules import at_step, has_schedule
from dorax.engine.learner import Learner, saved_memory
from dorax.envs.simulation import EnvSpec


class TabularLearner(Learner):
    """A learner for any environment with numbered states and actions.

        learner = dorax.TabularLearner(agent, states=16, actions=4)
        action = learner.act(state)
        next_state, reward, terminated, truncated, _ = env.step(action)
        learner.observe(state, action, reward, next_state, terminated, truncated)

    Args:
        agent: a `TabularAgent`.
        states: number of states.
        actions: number of actions.
        seed: seed of the random numbers.
        available: whether an action is available in a state, states x actions; by default all are.
        dtype: dtype of the tables.

    Attributes:
        random: random number generator.
        q_table: values, states x actions; -inf for unavailable actions.
        novelty_table: novelty, states x actions; None unless the update rule is `NoveltyQLearning`.
        count_table: counts, states x actions.
    """

    def __init__(
        self,
        agent: TabularAgent,
        states: int,
        actions: int,
        *,
        seed: int = 0,
        available: np.ndarray | None = None,
        dtype: Any = np.float64,
    ) -> None:
        check_whole("states", _whole(states))
        check_whole("actions", _whole(actions))
        if not isinstance(agent, TabularAgent):  # pyright: ignore[reportUnnecessaryIsInstance]  # from users
            raise InvalidInput(f"agent is {agent!r}; allowed: a TabularAgent")
        shape = (int(states), int(actions))
        mask = np.ones(shape, bool) if available is None else _checked_mask(available, shape)
        self.agent, self.spec = agent, EnvSpec(f"{states} states", int(actions), available=mask)
        self.steps = 0
        entry = agent.initial_entry()
        self._tables = {name: np.full(shape, value, dtype) for name, value in entry.items()}
        for name in VALUES & self._tables.keys():
            self._tables[name][~mask] = -np.inf
        self._shared = {name: float(value) for name, value in agent.update.initial_shared().items()}
        self.count_table = np.zeros(shape, dtype)
        self.random: Any = np.random.default_rng(seed)
        self._next: tuple[int, int] | None = None
        self._rows, self._arrived, self._is_over = [], None, True  # a table learns from every step alone
        # Bound once: attribute lookups take microseconds per step. If all actions are available, no mask is needed.
        self._rule, self._learned = agent.rule, agent.learned
        self._has_schedule = has_schedule(agent.rule)
        self._passes_on = agent.successor_count if not mask.all() else partial(_of_counts, agent.counter.successor)

    @classmethod
    def of(cls, agent: TabularAgent, spec: EnvSpec, memory: Any, *, steps: int, seed: int) -> TabularLearner:
        """Make a learner for an MDP.

        Args:
            agent: the agent.
            spec: description of the MDP.
            memory: what was learned in the engine; None for a new learner.
            steps: number of steps learned from so far.
            seed: seed of the random numbers.

        Returns:
            The learner.
        """
        assert spec.available is not None
        learner = cls(agent, *spec.available.shape, available=spec.available, seed=seed, dtype=np.float32)
        learner.spec, learner.steps = spec, steps
        if memory is not None:
            learner.memory = memory
        return learner

    @property
    def q_table(self) -> np.ndarray:
        return self._tables["q"]

    @property
    def novelty_table(self) -> np.ndarray | None:
        return self._tables.get("novelty")

    @property
    def memory(self) -> Any:
        """What was learned, in the engine's format (`Tables`)."""
        shared = {name: np.asarray(value, self.count_table.dtype) for name, value in self._shared.items()}
        tables: Any = self._tables, shared, self.count_table
        return Tables(*tables)

    @memory.setter
    def memory(self, memory: Any) -> None:
        """Replace what was learned; padding states of the engine are dropped."""
        states = self.count_table.shape[0]
        self._tables = {name: np.array(table)[:states] for name, table in memory.tables.items()}
        self._shared = {name: float(value) for name, value in memory.shared.items()}
        self.count_table = np.array(memory.counts)[:states]

    def act(self, observation: int) -> int:
        """Choose an action by the agent's rule. After `observe`, this is the next action that was chosen there.

        Args:
            observation: the current state.

        Returns:
            The action.
        """
        if self._next is None or self._next[0] != observation:
            state = self._state(observation, "state")
            self._next = state, self._choose(state)
        return self._next[1]

    def sample_action(self, observation: int) -> int:
        """Choose an action by the agent's rule, for evaluation. Only the random number generator changes.

        Args:
            observation: the current state.

        Returns:
            The action.
        """
        return self._choose(self._state(observation, "state"))

    def observe(
        self,
        observation: int,
        action: int,
        reward: float,
        next_observation: int,
        terminated: bool,
        truncated: bool = False,
    ) -> None:
        """Learn from one step. The next action is chosen before the update, because E-values are learned by SARSA.

        Args:
            observation: state before the action.
            action: action taken.
            reward: the environment's reward.
            next_observation: state after the action.
            terminated: whether the episode ended in a terminal state.
            truncated: whether the episode was cut off, as by a time limit.
        """
        state, arrived = self._state(observation, "state"), self._state(next_observation, "next_state")
        if not 0 <= action < self.spec.actions or action != int(action):
            raise InvalidInput(f"action is {action}; allowed: 0 to {self.spec.actions - 1}")
        action = int(action)
        if self.q_table[state, action] == -np.inf:
            available = np.flatnonzero(self.q_table[state] > -np.inf).tolist()
            raise InvalidInput(f"action is {action}; allowed: {available}")
        reward = float(reward)
        if not -np.inf < reward < np.inf:
            raise InvalidInput(f"reward is {reward}; allowed: a finite number")
        self.steps += 1
        next_action = 0 if terminated else self._choose(arrived)
        # Python numbers: the formulas are twenty times faster than with NumPy scalars.
        values, counts = self.q_table[arrived], self.count_table[arrived]
        successor_count = float(self._passes_on(values, counts, next_action))
        novelty = self.novelty_table
        successor_novelty = None if novelty is None else novelty.item(arrived, next_action)
        outcome = Outcome(reward, bool(terminated), float(values.max()), successor_count, successor_novelty)
        entry = {name: table.item(state, action) for name, table in self._tables.items()}
        count = self.count_table.item(state, action)
        entry, self._shared, count = self._learned(entry, self._shared, count, outcome, self.steps)
        for name, value in entry.items():
            self._tables[name][state, action] = value
        self.count_table[state, action] = count
        self._next = None if terminated or truncated else (arrived, next_action)

    def q(self, observation: int) -> np.ndarray:
        """Return the values of all actions; -inf for unavailable ones.

        Args:
            observation: the state.
        """
        return self.q_table[self._state(observation, "state")].copy()

    def counts(self, observation: int) -> np.ndarray:
        """Return the counts of all actions.

        Args:
            observation: the state.
        """
        return self.count_table[self._state(observation, "state")].copy()

    def _choose(self, state: int) -> int:
        values, counts = self.q_table[state], self.count_table[state]
        if self.novelty_table is not None:
            values = values + self.novelty_table[state]
        rule = at_step(self._rule, self.steps) if self._has_schedule else self._rule
        return int(rule(values, counts, self.steps, self.random.random()))

    def _state(self, observation: Any, name: str) -> int:
        try:
            state = int(observation)
        except (TypeError, ValueError, OverflowError):
            state = -1
        if state != observation or not 0 <= state < len(self.count_table):
            raise InvalidInput(f"{name} is {observation}; allowed: 0 to {len(self.count_table) - 1}")
        return state

    def _facts(self) -> dict[str, Any]:
        self._chosen: Any = self._next
        return super()._facts()

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {f"memory/{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(self.memory))}
        assert self.spec.available is not None
        return arrays | {"available": self.spec.available}

    @classmethod
    def restored(
        cls, agent: Any, spec: EnvSpec, facts: dict[str, Any], arrays: dict[str, np.ndarray]
    ) -> TabularLearner:
        """Rebuild a learner from the contents of a file that `save` wrote.

        Args:
            agent: the agent.
            spec: description of the environment.
            facts: the file's metadata.
            arrays: the file's arrays.

        Returns:
            The learner.
        """
        learner = cls.of(agent, spec, None, steps=int(facts["steps"]), seed=0)
        learner.memory = saved_memory(learner.memory, arrays)
        learner.random.bit_generator.state = facts["random"]
        learner._next = None if facts["chosen"] is None else (int(facts["chosen"][0]), int(facts["chosen"][1]))
        return learner


def _of_counts(successor: Callable[[Any, Any], Any], values: Any, counts: Any, action: Any) -> Any:
    del values
    return successor(counts, action)


def _whole(size: Any) -> Any:
    """Convert an integer of another type, such as Gymnasium's `n`, to int."""
    return int(size) if np.ndim(size) == 0 and size == int(size) else size


def _checked_mask(available: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    mask = np.asarray(available, bool)
    if mask.shape != shape:
        raise InvalidInput(f"available has shape {mask.shape}; allowed: {shape}")
    if not mask.any(axis=1).all():
        raise InvalidInput(f"available has no action for state {np.argmin(mask.any(axis=1))}; allowed: at least one")
    return mask
