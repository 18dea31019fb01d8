"""Atari games side by side, as the emulator plays them."""

import sys
from collections.abc import Sequence
from typing import Any

import ale_py.vector_env
import numpy as np
import pytest

from dorax.core.checks import InvalidInput
from dorax.envs.atari import Atari, AtariGame, AtariGames, action_names, in_blocks, rom_name


@pytest.mark.parametrize(
    ("game", "rom"),
    [
        ("freeway", "freeway"),
        ("MsPacman", "ms_pacman"),
        ("ALE/Freeway-v5", "freeway"),
        ("PongNoFrameskip-v4", "pong"),
        ("ALE/UpNDown-v5", "up_n_down"),
        ("ALE/TicTacToe3D-v5", "tic_tac_toe_3d"),
        ("space invaders", "space_invaders"),
    ],
)
def test_games_go_by_their_usual_names(game: str, rom: str) -> None:
    assert rom_name(game) == rom


def test_an_unknown_game_is_refused_with_those_that_sound_like_it(refused: Any) -> None:
    with refused("frewway", "freeway"):
        AtariGames("frewway", 2)


def test_without_the_emulator_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ale_py", None)
    with pytest.raises(InvalidInput, match=r"install it with pip install 'dorax\[atari\]'"):
        AtariGames("freeway", 2)


def test_an_episode_ends_once_and_the_next_row_begins_another() -> None:
    """Freeway lasts two minutes and sixteen seconds: about 2040 steps."""
    games = AtariGames("freeway", 2)
    arrival = games.begin([1, 2])
    assert arrival.observation.shape == (2, 84, 84)
    assert arrival.is_first.all()
    total = np.zeros(2)
    ends: list[list[int]] = [[], []]
    firsts: list[list[int]] = [[], []]
    for step in range(2100):
        games.act(np.ones(2, int))  # up, all the time
        arrival = games.arrive()
        total += arrival.reward
        for game in range(2):
            ends[game] += [step] * int(arrival.terminated[game])
            firsts[game] += [step] * int(arrival.is_first[game])
    games.close()
    for game in range(2):
        assert len(ends[game]) == 1
        assert 2000 < ends[game][0] < 2060
        assert firsts[game] == [ends[game][0] + 1]
    assert np.all(total > 15)  # walking straight on does well, and is not clipped


def test_actions_are_as_sticky_as_demanded() -> None:
    """Where the last action is always repeated, a chicken that stands still never sets out."""

    def crossings(sticky: float) -> float:
        games = Atari("freeway", sticky).games(1)
        games.begin([3])
        total = 0.0
        for _ in range(150):
            games.act(np.ones(1, int))
            total += games.arrive().reward[0]
        games.close()
        return total

    assert crossings(1.0) == 0
    assert crossings(0.0) > 0


