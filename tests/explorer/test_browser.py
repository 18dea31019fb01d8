"""The page in a real browser: what it shows is what was recorded, by mouse and by keyboard."""

import shutil

import numpy as np
import pytest

from dorax import explorer, mdps
from dorax.envs import words

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: install chromium to test the page in it")

MAZE = mdps.maze("########\n#S..#..#\n#.#.#.##\n#.~...G#\n########")
assert MAZE.layout is not None
assert MAZE.action_names is not None
CELLS, ACTION_NAMES = MAZE.layout.cells, MAZE.action_names
NAMES = ("e-values", "visits")
EPISODES = 25
LAST = EPISODES
KINDS = ("visits", "counts", "q")


@pytest.fixture(scope="module")
def recordings():
    agents = explorer.agents(NAMES, MAZE, discount=0.9, e_discount=0.9)
    return {name: explorer.record(MAZE, agent, EPISODES) for name, agent in agents.items()}


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def opened(browser, recordings, tmp_path):
    """A function that opens a page; the test fails if the page complains or asks for anything but itself."""
    complaints, contexts = [], []

    def opened(mdp=MAZE, shown=recordings, **options):
        explorer.write_page(tmp_path / "page.html", mdp, shown)
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        address = (tmp_path / "page.html").as_uri()
        page.on("request", lambda asked: None if asked.url in (address, "data:,") else complaints.append(asked.url))
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def page(opened):
    return opened()


def index(page):
    return int(page.locator("#slider").input_value())


def number(text):
    return float(text.replace("−", "-"))


def numbers(page, agent):
    """The table of the chosen cell, without its last column: kind -> a number for each action."""
    rows = page.locator(f'[data-agent="{agent}"] tbody tr')
    return {
        kind: [number(text) for text in rows.nth(i).locator("td").all_inner_texts()[:-1]]
        for i, kind in enumerate(KINDS)
    }


def assert_shows(page, recordings, frame, state):
    for i, recording in enumerate(recordings.values()):
        recorded = recording.frames[frame]
        shown = numbers(page, i)
        for kind in KINDS:
            np.testing.assert_allclose(shown[kind], getattr(recorded, kind)[state], rtol=6e-3, err_msg=f"{i} {kind}")
        steps = page.locator(f'[data-agent="{i}"] [data-fact="steps"]').inner_text()
        assert int(steps.replace(",", "")) == recorded.steps


def point_at(page, agent, kind, state):
    """The mouse in the middle of a cell."""
    svg = page.locator(f'[data-agent="{agent}"] [data-map="{kind}"] svg')
    row, column = CELLS[state]
    place = svg.evaluate(
        "(svg, [x, y]) => { const at = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM()); return [at.x, at.y]; }",
        [20 * column + 10, 20 * row + 10],
    )
    page.mouse.move(*place)


def test_two_agents_stand_side_by_side_with_four_maps_each(page):
    assert page.locator("section.agent h2").all_inner_texts() == list(NAMES)
    assert page.locator("section.agent figure svg").count() == 8
    left, right = (page.locator("section.agent").nth(i).bounding_box() for i in range(2))
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]


def test_the_slider_shows_the_numbers_recorded_after_its_episode(page, recordings):
    for frame in (0, 1, 13, LAST):
        page.locator("#slider").fill(str(frame))
        assert_shows(page, recordings, frame, state=0)
    assert page.locator("#episode").inner_text() == f"episode {EPISODES} of {EPISODES}"


def test_pointing_at_a_cell_of_any_map_shows_its_numbers(page, recordings):
    page.locator("#slider").fill(str(LAST))
    for state, (agent, kind) in enumerate([(0, "visits"), (1, "q"), (0, "policy"), (1, "counts")], start=2):
        point_at(page, agent, kind, state)
        assert_shows(page, recordings, LAST, state)


def test_the_sums_and_the_best_value_stand_in_the_last_column(page, recordings):
    page.locator("#slider").fill(str(LAST))
    recorded = recordings["e-values"].frames[LAST]
    shown = [number(page.locator(f'[data-agent="0"] tr[data-kind="{kind}"] td').last.inner_text()) for kind in KINDS]
    expected = [recorded.visits[0].sum(), recorded.counts[0].sum(), recorded.q[0].max()]
    np.testing.assert_allclose(shown, expected, rtol=6e-3)


