"""Films of a learner at play: what stands in a picture, and what is in the file."""

from pathlib import Path

import numpy as np
import pytest

from dorax.envs.films import Moment, drawn, write_gif

BLUE, RED = (0, 0x72, 0xB2), (0xD5, 0x5E, 0)  # values and counts of the action taken


def moment(actions=3, shape=(210, 160), counted=True, score=0.0, **changes):
    numbers = np.linspace(0, 1, actions)
    fields = {"values": numbers, "counts": numbers if counted else None, "action": actions - 1} | changes
    return Moment(np.zeros((*shape, 3), np.uint8), score=score, **fields)


def names(actions):
    return [f"action {i}" for i in range(actions)]


def rows_of(picture, colour):
    return np.flatnonzero(np.all(picture == colour, axis=2).any(axis=1))


@pytest.mark.parametrize("actions", [3, 18])
def test_the_picture_has_room_for_every_action(actions):
    picture = drawn(moment(actions), names(actions))
    for colour in (BLUE, RED):  # of the action taken, which is the last
        rows = rows_of(picture, colour)
        assert len(rows) == 10
        assert rows[-1] < len(picture) - 5
    np.testing.assert_array_equal(picture[:420, :320], 0)


@pytest.mark.parametrize(("side", "scale"), [(1, 400), (4, 100), (84, 5), (210, 2), (400, 1), (900, 1)])
def test_what_is_seen_is_drawn_larger_by_a_whole_number(side, scale):
    seen = np.random.default_rng(0).integers(0, 256, (side, side, 3)).astype(np.uint8)
    picture = drawn(moment()._replace(picture=seen), names(3))
    expected = np.kron(seen, np.ones((scale, scale, 1), np.uint8))
    np.testing.assert_array_equal(picture[: side * scale, : side * scale], expected)
    assert picture.shape[1] == side * scale + 260


def test_without_counts_there_are_no_bars_of_them():
    picture = drawn(moment(counted=False), names(3))
    assert len(rows_of(picture, BLUE)) == 10
    assert len(rows_of(picture, RED)) == 0


def test_an_action_that_is_not_there_has_no_bar_and_the_others_keep_theirs():
    values = np.array([-np.inf, 2.0, 3.0])
    picture = drawn(moment(values=values), names(3))
    width = np.all(picture == BLUE, axis=2).any(axis=0).sum()
    assert width == 101  # the longest bar: the whole of its room


def test_a_film_has_a_picture_a_moment_at_the_speed_asked_for_and_returns_the_last_score(tmp_path):
    from PIL import Image
    from PIL.GifImagePlugin import GifImageFile

    path = tmp_path / "deep" / "film.gif"
    moments = (moment(action=i % 3, score=float(i)) for i in range(5))
    assert write_gif(path, moments, names(3), frames_a_second=4) == 4.0
    assert list(path.parent.iterdir()) == [path]
    with Image.open(path) as film:
        assert isinstance(film, GifImageFile)
        assert film.format == "GIF"
        assert film.n_frames == 5
        assert film.size == (580, 420)
        assert film.info["duration"] == 250
        assert film.info["loop"] == 0


def test_what_cannot_be_written_is_refused(refused):
    with refused("cannot write", "film.gif"):
        write_gif(Path("/proc/nowhere/film.gif"), iter([moment()]), names(3))
