"""A drawing becomes the MDP that it shows, or one line that says where it does not."""

import numpy as np
import pytest

from dorax import mdps
from dorax.envs.finite import FiniteEnv
from dorax.mdps.mazes import drawings

NORTH, EAST, SOUTH, WEST = range(4)
DRAWINGS = drawings()

SMALL = """
    #####
    #S.G#
    #x~##
    #####
"""


def test_a_bridge_can_be_drawn():
    drawn, known = mdps.maze("~~~~~~\nxS...G\n~~~~~~"), mdps.bridge(4)
    for part in ("reward", "terminal", "start", "available", "action_names", "max_steps"):
        np.testing.assert_array_equal(getattr(drawn, part), getattr(known, part))
    goes_on = ~known.terminal
    np.testing.assert_array_equal(drawn.successor[goes_on], known.successor[goes_on])


def test_the_moves_of_a_small_maze_are_those_on_paper():
    mdp = mdps.maze(SMALL, goal=5, exit=2, pit=-3, step=-0.5)
    left, right = 0, 1
    assert mdp.successor[left, :, 0].tolist() == [left, right, left, left]
    assert mdp.reward[left, :, 0].tolist() == [-0.5, -0.5, 2, -0.5]
    assert mdp.terminal[left, :, 0].tolist() == [False, False, True, False]
    assert mdp.successor[right, WEST, 0] == left
    assert mdp.reward[right, :, 0].tolist() == [-0.5, 5, -3, -0.5]
    assert mdp.terminal[right, :, 0].tolist() == [False, True, True, False]
    assert mdp.start.tolist() == [1, 0]


def test_the_edge_of_the_drawing_is_a_wall():
    mdp = mdps.maze("SG")
    assert mdp.successor[0, [NORTH, SOUTH, WEST], 0].tolist() == [0, 0, 0]
    assert mdp.terminal[0, :, 0].tolist() == [False, True, False, False]


def test_the_way_out_is_worth_the_goal_discounted_by_its_length():
    # Seven moves from S to G, the last of which pays 10.
    mdp = mdps.maze("#####\n#S#G#\n#.#.#\n#...#\n#####")
    assert mdp.optimal_q(0.9)[0].max() == pytest.approx(10 * 0.9**5)


def test_a_lake_drawn_as_a_maze_that_slips_two_thirds_of_the_time_is_gymnasium_s_frozen_lake():
    drawn = mdps.maze("S...\n.~.~\n...~\n~..G", goal=1, pit=0, slip=2 / 3)
    lake = mdps.from_gymnasium("FrozenLake-v1")
    assert drawn.layout is not None
    cells = [4 * row + column for row, column in drawn.layout.cells]
    north, east, south, west = 3, 2, 1, 0  # the lake's actions in the maze's order
    expected = lake.optimal_q(0.95)[np.ix_(cells, [north, east, south, west])]
    np.testing.assert_allclose(drawn.optimal_q(0.95), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("slip", [-0.1, 1.5, float("nan")])
def test_a_slip_that_is_no_probability_is_refused(slip, refused):
    with refused("slip"):
        mdps.maze("SG", slip=slip)


def test_of_several_starts_each_is_as_likely_as_the_others():
    assert mdps.maze("S.S.\n...G\nS..S").start[[0, 2, 7, 10]].tolist() == [0.25] * 4


def test_an_episode_has_four_steps_for_each_cell_unless_given():
    assert mdps.maze("SG").max_steps == 100
    assert mdps.maze("S" + "." * 49 + "G").max_steps == 200
    assert mdps.maze("SG", max_steps=7).max_steps == 7


def test_what_is_sealed_off_is_not_reachable():
    mdp = mdps.maze("S.G#.")
    assert mdp.reachable.tolist() == [True, True, False]


@pytest.mark.parametrize("text", ["S.G\n...", "\n\n S.G  \n ...\n\n", "S.G\r\n...\r\n"])
def test_blank_lines_around_it_its_indentation_and_its_line_ends_do_not_matter(text):
    layout = mdps.maze(text).layout
    assert layout is not None
    assert layout.rows == ("S.G", "...")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the maze is empty"),
        ("\n  \n", "the maze is empty"),
        ("###\n#G#", "the maze has no start"),
        ("S..", "the maze has no goal"),
        ("S..\n..\n..G", "line 2 has 2 cells, line 1 has 3"),
        ("\nS..\n\n..G", "line 3 has 0 cells, line 2 has 3"),
        ("S..\n.?G", "line 2, column 2 is '?'"),
        ("S .G", "line 1, column 2 is ' '"),
        ("S.x.G", "no goal can be reached from a start"),
    ],
)
def test_a_drawing_that_is_no_maze_is_one_line(text, words, refused):
    with refused(f"maze: {words}"):
        mdps.maze(text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_file_is_a_maze_of_its_name(tmp_path, encoding):
    (tmp_path / "mine.txt").write_text(SMALL, encoding=encoding)
    mdp = mdps.read_maze(tmp_path / "mine.txt")
    assert mdp.name == "mine"
    assert mdp.layout == mdps.maze(SMALL).layout


def test_a_file_that_cannot_be_read_is_one_line(tmp_path, refused):
    with refused("nowhere.txt does not exist"):
        mdps.read_maze(tmp_path / "nowhere.txt")
    with refused(f"cannot read {tmp_path}: is a directory"):
        mdps.read_maze(tmp_path)
    (tmp_path / "picture.txt").write_bytes(b"\x89PNG\xff")
    with refused("picture.txt: it is not text"):
        mdps.read_maze(tmp_path / "picture.txt")
    (tmp_path / "mine.txt").write_text("S?G")
    with refused("mine: line 1, column 2"):
        mdps.read_maze(tmp_path / "mine.txt")


def test_a_maze_is_drawn_with_its_walls_apart_from_its_pits():
    env = FiniteEnv(mdps.maze(SMALL), render_mode="ansi")
    env.reset()
    assert env.render() == "█████\n█@.G█\n█x~██\n█████\n"
    image = FiniteEnv(mdps.maze(SMALL), render_mode="rgb_array").render()
    cell = image.shape[0] // 4
    wall, pit, floor = (image[r * cell + cell // 2, c * cell + cell // 2].tolist() for r, c in ((0, 0), (2, 2), (1, 2)))
    assert wall != pit != floor != wall


@pytest.mark.parametrize("name", DRAWINGS)
def test_mazes_that_come_with_dorax_can_be_solved_within_an_episode(name):
    mdp = mdps.read_maze(name)
    assert mdp.name == name
    q = mdp.optimal_q(0.99)
    start = int(np.argmax(mdp.start))
    assert q[start].max() > 10 * 0.99**mdp.max_steps
    assert mdp.reachable.all()


def test_three_mazes_come_with_dorax():
    assert set(DRAWINGS) == {"four_rooms", "ledge", "spiral"}, "the docstring of read_maze and dorax explore name them"