def fills(page, kind):
    return page.locator(f'[data-agent="0"] [data-map="{kind}"] .whole').evaluate_all(
        "shapes => shapes.map(shape => getComputedStyle(shape).fill)"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_colours_change_with_the_episode_and_equal_numbers_have_equal_colours(page, recordings, kind):
    page.locator("#slider").fill("0")
    before = fills(page, kind)
    assert len(set(before)) == 1, "nothing is known, and all cells look alike"
    page.locator("#slider").fill(str(LAST))
    after = fills(page, kind)
    recorded = getattr(recordings["e-values"].frames[LAST], kind)[MAZE.reachable]
    of_cell = recorded.max(axis=1) if kind == "q" else recorded.sum(axis=1)
    assert len(set(after)) > 1
    by_number = {}
    for colour, value in zip(after, of_cell, strict=True):
        assert by_number.setdefault(float(value), colour) == colour


def test_arrows_point_along_the_actions_of_highest_value(page, recordings):
    page.locator("#slider").fill(str(LAST))
    q = recordings["e-values"].frames[LAST].q
    turns = {"north": -90, "east": 0, "south": 90, "west": 180}
    groups = page.locator('[data-agent="0"] [data-map="policy"] g.on-path')
    assert groups.count() == MAZE.reachable.sum()
    for group, state in zip(groups.all(), np.flatnonzero(MAZE.reachable), strict=True):
        best = q[state] == q[state].max()
        expected = {f"rotate({turns[name]})" for name, is_best in zip(ACTION_NAMES, best, strict=True) if is_best}
        drawn = group.locator("path").evaluate_all(
            "marks => marks.filter(mark => mark.style.display !== 'none').map(mark => mark.getAttribute('transform'))"
        )
        assert set(drawn) == (set() if best.all() else expected)


def test_the_line_is_the_path_of_the_episode(page, recordings):
    page.locator("#slider").fill("5")
    path = recordings["visits"].frames[5].path
    drawn = page.locator('[data-agent="1"] polyline.path').get_attribute("points").split()
    centres = [f"{20 * column + 10},{20 * row + 10}" for row, column in (CELLS[state] for state in path)]
    assert drawn[: len(path)] == centres
    page.get_by_label("path").uncheck()
    assert not page.locator('[data-agent="1"] polyline.path').is_visible()


def test_the_keyboard_steps_and_jumps_from_anywhere(page, recordings):
    assert index(page) == 1, "the page opens where there is something to see"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert index(page) == 3
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert index(page) == 1
    assert_shows(page, recordings, 1, state=0)
    page.keyboard.press("End")
    assert index(page) == LAST
    page.keyboard.press("ArrowRight")
    assert index(page) == LAST
    page.keyboard.press("Home")
    assert index(page) == 0
    page.locator("#slider").focus()
    page.keyboard.press("ArrowRight")
    assert index(page) == 1, "one step, though slider and page both listen"
    assert page.locator("#slider").get_attribute("aria-valuetext") == f"episode 1 of {EPISODES}"


@pytest.mark.parametrize("focused", ["body", "#slider", "#play"])
def test_space_plays_and_pauses(page, focused):
    if focused != "body":
        page.locator(focused).focus()
    play = page.locator("#play")
    page.keyboard.press("Space")
    assert play.get_attribute("aria-label") == "Pause"
    page.wait_for_function("Number(document.getElementById('slider').value) >= 2")
    page.keyboard.press("Space")
    assert play.get_attribute("aria-label") == "Play"
    stopped = index(page)
    page.wait_for_timeout(400)
    assert index(page) == stopped


def test_the_button_plays_to_the_end_and_again_from_the_start(page):
    page.locator("#speed").select_option("fast")
    page.locator("#play").click()
    page.wait_for_function(f"Number(document.getElementById('slider').value) === {LAST}")
    page.wait_for_function("document.getElementById('play').getAttribute('aria-label') === 'Play'")
    page.locator("#play").click()
    page.wait_for_function(f"Number(document.getElementById('slider').value) < {LAST}")
    page.locator("#forward").click()
    assert page.locator("#play").get_attribute("aria-label") == "Play", "a step by hand pauses"


def test_the_keyboard_walks_the_cells_of_a_map_over_what_is_no_cell_and_back(page, recordings):
    page.keyboard.press("End")
    page.locator('[data-agent="1"] .maps').focus()
    page.keyboard.press("ArrowRight")
    assert_shows(page, recordings, LAST, state=1)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")  # over the wall
    assert_shows(page, recordings, LAST, state=CELLS.index((1, 5)))
    page.keyboard.press("ArrowUp")  # nothing there
    assert_shows(page, recordings, LAST, state=CELLS.index((1, 5)))
    assert page.locator("#said").inner_text().startswith("row 2, col 6: visits")
    assert index(page) == LAST, "within a map the arrows walk cells, not episodes"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "slider"


def test_everything_can_be_reached_by_tab_and_shows_its_focus(page):
    reached = []
    for _ in range(12):
        page.keyboard.press("Tab")
        described = page.evaluate(
            "(() => { const at = document.activeElement, style = getComputedStyle(at);"
            " return [at.id || at.className, style.outlineStyle, parseFloat(style.outlineWidth),"
            " at.getAttribute('aria-label') || (at.closest('label') || at).innerText || '']; })()"
        )
        reached.append(described[0])
        assert described[1] == "solid"
        assert described[2] >= 2
        assert described[3].strip()
    controls = ["back", "play", "forward", "slider", "speed", "show-path", "by-action", "maps", "maps"]
    assert reached == ["", "term", *controls, ""], "links first and last"


def test_counts_can_be_shown_by_action(page, recordings):
    page.locator("#slider").fill(str(LAST))
    parts = page.locator('[data-agent="0"] [data-map="visits"] .part')
    assert parts.count() == 4 * MAZE.reachable.sum()
    assert not parts.first.is_visible()
    page.get_by_label("counts by action").check()
    assert parts.first.is_visible()
    assert not page.locator('[data-agent="0"] [data-map="visits"] .whole').first.is_visible()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (768, "light"), (360, "dark")])
