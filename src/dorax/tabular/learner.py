"""A learner for a user's own loop: the agents of the engine, one step at a time, in NumPy."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np

from dorax.core.checks import InvalidInput
from dorax.files import replacing
from dorax.tabular.agent import Arrival, TabularAgent


class TabularLearner:
    """Tables that learn from the steps of any environment with numbered states and actions.

        learner = dorax.TabularLearner(agent, states=16, actions=4)
        action = learner.act(state)
        next_state, reward, terminated, truncated, _ = env.step(action)
        learner.observe(state, action, reward, next_state, terminated, truncated)

    `q` and `count` are the tables, states x actions. States that lack actions are
    declared by `available`, a table of booleans.
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
        for name, size in (("states", states), ("actions", actions)):
            if int(size) != size or size < 1:
                raise InvalidInput(f"{name} is {size}; allowed: a whole number, 1 or more")
        self.agent = agent
        shape = (int(states), int(actions))
        entry = agent.learner.initial_entry(agent.discount)
        self._tables = {name: np.full(shape, value, dtype) for name, value in entry.items()}
        if available is not None:
            self._tables["q"][~_checked_mask(available, shape)] = -np.inf
        self._shared = {name: np.asarray(value, dtype) for name, value in agent.learner.initial_shared().items()}
        self.count = np.zeros(shape, dtype)
        self.steps = 0
        self.random: Any = np.random.default_rng(seed)
        self._chosen: tuple[int, int] | None = None

    @property
    def q(self) -> np.ndarray:
        return self._tables["q"]

    def act(self, state: int) -> int:
        """The action that the rule takes here: already chosen if `observe` led here, else chosen now."""
        if self._chosen is None or self._chosen[0] != state:
            self._chosen = (self._checked(state, "state", 0), self._choose(state))
        return self._chosen[1]

    def greedy_action(self, state: int) -> int:
        """The action of highest value, for evaluation: it leaves the learner as it is."""
        return int(np.argmax(self.q[self._checked(state, "state", 0)]))

    def observe(
        self, state: int, action: int, reward: float, next_state: int, terminated: bool, truncated: bool = False
    ) -> None:
        """Learn from one step. The next action is chosen first: E-values are learned by SARSA."""
        pair = self._checked(state, "state", 0), self._checked(action, "action", 1)
        arrives = self._checked(next_state, "next_state", 0)
        if self.q[pair] == -np.inf:
            raise InvalidInput(f"action is {action}; allowed: {np.flatnonzero(self.q[pair[0]] > -np.inf).tolist()}")
        if not np.isfinite(reward):
            raise InvalidInput(f"reward is {reward}; allowed: a finite number")
        self.steps += 1
        next_action = 0 if terminated else self._choose(arrives)
        arrival = Arrival(
            self.count.dtype.type(reward), np.bool_(terminated), self.q[arrives], self.count[arrives], next_action
        )
        entry = {name: table[pair] for name, table in self._tables.items()}
        entry, self._shared, count = self.agent.learned(entry, self._shared, self.count[pair], arrival, self.steps)
        for name, value in entry.items():
            self._tables[name][pair] = value
        self.count[pair] = count
        self._chosen = None if terminated or truncated else (arrives, next_action)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything, atomically, to one `.npz` file without pickles."""
        facts = {
            "agent": _fingerprint(self.agent),
            "steps": self.steps,
            "random": self.random.bit_generator.state,
            "chosen": self._chosen,
        }
        arrays: dict[str, Any] = {f"table_{name}": table for name, table in self._tables.items()}
        arrays |= {f"shared_{name}": value for name, value in self._shared.items()}
        with replacing(Path(path)) as unfinished, open(unfinished, "wb") as file:
            np.savez(file, facts=json.dumps(facts), count=self.count, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], agent: TabularAgent) -> TabularLearner:
        """A saved learner of the same agent, which goes on as if it had never stopped."""
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as saved:
                arrays = dict(saved)
            facts = json.loads(str(arrays["facts"]))
            theirs = facts["agent"]
            learner = cls(agent, *arrays["count"].shape, dtype=arrays["count"].dtype)
            if theirs == _fingerprint(agent):
                learner._restore(arrays, facts)
        except Exception as error:  # a damaged archive fails in as many ways as it has parts
            reason = " ".join(str(error).split()) or type(error).__name__
            raise InvalidInput(
                f"cannot read {path}: {reason}; allowed: a file that TabularLearner.save wrote"
            ) from error
        if theirs != _fingerprint(agent):
            raise InvalidInput(f"{path} holds the agent {theirs}; allowed: the one given, {_fingerprint(agent)}")
        return learner

    def _restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        self.count, self.steps = arrays["count"], int(facts["steps"])
        self._tables = {name: arrays[f"table_{name}"] for name in self._tables}
        self._shared = {name: arrays[f"shared_{name}"] for name in self._shared}
        self._chosen = None if facts["chosen"] is None else tuple(facts["chosen"])
        self.random.bit_generator.state = facts["random"]

    def _choose(self, state: int) -> int:
        return int(self.agent.rule(self.q[state], self.count[state], self.steps, self.random.random()))

    def _checked(self, index: int, name: str, axis: int) -> int:
        size = self.count.shape[axis]
        if int(index) != index or not 0 <= index < size:
            raise InvalidInput(f"{name} is {index}; allowed: 0 to {size - 1}")
        return int(index)


def _fingerprint(agent: TabularAgent) -> str:
    """The structure of an agent and all its numbers, in one line."""
    return " ".join(eqx.tree_pformat(agent, short_arrays=False).split())


def _checked_mask(available: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    mask = np.asarray(available, bool)
    if mask.shape != shape:
        raise InvalidInput(f"available has shape {mask.shape}; allowed: {shape}")
    if not mask.any(axis=1).all():
        raise InvalidInput(f"available has no action for state {np.argmin(mask.any(axis=1))}; allowed: at least one")
    return mask
