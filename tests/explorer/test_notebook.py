"""`dorax.explore`: the page as the value of a notebook's cell."""

import html
import re

import dorax
from dorax import explorer

MAZE = dorax.mdps.maze("S.\n.G")


def test_the_page_stands_in_a_frame_of_its_own(tmp_path):
    explored = dorax.explore(MAZE, "visits", episodes=3, height=700)
    shown = explored._repr_html_()
    source = re.fullmatch(r'<iframe srcdoc="([^"]*)" (.*)></iframe>', shown, re.DOTALL)
    assert source is not None
    assert html.unescape(source[1]) == explored.page
    assert "height: 700px" in source[2]
    explored.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == explored.page
    assert len(repr(explored)) < 100


def test_agents_of_your_own_are_shown_by_their_names_and_recorded_as_ever():
    mine = {"mine <1>": dorax.TabularAgent(rule=dorax.Sample(dorax.EpsilonGreedy(0.2)))}
    page = dorax.explore(MAZE, mine, episodes=4, seed=5).page
    assert page == explorer.page_of(MAZE, {"mine <1>": explorer.record(MAZE, mine["mine <1>"], 4, 5)})
    assert "mine &lt;1&gt;" in page


def test_a_world_can_be_given_by_its_word():
    assert "<title>dorax explore: bridge(3)</title>" in dorax.explore("bridge:3", "visits", episodes=1).page


def test_one_or_two_agents_are_shown(refused):
    with refused("0 agents"):
        dorax.explore(MAZE, {})
    with refused("height is 0"):
        dorax.explore(MAZE, "visits", height=0)
