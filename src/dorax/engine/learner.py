"""Learners: agents together with what they have learned, to act, inspect, save and train further."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from dorax.archive import read_archive, write_archive
from dorax.core.checks import InvalidInput, in_brief
from dorax.engine.describing import plain, words_of
from dorax.engine.protocols import Agent, Algorithm, Step, View
from dorax.engine.settings import as_arrays
from dorax.envs.simulation import EnvSpec

KIND = "learner"


class Learner:
    """An agent together with what it has learned in one environment.

        learner = dorax.train(agent, env, episodes=100).learner()
        action = learner.act(observation)
        next_observation, reward, terminated, truncated, _ = gym_env.step(action)
        learner.observe(observation, action, reward, next_observation, terminated, truncated)
        learner.save("learner.npz")     # dorax.load("learner.npz") restores it

    Args:
        agent: the agent.
        spec: description of the environment.
        memory: what was learned; None for a new learner.
        steps: number of steps learned from so far.
        seed: seed of the random numbers.

    Attributes:
        agent: the agent.
        spec: description of the environment.
        memory: what was learned, a tree of arrays.
        steps: number of steps learned from.
        random: random number generator.
    """

    def __init__(self, agent: Agent, spec: EnvSpec, memory: Any = None, *, steps: int = 0, seed: int = 0) -> None:
        self.agent, self.spec, self.steps = agent, spec, steps
        self._algorithm: Any = self._algorithm_of(as_arrays(agent))
        self._key = jax.random.key(np.uint32(seed))
        self.memory = self._new_memory() if memory is None else jax.tree.map(jnp.asarray, memory)
        self.random: Any = np.random.default_rng(seed)
        self._chosen: tuple[np.ndarray, int] | None = None
        self._arrived: np.ndarray | None = None  # the last observation
        self._is_over = True  # whether the episode ended there
        self._rows: list[list[Any]] = []  # leaves of the rows since the last update

    def __repr__(self) -> str:
        return f"Learner of {self.agent!r}, {self.steps} steps, in {self.spec.name}"

    def act(self, observation: Any) -> int:
        """Choose an action by the agent's rule. After `observe`, this is the next action that was chosen there.

        Args:
            observation: the current observation.

        Returns:
            The action.
        """
        here = self._checked(observation, "observation")
        if self._chosen is None or not np.array_equal(self._chosen[0], here):
            action = _chosen_action(self._algorithm, self.memory, here, *self._chance())
            self._chosen = here, int(action)
        return self._chosen[1]

    def greedy_action(self, observation: Any) -> int:
        """Return the action with the highest value, for evaluation. The learner does not change.

        Args:
            observation: the current observation.
        """
        return int(np.argmax(self.q(observation)))

    def sample_action(self, observation: Any) -> int:
        """Choose an action by the agent's rule, for evaluation. Only the random number generator changes.

        Args:
            observation: the current observation.

        Returns:
            The action.
        """
        here = self._checked(observation, "observation")
        return int(_chosen_action(self._algorithm, self.memory, here, *self._chance()))

    def observe(
        self,
        observation: Any,
        action: int,
        reward: float,
        next_observation: Any,
        terminated: bool,
        truncated: bool = False,
    ) -> None:
        """Learn from one step. The next action is chosen before the update, because E-values are learned by SARSA.

        Args:
            observation: observation before the action.
            action: action taken.
            reward: the environment's reward.
            next_observation: observation after the action.
            terminated: whether the episode ended in a terminal state.
            truncated: whether the episode was cut off, as by a time limit.
        """
        here, arrived = self._checked(observation, "observation"), self._checked(next_observation, "next_observation")
        if not 0 <= int(action) < self.spec.actions or int(action) != action:
            raise InvalidInput(f"action is {action}; allowed: 0 to {self.spec.actions - 1}")
        if not np.isfinite(reward):
            raise InvalidInput(f"reward is {reward}; allowed: a finite number")
        if getattr(self._algorithm, "sees_starts", False):
            last = here if self._arrived is None else self._arrived
            if self._is_over or not np.array_equal(here, last):
                self.memory, row = _started(self._algorithm, self.memory, last, here, np.asarray(self.steps, np.int32))
                self._learn(row)
        self.steps += 1
        self.memory, next_action, row = _observed(
            self._algorithm, self.memory, here, np.asarray(action, np.int32), np.asarray(reward, np.float32), arrived,
            np.asarray(terminated, bool), np.asarray(truncated, bool), *self._chance(),
        )  # fmt: skip
        self._chosen = None if terminated or truncated else (arrived, int(next_action))
        self._arrived, self._is_over = arrived, bool(terminated or truncated)
        self._learn(row)

    def _learn(self, row: Any) -> None:
        """Keep the row of a step, and make an update if it is time."""
        every = self._algorithm.every
        if every is None:
            return
        leaves, structure = jax.tree.flatten(row)
        self._rows.append(leaves)
        if len(self._rows) == every:
            self._update(jax.tree.unflatten(structure, [jnp.stack(column) for column in zip(*self._rows, strict=True)]))
            self._rows = []

    def _update(self, rows: Any) -> None:
        self.memory = _updated(self._algorithm, self.memory, rows, jax.random.fold_in(self._key, self.steps))

    def _prepare(self, facts: dict[str, Any]) -> None:
        """Give the memory the structure of a saved learner's, before its arrays are loaded."""

    def _algorithm_of(self, agent: Any) -> Any:
        """Return the algorithm of the agent, whose numbers are arrays, for one game of this environment."""
        return agent.algorithm(self.spec)

    def _new_memory(self) -> Any:
        """Return the memory of a new learner."""
        return self._algorithm.init(self._key)

    def q(self, observation: Any) -> np.ndarray:
        """Return the values of all actions.

        Args:
            observation: the observation to evaluate.
        """
        return np.asarray(_view(self._algorithm, self.memory, self._checked(observation, "observation")).values)

    def counts(self, observation: Any) -> np.ndarray:
        """Return the counts of all actions; 0 if the agent has no counter.

        Args:
            observation: the observation to evaluate.
        """
        return np.asarray(_view(self._algorithm, self.memory, self._checked(observation, "observation")).counts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to one file, atomically. `dorax.load` restores it exactly.

        Args:
            path: file to write.
        """
        write_archive(path, KIND, self._facts(), self._arrays())

    def _facts(self) -> dict[str, Any]:
        spec = {name: value for name, value in asdict(self.spec).items() if name != "available"}
        chosen = None if self._chosen is None else [np.asarray(self._chosen[0]).tolist(), self._chosen[1]]
        return {
            "agent": plain(self.agent),
            "words": words_of(self.agent),
            "spec": spec,
            "steps": self.steps,
            "random": self.random.bit_generator.state,
            "chosen": chosen,
            "arrived": None if self._arrived is None else np.asarray(self._arrived).tolist(),
            "is_over": self._is_over,
            "waiting": len(self._rows),  # rows may have no arrays, where a replay has it all
        }

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {f"memory/{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(self.memory))}
        arrays |= {f"rows/{n}/{i}": np.asarray(leaf) for n, row in enumerate(self._rows) for i, leaf in enumerate(row)}
        arrays["key"] = np.asarray(jax.random.key_data(self._key))
        return arrays | ({} if self.spec.available is None else {"available": self.spec.available})

    @classmethod
    def restored(cls, agent: Any, spec: EnvSpec, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> Learner:
        """Rebuild a learner from the contents of a file that `save` wrote.

        Args:
            agent: the agent.
            spec: description of the environment.
            facts: the file's metadata.
            arrays: the file's arrays.

        Returns:
            The learner.
        """
        learner = cls(agent, spec, steps=int(facts["steps"]))
        learner._prepare(facts)
        learner.memory = jax.tree.map(jnp.asarray, saved_memory(learner.memory, arrays))
        learner._key = jax.random.wrap_key_data(jnp.asarray(arrays["key"]))
        learner.random.bit_generator.state = facts["random"]
        chosen, arrived = facts["chosen"], facts["arrived"]
        kind = np.float32 if spec.available is None else np.int32
        learner._chosen = None if chosen is None else (np.asarray(chosen[0], kind), int(chosen[1]))
        learner._arrived = None if arrived is None else np.asarray(arrived, kind)
        learner._is_over = bool(facts["is_over"])
        width = len([name for name in arrays if name.startswith("rows/0/")])
        rows = range(int(facts["waiting"]))
        learner._rows = [[jnp.asarray(arrays[f"rows/{n}/{i}"]) for i in range(width)] for n in rows]
        return learner

    def _chance(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the steps so far and a random number, as arrays: each new Python number would be compiled in."""
        return np.asarray(self.steps, np.int32), np.asarray(self.random.random(), np.float32)

    def _checked(self, observation: Any, name: str) -> np.ndarray:
        if self.spec.available is not None:
            states = len(self.spec.available)
            if np.ndim(observation) or int(observation) != observation or not 0 <= observation < states:
                raise InvalidInput(f"{name} is {in_brief(observation)}; allowed: a state, 0 to {states - 1}")
            return np.asarray(observation, np.int32)
        here = np.asarray(observation, np.float32)
        shape = (len(self.spec.low or ()),)
        allowed = shape if self.spec.shape is None else self.spec.shape
        if here.shape not in (shape, allowed) and (*here.shape, 1) != allowed:
            raise InvalidInput(f"the shape of {name} is {here.shape}; allowed: {allowed}, as of {self.spec.name}")
        if not np.isfinite(here).all():
            raise InvalidInput(f"{name} is {in_brief(here.tolist())}; allowed: finite numbers")
        return here.ravel()


def saved_memory(like: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Rebuild the memory of a saved learner.

    Args:
        like: a memory of the same structure and shapes.
        arrays: the file's arrays.

    Returns:
        The memory, as NumPy arrays.
    """
    leaves, structure = jax.tree.flatten(like)
    found = [arrays[f"memory/{i}"] for i in range(len(leaves))]
    if any(new.shape != old.shape for new, old in zip(found, leaves, strict=True)):
        raise ValueError("the arrays have other shapes than the agent's")
    return jax.tree.unflatten(structure, found)


def read_learner(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray], EnvSpec]:
    """Read a file that `Learner.save` wrote.

    Args:
        path: file to read.

    Returns:
        Its metadata, its arrays and the description of the environment.
    """
    facts, arrays = read_archive(path, KIND)
    listed = {name: facts["spec"].get(name) for name in ("low", "high", "shape")}
    spec = facts["spec"] | {name: tuple(numbers) for name, numbers in listed.items() if numbers}
    return facts, arrays, EnvSpec(available=arrays.get("available"), **spec)


@eqx.filter_jit
def _view(algorithm: Algorithm[Any], memory: Any, here: Any) -> View:
    def first(leaf: Array) -> Array:
        return leaf[0]

    return jax.tree.map(first, algorithm.view(memory, here[None]))


@eqx.filter_jit
def _chosen_action(algorithm: Algorithm[Any], memory: Any, here: Any, steps: Any, uniform: Any) -> Int[Array, ""]:
    return algorithm.act(algorithm.view(memory, here[None]), jnp.asarray(steps), jnp.asarray(uniform)[None])[0]


@eqx.filter_jit
def _observed(
    algorithm: Algorithm[Any], memory: Any, here: Any, action: Any, reward: Any, arrived: Any, terminated: Any,
    truncated: Any, steps: Any, uniform: Any,
) -> tuple[Any, Int[Array, ""], Any]:  # fmt: skip
    """Return the memory after one step, the next action, and the row for the update."""
    seen, view = algorithm.view(memory, here[None]), algorithm.view(memory, arrived[None])
    next_action = algorithm.act(view, jnp.asarray(steps), jnp.asarray(uniform)[None])
    step = Step(
        features=seen.features,
        action=jnp.asarray(action, jnp.int32)[None],
        reward=jnp.asarray(reward, float)[None],
        terminated=jnp.asarray(terminated)[None],
        truncated=jnp.asarray(truncated)[None],
        is_start=jnp.zeros(1, bool),
        next_view=view,
        next_action=next_action.astype(jnp.int32),
        learns=jnp.ones(1, bool),
        steps=jnp.asarray(steps, jnp.int32),
    )
    memory, _, row = algorithm.observe(memory, step)
    return memory, next_action[0], row


@eqx.filter_jit
def _started(algorithm: Algorithm[Any], memory: Any, last: Any, here: Any, steps: Any) -> tuple[Any, Any]:
    """Return the memory and the row of the step that leads from the end of an episode to the start of the next one.

    There is nothing to learn from it, but what an episode ended with stands between its rows and those of the next.
    """
    seen, view = algorithm.view(memory, last[None]), algorithm.view(memory, here[None])
    no, zero = jnp.zeros(1, bool), jnp.zeros(1, jnp.int32)
    step = Step(seen.features, zero, jnp.zeros(1), no, no, ~no, view, zero, no, jnp.asarray(steps, jnp.int32))
    memory, _, row = algorithm.observe(memory, step)
    return memory, row


@eqx.filter_jit
def _updated(algorithm: Algorithm[Any], memory: Any, rows: Any, key: Any) -> Any:
    return algorithm.update(memory, rows, key, jnp.ones((), bool))
