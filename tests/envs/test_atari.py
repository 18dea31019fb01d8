"""Atari games side by side, as the emulator plays them."""

import sys

import ale_py.vector_env
import numpy as np
import pytest

from dorax.core.checks import InvalidInput
from dorax.envs.atari import AtariGames, Screen, action_names, rom_name


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
def test_games_go_by_their_usual_names(game, rom):
    assert rom_name(game) == rom


def test_an_unknown_game_is_refused_with_those_that_sound_like_it(refused):
    with refused("frewway", "freeway"):
        AtariGames("frewway", 2)


def test_without_the_emulator_one_line_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ale_py", None)
    with pytest.raises(InvalidInput, match=r"install it with pip install 'dorax\[atari\]'"):
        AtariGames("freeway", 2)


def test_an_episode_ends_once_and_the_next_row_begins_another():
    """Freeway lasts two minutes and sixteen seconds: about 2040 steps."""
    games = AtariGames("freeway", 2)
    arrival = games.begin([1, 2])
    assert arrival.frame.shape == (2, 84, 84)
    assert arrival.is_first.all()
    ends, firsts, total = [[], []], [[], []], np.zeros(2)
    for step in range(2100):
        games.act(np.ones(2, int))  # up, all the time
        arrival = games.arrive()
        total += arrival.reward
        for game in range(2):
            ends[game] += [step] * int(arrival.is_terminal[game])
            firsts[game] += [step] * int(arrival.is_first[game])
    games.close()
    for game in range(2):
        assert len(ends[game]) == 1
        assert 2000 < ends[game][0] < 2060
        assert firsts[game] == [ends[game][0] + 1]
    assert np.all(total > 15)  # walking straight on does well, and is not clipped


def test_actions_are_as_sticky_as_demanded():
    """Where the last action is always repeated, a chicken that stands still never sets out."""

    def crossings(sticky):
        games = AtariGames("freeway", 1, sticky)
        games.begin([3])
        total = 0.0
        for _ in range(150):
            games.act(np.ones(1, int))
            total += games.arrive().reward[0]
        games.close()
        return total

    assert crossings(1.0) == 0
    assert crossings(0.0) > 0


def test_rewards_are_the_games_own():
    games = AtariGames("ms_pacman", 1)
    games.begin([0])
    rewards = []
    for step in range(200):
        games.act(np.asarray([1 + step // 20 % 4]))
        rewards.append(games.arrive().reward[0])
    games.close()
    assert max(rewards) >= 10  # a dot is ten points


def test_after_a_time_limit_the_next_row_begins_another_episode(monkeypatch):
    class Limited(ale_py.vector_env.AtariVectorEnv):
        """The first step ends by a time limit."""

        is_over = True

        def recv(self):
            frame, reward, terminated, truncated, info = super().recv()
            truncated, self.is_over = np.full_like(truncated, self.is_over), False
            return frame, reward, terminated, truncated, info

    monkeypatch.setattr(ale_py.vector_env, "AtariVectorEnv", Limited)
    games = AtariGames("freeway", 1)
    games.begin([0])
    arrivals = []
    for _ in range(3):
        games.act(np.zeros(1, int))
        arrivals.append(games.arrive())
    games.close()
    assert [bool(arrival.is_truncated[0]) for arrival in arrivals] == [True, False, False]
    assert [bool(arrival.is_first[0]) for arrival in arrivals] == [False, True, False]


def test_the_same_seeds_and_actions_play_the_same_game_in_grey_and_in_colours():
    """A chicken that walks and one that stays are told apart by the columns that they walk in."""

    def grey(actions):
        games = AtariGames("freeway", 1)
        games.begin([7])
        frames = []
        for action in actions:
            games.act(np.asarray([action]))
            frames.append(games.arrive().frame[0])
        games.close()
        return frames[-1]

    def coloured(actions):
        screen = Screen("freeway")
        assert screen.begin(7).shape == (210, 160, 3)
        picture = [screen.step(action) for action in actions][-1]
        return picture.mean(axis=2)[np.linspace(0, 209, 84).astype(int)][:, np.linspace(0, 159, 84).astype(int)]

    walks, stays = [1] * 30, [0] * 30
    lane = np.s_[10:80, 21:28]
    moved = {
        name: play(walks)[lane].astype(float) - play(stays)[lane]
        for name, play in {"grey": grey, "again": grey, "coloured": coloured}.items()
    }
    np.testing.assert_array_equal(moved["grey"], moved["again"])
    assert np.abs(moved["grey"]).max() > 50
    assert np.corrcoef(moved["grey"].ravel(), moved["coloured"].ravel())[0, 1] > 0.7


def test_actions_have_names():
    assert action_names("freeway") == ["NOOP", "UP", "DOWN"]
