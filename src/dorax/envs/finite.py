"""Any finite MDP as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from dorax.envs import drawing
from dorax.mdps import MDP


class FiniteEnv(gymnasium.Env[Any, Any]):
    """A finite MDP to step through. States and actions are numbers.

    Actions that a state lacks leave it unchanged and pay nothing; `info["action_mask"]`
    tells which ones it has. The time limit of the MDP truncates.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # noqa: RUF012 - Gymnasium's own convention

    def __init__(self, mdp: MDP, render_mode: str | None = None) -> None:
        self.mdp = mdp
        self.render_mode = render_mode
        self.observation_space = gymnasium.spaces.Discrete(mdp.states)
        self.action_space = gymnasium.spaces.Discrete(mdp.actions)
        self.initial_state_distrib = mdp.start
        self._state, self._steps, self._last_action = int(np.argmax(mdp.start)), 0, None

    @property
    def P(self) -> dict[int, dict[int, list[tuple[float, int, float, bool]]]]:
        """The transition table in Gymnasium's form."""
        mdp = self.mdp
        return {
            s: {
                a: [
                    (float(p), int(t), float(r), bool(e))
                    for p, t, r, e in zip(
                        mdp.probability[s, a], mdp.successor[s, a], mdp.reward[s, a], mdp.terminal[s, a], strict=True
                    )
                    if p > 0
                ]
                if mdp.available[s, a]
                else [(1.0, s, 0.0, False)]
                for a in range(mdp.actions)
            }
            for s in range(mdp.states)
        }

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self._state = int(self.np_random.choice(self.mdp.states, p=self.mdp.start))
        self._steps, self._last_action = 0, None
        return self._state, self._info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        s, a = self._state, int(action)
        reward, terminated = 0.0, False
        if self.mdp.available[s, a]:
            k = int(self.np_random.choice(self.mdp.probability.shape[2], p=self.mdp.probability[s, a]))
            reward, terminated = float(self.mdp.reward[s, a, k]), bool(self.mdp.terminal[s, a, k])
            self._state = int(self.mdp.successor[s, a, k])
        self._steps += 1
        self._last_action = a
        return self._state, reward, terminated, not terminated and self._steps >= self.mdp.max_steps, self._info()

    def render(self) -> Any:
        if self.render_mode == "ansi":
            return drawing.as_text(self.mdp, self._state, self._last_action)
        if self.render_mode == "rgb_array":
            return drawing.as_image(self.mdp, self._state)
        return None

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.mdp.available[self._state].astype(np.int8)}