def test_rewards_are_the_games_own() -> None:
    games = AtariGames("ms_pacman", 1)
    games.begin([0])
    rewards = []
    for step in range(200):
        games.act(np.asarray([1 + step // 20 % 4]))
        rewards.append(games.arrive().reward[0])
    games.close()
    assert max(rewards) >= 10  # a dot is ten points


def test_after_a_time_limit_the_next_row_begins_another_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    class Limited(ale_py.vector_env.AtariVectorEnv):
        """The first step ends by a time limit."""

        is_over = True

        def recv(self) -> Any:
            frame, reward, terminated, truncated, info = super().recv()
            truncated, self.is_over = np.full_like(truncated, self.is_over), False
            return frame, reward, terminated, truncated, info

    monkeypatch.setattr(ale_py.vector_env, "AtariVectorEnv", Limited)
    games = AtariGames("freeway", 1)
    games.begin([0])
    arrivals: list[Any] = []
    for _ in range(3):
        games.act(np.zeros(1, int))
        arrivals.append(games.arrive())
    games.close()
    assert [bool(arrival.truncated[0]) for arrival in arrivals] == [True, False, False]
    assert [bool(arrival.is_first[0]) for arrival in arrivals] == [False, True, False]


def test_the_same_seeds_and_actions_play_the_same_game_in_grey_and_in_colour() -> None:
    """A chicken that walks and one that stays are told apart by the columns that they walk in."""

    def grey(actions: Sequence[int]) -> np.ndarray:
        games, frame = AtariGames("freeway", 1), np.zeros((84, 84))
        games.begin([7])
        for action in actions:
            games.act(np.asarray([action]))
            frame = games.arrive().observation[0]
        games.close()
        return frame

    def seen(actions: Sequence[int]) -> np.ndarray:
        game, frames = AtariGame(Atari("freeway")), np.zeros((4, 84, 84))
        game.reset(seed=7)
        for action in actions:
            frames, *_ = game.step(action)
        game.close()
        return frames[-1]

    def coloured(actions: Sequence[int]) -> np.ndarray:
        game = AtariGame(Atari("freeway"), render_mode="rgb_array")
        game.reset(seed=7)
        assert game.render().shape == (210, 160, 3)
        for action in actions:
            game.step(action)
        picture = game.render()
        game.close()
        return picture.mean(axis=2)[np.linspace(0, 209, 84).astype(int)][:, np.linspace(0, 159, 84).astype(int)]

    walks, stays = [1] * 30, [0] * 30
    lane = np.s_[10:80, 21:28]
    moved = {
        name: play(walks)[lane].astype(float) - play(stays)[lane]
        for name, play in {"grey": grey, "again": grey, "seen": seen, "coloured": coloured}.items()
    }
    np.testing.assert_array_equal(moved["grey"], moved["again"])
    np.testing.assert_array_equal(moved["grey"], moved["seen"])
    assert np.abs(moved["grey"]).max() > 50
    assert np.corrcoef(moved["grey"].ravel(), moved["coloured"].ravel())[0, 1] > 0.7


def test_an_agent_observes_the_last_four_frames_of_its_episode() -> None:
    env = Atari("freeway")
    shown = np.random.default_rng(0).integers(0, 256, (6, 2, 84, 84)).astype(np.uint8)
    observation = env.blank(2)
    for i, frames in enumerate(shown):
        observation = env.observed(observation, frames, np.asarray([i == 0, i in (0, 4)]))
    black = np.zeros((84, 84), np.uint8)
    expected = [[shown[i, 0] for i in (2, 3, 4, 5)], [black, black, shown[4, 1], shown[5, 1]]]
    np.testing.assert_array_equal(observation, in_blocks(np.asarray(expected)))


def test_one_game_to_play_shows_its_last_four_frames_black_before_the_first() -> None:
    game = AtariGame(Atari("freeway"))
    first, _ = game.reset(seed=1)
    assert first.shape == (4, 84, 84)
    assert not first[:3].any()
    assert first[3].any()
    second, reward, terminated, truncated, _ = game.step(1)
    np.testing.assert_array_equal(second[:3], first[1:])
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert game.observation_space.contains(second)
    assert game.render() is None
    again, _ = game.reset(seed=1)
    np.testing.assert_array_equal(again, first)
    game.close()


def test_a_game_is_known_by_its_name_and_its_actions() -> None:
    assert Atari("ALE/Freeway-v5") == Atari("freeway")
    assert (Atari("Freeway").spec.name, Atari("Freeway").spec.actions) == ("freeway", 3)


def test_a_game_that_cannot_be_is_refused(refused: Any) -> None:
    with refused("sticky is 1.5"):
        Atari("freeway", sticky=1.5)
    for seed in (-1, 2**31, 1.5):
        with refused("seed", "2147483647"):
            AtariGame(Atari("freeway")).reset(seed=seed)  # pyright: ignore[reportArgumentType]


def test_actions_have_names() -> None:
    assert action_names("freeway") == ("NOOP", "UP", "DOWN")
