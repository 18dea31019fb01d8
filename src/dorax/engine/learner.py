"""A learner: an agent that has learned something, to act, to look into, to save and to train further."""

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
from dorax.core.checks import InvalidInput
from dorax.engine.describing import plain, words_of
from dorax.engine.protocols import Agent, Algorithm, Step, View
from dorax.engine.settings import as_arrays
from dorax.envs.simulation import EnvSpec

KIND = "learner"


class Learner:
    """An agent with all that it has learned, in one environment.

        learner = dorax.train(agent, env, episodes=100).learner()
        action = learner.act(observation)
        next_observation, reward, terminated, truncated, _ = gym_env.step(action)
        learner.observe(observation, action, reward, next_observation, terminated, truncated)
        learner.save("learner.npz")     # dorax.load("learner.npz") gives it back

    Attributes:
        agent: the agent.
        spec: the environment, as the learner knows it.
        memory: all that was learned, a tree of arrays.
        steps: the steps that were learned from.
        random: the generator of its random numbers.
    """

    def __init__(self, agent: Agent, spec: EnvSpec, memory: Any = None, *, steps: int = 0, seed: int = 0) -> None:
        self.agent, self.spec, self.steps = agent, spec, steps
        self._algorithm: Any = self._algorithm_of(as_arrays(agent))
        self._key = jax.random.key(np.uint32(seed))
        self.memory = self._new_memory() if memory is None else jax.tree.map(jnp.asarray, memory)
        self.random: Any = np.random.default_rng(seed)
        self._chosen: tuple[np.ndarray, int] | None = None
        self._rows: list[list[Any]] = []  # leaves of the rows since the last update

    def act(self, observation: Any) -> int:
        """The action that the agent takes here: already chosen if `observe` led here, else chosen now."""
        here = self._checked(observation, "observation")
        if self._chosen is None or not np.array_equal(self._chosen[0], here):
            action = _chosen_action(self._algorithm, self.memory, here, *self._chance())
            self._chosen = here, int(action)
        return self._chosen[1]

    def greedy_action(self, observation: Any) -> int:
        """The action of highest value, for evaluation: it leaves the learner as it is."""
        return int(np.argmax(self.q(observation)))

    def sample_action(self, observation: Any) -> int:
        """An action by the agent's own rule, for evaluation: it changes nothing but the state of the random numbers."""
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
        """Learn from one step. The next action is chosen first: E-values are learned by SARSA."""
        here, arrived = self._checked(observation, "observation"), self._checked(next_observation, "next_observation")
        if not 0 <= int(action) < self.spec.actions or int(action) != action:
            raise InvalidInput(f"action is {action}; allowed: 0 to {self.spec.actions - 1}")
        if not np.isfinite(reward):
            raise InvalidInput(f"reward is {reward}; allowed: a finite number")
        self.steps += 1
        self.memory, next_action, row = _observed(
            self._algorithm, self.memory, here, np.asarray(action, np.int32), np.asarray(reward, np.float32), arrived,
            np.asarray(terminated, bool), np.asarray(truncated, bool), *self._chance(),
        )  # fmt: skip
        self._chosen = None if terminated or truncated else (arrived, int(next_action))
        every = self._algorithm.every
        if every is None:
            return
        leaves, structure = jax.tree.flatten(row)
        self._rows.append(leaves)
        if self.steps % every == 0:
            self._update(jax.tree.unflatten(structure, [jnp.stack(column) for column in zip(*self._rows, strict=True)]))
            self._rows = []

    def _update(self, rows: Any) -> None:
        self.memory = _updated(self._algorithm, self.memory, rows, jax.random.fold_in(self._key, self.steps))

    def _prepare(self, facts: dict[str, Any]) -> None:
        """Give the memory the structure that the facts of a saved learner tell of."""

    def _algorithm_of(self, agent: Any) -> Any:
        """The agent, whose numbers are arrays, for one game of this environment."""
        return agent.algorithm(self.spec)

    def _new_memory(self) -> Any:
        """The memory of a learner that knows nothing."""
        return self._algorithm.init(self._key)

    def q(self, observation: Any) -> np.ndarray:
        """The values of the actions here."""
        return np.asarray(_view(self._algorithm, self.memory, self._checked(observation, "observation")).values)

    def counts(self, observation: Any) -> np.ndarray:
        """The counts of the actions here; 0 if the agent counts nothing."""
        return np.asarray(_view(self._algorithm, self.memory, self._checked(observation, "observation")).counts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, atomically; `dorax.load` gives it back, to go on bit for bit."""
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
        }

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {f"memory/{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(self.memory))}
        arrays |= {f"rows/{n}/{i}": np.asarray(leaf) for n, row in enumerate(self._rows) for i, leaf in enumerate(row)}
        arrays["key"] = np.asarray(jax.random.key_data(self._key))
        return arrays | ({} if self.spec.available is None else {"available": self.spec.available})

    @classmethod
    def restored(cls, agent: Any, spec: EnvSpec, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> Learner:
        """A learner out of what `save` wrote."""
        learner = cls(agent, spec, steps=int(facts["steps"]))
        learner._prepare(facts)
        leaves, structure = jax.tree.flatten(learner.memory)
        found = [arrays[f"memory/{i}"] for i in range(len(leaves))]
        if any(new.shape != old.shape for new, old in zip(found, leaves, strict=True)):
            raise ValueError("the arrays have other shapes than the agent's")
        learner.memory = jax.tree.unflatten(structure, [jnp.asarray(leaf) for leaf in found])
        learner._key = jax.random.wrap_key_data(jnp.asarray(arrays["key"]))
        learner.random.bit_generator.state = facts["random"]
        chosen = facts["chosen"]
        learner._chosen = None if chosen is None else (np.asarray(chosen[0], np.float32), int(chosen[1]))
        waiting = learner.steps % learner._algorithm.every if learner._algorithm.every else 0
        width = len([name for name in arrays if name.startswith("rows/0/")])
        learner._rows = [[jnp.asarray(arrays[f"rows/{n}/{i}"]) for i in range(width)] for n in range(waiting)]
        return learner

    def _chance(self) -> tuple[np.ndarray, np.ndarray]:
        """The steps so far and a random number, as arrays: plain numbers would be compiled in, anew at every step."""
        return np.asarray(self.steps, np.int32), np.asarray(self.random.random(), np.float32)

    def _checked(self, observation: Any, name: str) -> np.ndarray:
        here = np.asarray(observation, np.float32)
        shape = (len(self.spec.low or ()),)
        if here.shape != shape:
            raise InvalidInput(f"the shape of {name} is {here.shape}; allowed: {shape}, as of {self.spec.name}")
        if not np.isfinite(here).all():
            raise InvalidInput(f"{name} is {here.tolist()}; allowed: finite numbers")
        return here

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of a {type(self.agent).__name__} on {self.spec.name}, {self.steps} steps>"


def read_learner(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray], EnvSpec]:
    """The facts and arrays of a saved learner, and the environment that it knows."""
    facts, arrays = read_archive(path, KIND)
    spec = facts["spec"] | {name: tuple(facts["spec"][name]) for name in ("low", "high") if facts["spec"][name]}
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
    """The memory after one step, the action that follows it, and its row for the update."""
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
def _updated(algorithm: Algorithm[Any], memory: Any, rows: Any, key: Any) -> Any:
    return algorithm.update(memory, rows, key, jnp.ones((), bool))
