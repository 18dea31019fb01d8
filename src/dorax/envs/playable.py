"""Gymnasium environments from MDPs, functional environments and ids, to play and render episodes."""

from __future__ import annotations

from typing import Any

import gymnasium
import jax
import numpy as np

from dorax.core.checks import InvalidInput, in_brief
from dorax.envs.atari import Atari, AtariGame
from dorax.envs.finite import FiniteEnv
from dorax.envs.functional import structure_of
from dorax.envs.host import GymnasiumEnv
from dorax.mdps import MDP

_SIDE = 200  # pixels, for environments that cannot render themselves
_COLOURS = np.array([  # of the channels of a picture
    (0, 158, 115), (213, 94, 0), (0, 114, 178), (240, 228, 66), (204, 121, 167), (86, 180, 233), (230, 159, 0),
    (255, 255, 255), (148, 103, 189), (140, 86, 75),
], np.uint8)  # fmt: skip


class SimulatedEnv(gymnasium.Env[np.ndarray, int]):
    """A Gymnasium environment of a functional environment.

    `SparseMountainCar` and `SparseAcrobot` are rendered as Gymnasium renders its own; other environments show
    their observation as bars, or as a picture with a colour for each channel.

    Args:
        env: the functional environment.
        params: its parameters; by default its `default_params`.
        render_mode: `"rgb_array"` or None.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012 - Gymnasium's own convention

    def __init__(self, env: Any, params: Any = None, render_mode: str | None = None) -> None:
        self._env, self._params = env, env.default_params if params is None else params
        self.render_mode = render_mode
        space = env.observation_space(self._params)  # may be a space of gymnax
        low, high = (np.broadcast_to(np.asarray(bound, np.float32), space.shape) for bound in (space.low, space.high))
        self.observation_space = gymnasium.spaces.Box(low, high, dtype=np.float32)
        self.action_space = gymnasium.spaces.Discrete(int(env.action_space(self._params).n))
        core = structure_of(env)
        self._reset, self._step = jax.jit(core.reset_env), jax.jit(core.step_env)
        self._is_truncated = jax.jit(core.is_truncated)
        self._state: Any = None
        self._observation = np.zeros(0)
        self._drawing: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode; see `gymnasium.Env.reset`."""
        super().reset(seed=seed, options=options)
        observation, self._state = self._reset(self._key(), self._params)
        self._observation = np.asarray(observation, np.float32)
        return self._observation, {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Take one step; see `gymnasium.Env.step`."""
        observation, self._state, reward, terminated, _ = self._step(self._key(), self._state, action, self._params)
        self._observation = np.asarray(observation, np.float32)
        truncated = bool(self._is_truncated(self._state, self._params))
        return self._observation, float(reward), bool(terminated), truncated and not bool(terminated), {}

    def render(self) -> Any:
        """Return an image if the render mode is `rgb_array`, else None."""
        if self.render_mode is None:
            return None
        drawn_by = {"SparseMountainCar": "MountainCar-v0", "SparseAcrobot": "Acrobot-v1"}
        name = drawn_by.get(type(structure_of(self._env)).__name__)
        if name is None:
            return _bars(self._observation) if self._observation.ndim == 1 else _picture(self._observation)
        if self._drawing is None:
            self._drawing = _made(name, "rgb_array")
        self._drawing.unwrapped.state = np.asarray(self._state[:-1], float)
        return self._drawing.render()

    def _key(self) -> jax.Array:
        return jax.random.key(self.np_random.integers(2**32, dtype=np.uint32))


def playable(env: Any, render_mode: str | None = None) -> gymnasium.Env[Any, Any]:
    """Make a Gymnasium environment.

    Args:
        env: a finite MDP, a functional environment, an Atari game, a Gymnasium environment (returned unchanged)
            or an id.
        render_mode: render mode of an environment that is made here.

    Returns:
        The environment.

    Raises:
        InvalidInput: if `env` is something else or cannot be made.
    """
    if isinstance(env, str):
        return _made(env, render_mode)
    if isinstance(env, gymnasium.Env):
        return env
    if isinstance(env, GymnasiumEnv):
        return _made(env.name, render_mode)
    if isinstance(env, Atari):
        return AtariGame(env, render_mode)
    if isinstance(env, MDP):
        return FiniteEnv(env, render_mode)
    if hasattr(env, "step_env") and not isinstance(env, type):
        return SimulatedEnv(env, render_mode=render_mode)
    raise InvalidInput(
        f"the environment is {in_brief(env)}; allowed: a finite MDP, a functional environment, an Atari game, "
        "a gymnasium.Env, an id"
    )


def _made(name: str, render_mode: str | None) -> Any:
    try:
        made = gymnasium.make(name, render_mode=render_mode)
        if render_mode is not None:  # missing rendering dependencies only show here
            made.reset()
            made.render()
    except (gymnasium.error.UnregisteredEnv, ModuleNotFoundError, gymnasium.error.Error) as error:
        if not isinstance(error, gymnasium.error.DependencyNotInstalled):
            reason = " ".join(str(error).split())
            raise InvalidInput(f"the environment is {name!r}: {reason}; allowed: the id of an environment") from None
        raise InvalidInput(
            f"{name} cannot be drawn: {str(error).splitlines()[0]}; "
            "install what it needs with pip install 'gymnasium[classic-control]'"
        ) from None
    return made


def _bars(observation: np.ndarray) -> np.ndarray:
    """Draw an observation as bars, scaled to its largest absolute value."""
    numbers = np.asarray(observation, float).ravel()[:_SIDE]
    picture = np.full((_SIDE, _SIDE, 3), 255, np.uint8)
    size = max(float(np.abs(numbers).max(initial=0.0)), 1e-9)
    edges = np.linspace(0, _SIDE, len(numbers) + 1).astype(int)
    for number, left, right in zip(numbers, edges, edges[1:], strict=False):
        end = int(_SIDE / 2 * (1 - number / size))
        low, high = sorted((_SIDE // 2, end))
        picture[low : max(high, low + 1), left : max(right - 1, left + 1)] = (0, 114, 178)
    return picture


def _picture(observation: np.ndarray) -> np.ndarray:
    """Draw the channels of a picture where they exceed half of their largest value, earlier ones above later ones."""
    channels = np.atleast_3d(np.abs(observation))
    picture = np.zeros((*channels.shape[:2], 3), np.uint8)
    for i in reversed(range(channels.shape[2])):
        channel = channels[..., i]
        picture[(channel > channel.max() / 2) & (channel > 0)] = _COLOURS[i % len(_COLOURS)]
    scale = max(1, _SIDE // max(picture.shape[:2]))
    return picture.repeat(scale, axis=0).repeat(scale, axis=1)
