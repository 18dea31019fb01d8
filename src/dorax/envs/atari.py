"""Batches of Atari games: ale-py's native vector environment, without frame stacking.

A step is four emulator frames; the observation is the maximum of the last two, in greyscale at 84 x 84. With
sticky actions a game repeats its last action with probability 0.25 (Machado et al., 2018). Only the newest
frame of each game is returned; the learner stacks frames itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dorax.core.checks import InvalidInput

SIDE = 84  # pixels


class Arrival(NamedTuple):
    """What a batch of games returns after a step, one entry per game.

    After the end of an episode, the next step starts a new one and ignores its action: its frame has `is_first`
    set, and that step is not a transition to learn from.

    Attributes:
        frame: newest frames, games x height x width.
        reward: rewards of the step.
        is_terminal: whether the episode ended.
        is_truncated: whether the time limit ended it.
        is_first: whether the frame is the first of an episode.
    """

    frame: np.ndarray
    reward: np.ndarray
    is_terminal: np.ndarray
    is_truncated: np.ndarray
    is_first: np.ndarray


class AtariGames:
    """A batch of the same Atari game. `act` sends actions and returns at once; `arrive` waits for the results.

    Args:
        game: name of the game; see `rom_name`.
        number: number of games.
        sticky: probability of repeating the last action.
        threads: number of threads; 0 lets ale-py choose.

    Attributes:
        name: the emulator's name of the game.
        actions: number of actions.
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
        self.actions = int(self._games.single_action_space.n)
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
        """Send one action to each game, without waiting.

        Args:
            actions: one action per game.
        """
        self._games.send(np.asarray(actions, np.int32))

    def arrive(self) -> Arrival:
        """Wait for the results of the actions sent last."""
        frame, reward, is_terminal, is_truncated, _ = self._games.recv()
        is_first, self._is_over = self._is_over, is_terminal | is_truncated
        return Arrival(frame[:, 0], reward.astype(np.float32), is_terminal, is_truncated, is_first)

    def close(self) -> None:
        """Release the emulators."""
        self._games.close()


class Screen:
    """A single game in colour, for videos. With the same seed and actions it plays the same as `AtariGames`.

    Args:
        game: name of the game; see `rom_name`.
        sticky: probability of repeating the last action.
    """

    def __init__(self, game: str, sticky: float = 0.25) -> None:
        self._game: Any = _ale().vector_env.AtariVectorEnv(
            rom_name(game),
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


def action_names(game: str) -> list[str]:
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
    return [action.name for action in emulator.getMinimalActionSet()]


def rom_name(game: str) -> str:
    """Find the emulator's name of a game: "MsPacman", "ms pacman" and "ALE/MsPacman-v5" are all ms_pacman.

    Args:
        game: name of the game in any of these forms.

    Returns:
        The name of the ROM.

    Raises:
        InvalidInput: if there is no such game.
    """
    known = {_letters(name): name for name in _ale().roms.get_all_rom_ids()}
    bare = _letters(re.sub(r"^ALE/|(NoFrameskip|Deterministic)?-v\d+$", "", game))
    if bare not in known:
        near = [known[name] for name in _nearest(bare, list(known))]
        raise InvalidInput(f"game is {game!r}; allowed: an Atari game, such as {', '.join(near)}")
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


def _nearest(name: str, known: Sequence[str]) -> list[str]:
    import difflib

    return difflib.get_close_matches(name, known, n=3, cutoff=0.5) or ["freeway", "pong", "breakout"]


def _ale() -> Any:
    try:
        import ale_py
        import ale_py.vector_env
    except ImportError:
        raise InvalidInput("ale-py is not installed; install it with pip install 'dorax[atari]'") from None
    return ale_py