def test_nothing_hangs_over_the_edge_of_a_screen(opened, width, scheme):
    page = opened(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.keyboard.press("End")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for table in page.locator(".numbers").all():
        assert table.evaluate("box => box.scrollWidth <= box.clientWidth")


def test_two_agents_stand_side_by_side_on_a_phone_too_with_their_maps_at_the_same_height(opened):
    page = opened(viewport={"width": 390, "height": 844})
    for part in ("h2", ".maps", '[data-map="counts"] svg', ".numbers"):
        left, right = (page.locator(f'[data-agent="{i}"] {part}').bounding_box() for i in range(2))
        assert left["y"] == pytest.approx(right["y"], abs=0.1)
        assert left["x"] + left["width"] <= right["x"]


def test_curves_show_both_agents_and_pointing_at_them_chooses_the_episode(page, recordings):
    returns, seen = page.locator(".curve").all()
    lines = seen.locator("polyline").evaluate_all("lines => lines.map(line => line.getAttribute('points'))")
    for line, recording in zip(lines, recordings.values(), strict=True):
        heights = [float(point.split(",")[1]) for point in line.split()]
        counts = [frame.visits.any(axis=1).sum() for frame in recording.frames[1:]]
        assert len(heights) == EPISODES
        np.testing.assert_allclose(np.subtract(72, heights) * max(counts) / 72, counts, atol=1)
    assert returns.locator("polyline").count() == 2
    box = seen.locator("svg").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 5)
    assert index(page) == (LAST + 1) // 2
    assert float(returns.locator(".now").get_attribute("x1")) == pytest.approx(150)


def test_rings_mark_the_first_episode_that_reached_the_goal(page, recordings):
    found = [recording.first_reached for recording in recordings.values()]
    rings = page.locator(".curve").first.locator(".ring")
    assert rings.count() == sum(each is not None for each in found) > 0
    x = [float(path[1:].split()[0]) for path in rings.evaluate_all("all => all.map(ring => ring.getAttribute('d'))")]
    assert x == pytest.approx([300 * (each[0] - 1) / (LAST - 1) for each in found if each])


def test_what_a_generalized_count_is_is_told_by_mouse_and_by_keyboard(page):
    tip = page.get_by_role("tooltip", include_hidden=True)
    assert not tip.is_visible()
    page.locator(".term").hover()
    assert tip.is_visible()
    page.mouse.move(0, 0)
    assert not tip.is_visible()
    page.locator(".term").focus()
    assert tip.is_visible()


def test_the_dark_scheme_is_dark(opened):
    light, dark = (
        opened(color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    )
    assert light == "rgb(255, 255, 255)"
    assert max(int(part) for part in dark.strip("rgb()").split(",")) < 64


MORE_WORLDS = ("tree", "cliff", "Taxi-v4")


@pytest.mark.parametrize(
    "name", ["deep_sea", "FrozenLake-v1", *(pytest.param(name, marks=pytest.mark.slow) for name in MORE_WORLDS)]
)  # directions that differ by cell, chance; few actions, cells never stood on, no drawing
def test_other_worlds_are_shown_too_and_one_agent_alone(opened, name):
    mdp = words.mdp(name)
    recording = explorer.record(mdp, explorer.agents(["visits"], mdp, 0.9, 0.9)["visits"], 8)
    page = opened(mdp, {"visits": recording})
    page.keyboard.press("End")
    assert page.locator("section.agent").count() == 1
    assert page.locator('[data-map="visits"] .whole').count() == mdp.reachable.sum()
    start = int(np.flatnonzero(mdp.start)[0])
    shown = page.locator('tr[data-kind="visits"] td').all_inner_texts()[:-1]
    visits = recording.frames[-1].visits[start]
    assert shown == [str(n) if has else "–" for n, has in zip(visits, mdp.available[start], strict=True)]
