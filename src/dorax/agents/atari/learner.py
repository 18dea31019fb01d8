"""Learners of Atari games. They do not keep the replay of their training; further training fills a new one."""

# JAX and Equinox: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from dorax.agents.atari.agent import AtariAgent
from dorax.core.checks import InvalidInput
from dorax.engine.learner import Learner
from dorax.engine.protocols import Step
from dorax.envs.atari import SIDE, STACK, in_blocks
from dorax.envs.simulation import EnvSpec


class ScreenLearner(Learner):
    """A learner whose observations are the last four frames of the episode, 4 x 84 x 84 grey pixels.

    A replay takes gigabytes, so a trained learner does not keep it. Further training first fills a new replay with
    `learning_starts` steps.

    Args:
        agent: the agent.
        spec: description of the game.
        memory: what was learned; None for a new learner.
        steps: number of steps learned from so far.
        seed: seed of the random numbers.
    """

    def __init__(self, agent: AtariAgent, spec: EnvSpec, memory: Any = None, *, steps: int = 0, seed: int = 0) -> None:
        super().__init__(agent, spec, memory, steps=steps, seed=seed)
        self._begins = True
        self._remembered = 0

    def _algorithm_of(self, agent: Any) -> Any:
        return replace(agent, games=1, groups=1).algorithm(self.spec)

    def _new_memory(self) -> Any:
        return self._algorithm.without_replay(self._key)

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

        Steps must come in the order of their episode, because the replay stores every frame once.

        Args:
            observation: frames before the action.
            action: action taken.
            reward: the environment's reward.
            next_observation: frames after the action.
            terminated: whether the episode ended in a terminal state.
            truncated: whether the episode was cut off, as by a time limit.
        """
        here = self._checked(observation, "observation")
        if self.memory.replay is None:
            self.memory = self.memory._replace(replay=self._algorithm.new_replay())
        if self._begins:
            self._begin(here, action)
        else:
            self._continue(here, action)
        self._remembered += 1
        super().observe(observation, action, reward, next_observation, terminated, truncated)
        self._begins = terminated or truncated

    def _update(self, rows: Any) -> None:
        if self._remembered >= self._algorithm.warm_up:
            super()._update(rows)

    def _begin(self, here: np.ndarray, action: int) -> None:
        """Add the first row of an episode to the replay."""
        view = self._algorithm.view(self.memory, jnp.asarray(here)[None])
        no, nothing = jnp.zeros(1, bool), jnp.zeros(1)
        taken = jnp.asarray([action], jnp.int32)
        step = Step(view.features, taken, nothing, no, no, ~no, view, taken, no, jnp.asarray(self.steps, jnp.int32))
        self.memory, _, _ = self._algorithm.observe(self.memory, step)
        self._remembered += 1

    def _continue(self, here: np.ndarray, action: int) -> None:
        """Check that the newest row of the replay holds this observation, and store the action that was taken."""
        replay = self.memory.replay
        newest = (int(replay.begun[0]) - 1) % len(replay.actions)
        if not np.array_equal(replay.frames[newest, 0], here[-1]):
            raise InvalidInput(
                "observation is not the next_observation of the last step; allowed: the steps of an episode in order, "
                "until one is terminated or truncated"
            )
        if action != int(replay.actions[newest, 0]):
            view = self._algorithm.view(self.memory, jnp.asarray(here)[None])
            taken, steps = jnp.asarray([action], jnp.int32), jnp.asarray(self.steps)
            self.memory = self._algorithm.with_action(self.memory, view, taken, steps)

    def _facts(self) -> dict[str, Any]:
        has_replay = self.memory.replay is not None
        return {**super()._facts(), "replay": has_replay, "begins": self._begins, "remembered": self._remembered}

    def _prepare(self, facts: dict[str, Any]) -> None:
        self._begins, self._remembered = bool(facts["begins"]), int(facts["remembered"])
        if facts["replay"]:
            self.memory = self.memory._replace(replay=self._algorithm.new_replay())

    def _checked(self, observation: Any, name: str) -> np.ndarray:
        frames, shape = np.asarray(observation), (STACK, SIDE, SIDE)
        if frames.shape != shape or frames.dtype != np.uint8:
            raise InvalidInput(
                f"{name} has shape {frames.shape} and dtype {frames.dtype}; allowed: the last frames, {shape} bytes"
            )
        return in_blocks(frames)
