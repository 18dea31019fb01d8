"""Batches of Atari games: ale-py's native vector environment, without frame stacking.

A step is four emulator frames; the observation is the maximum of the last two, in greyscale at 84 x 84. With
sticky actions a game repeats its last action with probability 0.25 (Machado et al., 2018). Only the newest
frame of each game is returned; the learner stacks frames itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np

from dorax.core.checks import InvalidInput, check_probability, suggestion
from dorax.core.extras import needing
from dorax.envs.host import Arrival
from dorax.envs.simulation import EnvSpec

SIDE = 84  # pixels
STACK = 4  # frames that an agent sees at once
BLOCKS = SIDE // 4
PIXELS = SIDE * SIDE


@dataclass(frozen=True)
class Atari:
    """An Atari game to train on: `dorax.train(agent, dorax.envs.Atari("freeway"), steps=3_000_000)`.

    Agents observe the last four frames of the episode, on the device in blocks of 4 x 4 pixels (see `in_blocks`): an
    array of games x 4 x 7056 bytes.

    Args:
        game: name of the game in the Arcade Learning Environment, such as `"freeway"` or `"ALE/MsPacman-v5"`.
        sticky: probability of repeating the last action instead of the chosen one.
    """

    game: str
    sticky: float = 0.25

    def __post_init__(self) -> None:
        check_probability("sticky", self.sticky)
        object.__setattr__(self, "game", rom_name(self.game))

    @property
    def spec(self) -> EnvSpec:
        """Description of the game for learners."""
        return EnvSpec(self.game, len(action_names(self.game)))

    def games(self, number: int) -> AtariGames:
        """Create a batch of games.

        Args:
            number: number of games.
        """
        return AtariGames(self.game, number, self.sticky)

    def blank(self, number: int) -> np.ndarray:
        """Return black frames, the observations before the first step.

        Args:
            number: number of games.
        """
        return np.zeros((number, STACK, PIXELS), np.uint8)

    def observed(self, previous: Any, arrived: Any, is_first: Any) -> Any:
        """Compute the last four frames of each game, in blocks. Frames before the start of an episode are black.

        Args:
            previous: previous stacks of frames, in blocks.
            arrived: newest frames.
            is_first: whether an episode starts.

        Returns:
            The stacks.
        """
        before = jnp.where(is_first[:, None, None], 0, previous[:, 1:])
        return jnp.concatenate([before, in_blocks(arrived)[:, None]], axis=1)


class AtariGames:
    """A batch of the same Atari game. `act` sends actions and returns at once; `arrive` waits for the results.

    Args:
        game: name of the game; see `rom_name`.
        number: number of games.
        sticky: probability of repeating the last action.
        threads: number of threads; 0 lets ale-py choose.

    Attributes:
        name: the emulator's name of the game.
        number: number of games.
    """

    def __init__(self, game: str, number: int, sticky: float = 0.25, threads: int = 0) -> None:
        self.name = rom_name(game)
        self.number = number
        self._games: Any = _ale().vector_env.AtariVectorEnv(
            self.name,
            number,
            num_threads=threads,
            stack_num=1,
            repeat_action_probability=sticky,
            reward_clipping=False,
        )
        self._is_over = np.zeros(number, bool)

    def begin(self, seeds: Sequence[int] | np.ndarray) -> Arrival:
        """Start a new episode in every game.

        Args:
            seeds: one seed per game.

        Returns:
            The first frames.
        """
        frame, _ = self._games.reset(seed=np.asarray(seeds, np.int64))
        no = np.zeros(self.number, bool)
        self._is_over = no
        return Arrival(frame[:, 0], np.zeros(self.number, np.float32), no, no, ~no)

    def act(self, actions: np.ndarray) -> None:
        """Send an action to every game."""
        self._games.send(np.asarray(actions, np.int32))

    def arrive(self) -> Arrival:
        """Wait for the results of the last actions."""
        frame, reward, terminated, truncated, _ = self._games.recv()
        is_first, self._is_over = self._is_over, terminated | truncated
        return Arrival(frame[:, 0], reward.astype(np.float32), terminated, truncated, is_first)

    def close(self) -> None:
        """Close the emulator."""
        self._games.close()


class AtariGame(gymnasium.Env[np.ndarray, int]):
    """One Atari game as a Gymnasium environment, for evaluation and films.

    Observations are the last four frames, 4 x 84 x 84 grey pixels; `render` returns the screen in colour.

    Args:
        env: the game.
        render_mode: `"rgb_array"`, or None.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012 - Gymnasium's own convention

    def __init__(self, env: Atari, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.action_names = action_names(env.game)
        self.observation_space = gymnasium.spaces.Box(0, 255, (STACK, SIDE, SIDE), np.uint8)
        self.action_space = gymnasium.spaces.Discrete(len(self.action_names))
        self._games = env.games(1)
        # A second emulator renders in colour: the same seed and actions give the same game.
        self._screen = None if render_mode is None else _Screen(env.game, env.sticky)
        self._frames = np.zeros((STACK, SIDE, SIDE), np.uint8)
        self._picture = np.zeros((210, 160, 3), np.uint8)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        if seed is not None:
            check_seed(seed)
        super().reset(seed=seed, options=options)
        game_seed = int(self.np_random.integers(2**31)) if seed is None else seed
        frame = self._games.begin([game_seed]).observation[0]
        if self._screen is not None:
            self._picture = self._screen.begin(game_seed)
        self._frames = np.concatenate([np.zeros((STACK - 1, SIDE, SIDE), np.uint8), frame[None]])
        return self._frames, {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._games.act(np.asarray([action]))
        now = self._games.arrive()
        if self._screen is not None:
            self._picture = self._screen.step(action)
        self._frames = np.concatenate([self._frames[1:], now.observation])
        return self._frames, float(now.reward[0]), bool(now.terminated[0]), bool(now.truncated[0]), {}

    def render(self) -> Any:
        """Return the screen in colour if the render mode is `rgb_array`, else None."""
        return None if self.render_mode is None else self._picture

    def close(self) -> None:
        """Close the emulator."""
        self._games.close()


class _Screen:
    """One game in colour. With the same seed and actions it shows what `AtariGames` plays."""

    def __init__(self, game: str, sticky: float) -> None:
        self._game: Any = _ale().vector_env.AtariVectorEnv(
            game,
            1,
            stack_num=1,
            img_height=210,
            img_width=160,
            grayscale=False,
            repeat_action_probability=sticky,
            reward_clipping=False,
        )

    def begin(self, seed: int) -> np.ndarray:
        """Start a new episode and return its first picture."""
        picture, _ = self._game.reset(seed=np.asarray([seed], np.int64))
        return picture[0, 0]

    def step(self, action: int) -> np.ndarray:
        """Take one step and return the next picture."""
        picture, *_ = self._game.step(np.asarray([action], np.int32))
        return picture[0, 0]


def in_blocks(frames: Any) -> Any:
    """Rearrange frames into blocks of 4 x 4 pixels.

    A convolution with stride 4 is one without stride on such blocks, and much faster.

    Args:
        frames: ... x 84 x 84.

    Returns:
        Rows of blocks, ... x 7056.
    """
    lead = frames.shape[:-2]
    blocks = frames.reshape(*lead, BLOCKS, 4, BLOCKS, 4).swapaxes(-3, -2)
    return blocks.reshape(*lead, PIXELS)


@cache
def action_names(game: str) -> tuple[str, ...]:
    """Look up the names of a game's actions.

    Args:
        game: name of the game; see `rom_name`.

    Returns:
        The names, in the order of the action indices.
    """
    ale = _ale()
    ale.ALEInterface.setLoggerMode(ale.LoggerMode.Error)
    emulator = ale.ALEInterface()
    emulator.loadROM(ale.roms.get_rom_path(rom_name(game)))
    return tuple(action.name for action in emulator.getMinimalActionSet())


def rom_name(game: str) -> str:
    """Find the emulator's name of a game: "MsPacman", "ms pacman" and "ALE/MsPacman-v5" are all ms_pacman.

    Args:
        game: name of the game in any of these forms.

    Returns:
        The name of the ROM.

    Raises:
        InvalidInput: if there is no such game. Without ale-py it is not checked, so that recorded runs can
            be read.
    """
    if find_spec("ale_py") is None:
        return game
    known = {_letters(name): name for name in _ale().roms.get_all_rom_ids()}
    bare = _letters(re.sub(r"^ALE/|(NoFrameskip|Deterministic)?-v\d+$", "", game))
    if bare not in known:
        near = suggestion(bare, known.values())
        raise InvalidInput(f"game is {game!r};{near} allowed: an Atari game, such as freeway, pong or breakout")
    return known[bare]


def check_seed(seed: object) -> None:
    """Raise `InvalidInput` unless the seed is an integer of 31 bits, as the emulator needs.

    Args:
        seed: the value to check.
    """
    if not isinstance(seed, int) or not 0 <= seed < 2**31:
        raise InvalidInput(f"seed is {seed!r}; allowed: a whole number from 0 to 2147483647")


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _ale() -> Any:
    with needing("atari"):
        import ale_py
        import ale_py.vector_env
    return ale_py
