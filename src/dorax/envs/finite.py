"""Gymnasium environments of finite MDPs."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from dorax.envs import drawing
from dorax.mdps import MDP


class FiniteEnv(gymnasium.Env[Any, Any]):
    """A Gymnasium environment of a finite MDP, with discrete observations and actions.

    An action that the state does not have leaves the state unchanged, with reward 0; `info["action_mask"]` marks
    the available ones. The MDP's `max_steps` truncates episodes.

    Args:
        mdp: the MDP.
        render_mode: `"ansi"`, `"rgb_array"` or None.
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
        """The transition table in Gymnasium's format."""
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
        """Start an episode; see `gymnasium.Env.reset`."""
        super().reset(seed=seed, options=options)
        self._state = int(self.np_random.choice(self.mdp.states, p=self.mdp.start))
        self._steps, self._last_action = 0, None
        return self._state, self._info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Take one step; see `gymnasium.Env.step`."""
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
        """Return the grid as text or as an image, depending on the render mode."""
        if self.render_mode == "ansi":
            return drawing.as_text(self.mdp, self._state, self._last_action)
        if self.render_mode == "rgb_array":
            return drawing.as_image(self.mdp, self._state)
        return None

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.mdp.available[self._state].astype(np.int8)}
