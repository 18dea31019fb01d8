"""Atari games, many side by side: ale-py's native vector environment, one frame at a time.

A step is four emulated frames, the last two merged and shown in grey at 84 x 84; with
sticky actions a game repeats its last action with probability 0.25 whatever is asked
(Machado et al., 2018). Only the newest frame of each game crosses to the learner, which
stacks frames itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dorax.core.checks import InvalidInput

SIDE = 84  # pixels


class Arrival(NamedTuple):
    """What the games show after a step, one entry a game.

    After an episode's end the next step begins another, whatever its action: its frame
    `is_first`, and the row before it, which shows the end, is no step of anybody's.
    """

    frame: np.ndarray
    reward: np.ndarray
    is_terminal: np.ndarray
    is_truncated: np.ndarray
    is_first: np.ndarray


class AtariGames:
    """`number` games of one name. `act` sends actions and returns at once; `arrive` waits for what comes of them."""

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
        """New episodes in all games."""
        frame, _ = self._games.reset(seed=np.asarray(seeds, np.int64))
        no = np.zeros(self.number, bool)
        self._is_over = no
        return Arrival(frame[:, 0], np.zeros(self.number, np.float32), no, no, ~no)

    def act(self, actions: np.ndarray) -> None:
        self._games.send(np.asarray(actions, np.int32))

    def arrive(self) -> Arrival:
        frame, reward, is_terminal, is_truncated, _ = self._games.recv()
        is_first, self._is_over = self._is_over, is_terminal | is_truncated
        return Arrival(frame[:, 0], reward.astype(np.float32), is_terminal, is_truncated, is_first)

    def close(self) -> None:
        self._games.close()


class Screen:
    """One game in colours, for people. With the same seed and actions it shows what `AtariGames` plays."""

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
        picture, _ = self._game.reset(seed=np.asarray([seed], np.int64))
        return picture[0, 0]

    def step(self, action: int) -> np.ndarray:
        picture, *_ = self._game.step(np.asarray([action], np.int32))
        return picture[0, 0]


def action_names(game: str) -> list[str]:
    """What the actions of a game are called."""
    ale = _ale()
    ale.ALEInterface.setLoggerMode(ale.LoggerMode.Error)
    emulator = ale.ALEInterface()
    emulator.loadROM(ale.roms.get_rom_path(rom_name(game)))
    return [action.name for action in emulator.getMinimalActionSet()]


def rom_name(game: str) -> str:
    """The emulator's name of a game: "MsPacman", "ms pacman" and "ALE/MsPacman-v5" are ms_pacman."""
    known = {_letters(name): name for name in _ale().roms.get_all_rom_ids()}
    bare = _letters(re.sub(r"^ALE/|(NoFrameskip|Deterministic)?-v\d+$", "", game))
    if bare not in known:
        near = [known[name] for name in _nearest(bare, list(known))]
        raise InvalidInput(f"game is {game!r}; allowed: an Atari game, such as {', '.join(near)}")
    return known[bare]


def check_seed(seed: object) -> None:
    """Raise unless the emulator takes it for a seed, of 31 bits."""
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
