"""The report: findings first, details folded, links that lead somewhere, and text that stays text."""

import re
import shutil
from html.parser import HTMLParser

import numpy as np
import pytest
import xarray as xr

from dorax.study import figures
from dorax.study.claims import Claim, Estimate
from dorax.study.experiment import Answer, Condition, Experiment, Finding, Size, Table
from dorax.study.report import write_report
from dorax.study.results import run
from dorax.study.statistics import Interval
from dorax.study.store import Store

SIZE = Size(seeds=2)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def train(settings, seeds, job):
    score = xr.Dataset({"score": ("record", np.arange(3.0))})
    return score.expand_dims(setting=[""] * len(settings), seed=list(seeds))


def draw(results, figure):
    left, right = figure.subplots(1, 2, sharey=True)
    for panel, title in ((left, "by episode"), (right, "<b>by step")):
        panel.plot(results["bold"].data().score.values[0], label="bold")
        panel.set_title(title)
    left.set_ylabel("score")
    figures.legend_below(figure, left)


def claim(name, low):
    return Claim(name, lambda results: Estimate("a statistic of " + "many words " * 9, Interval(1, low, 3), 2), above=0)


def experiment(order):
    wide = Table("A wide table", [f"column {i}" for i in range(12)], [["a value of some length"] * 12])
    return Experiment(
        "Figure 1", f"Is <i>{order}</i> bold & shy?", "What the <i>paper</i> says.",
        conditions=lambda size: [Condition("bold", train)],
        claims=[claim("1 < 2", 0.5), claim("a_very_long_name_of_a_claim_that_cannot_be_broken_anywhere_at_all", -1.0)],
        draw=draw, order=order, notes="Setup.", size=SIZE, tables=lambda results: [wide],
        finding=Finding(f"Question {order}?", [Answer("1 < 2", "{} times as bold")]),
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the report of two experiments, where a third has not been run."""
    store = Store(tmp_path_factory.mktemp("report"))
    experiments = {name: experiment(i) for i, name in enumerate(("first", "second", "third"))}
    for name in ("first", "second"):
        run(name, experiments[name], SIZE, store, lambda name: lambda *_: None)
    write_report(experiments, store)
    return store.folder


@pytest.fixture(scope="module")
def page(folder):
    return (folder / "report.html").read_text()


class Outline(HTMLParser):
    """Elements of a page with an id or an address, and the elements around each."""

    def __init__(self):
        super().__init__()
        self.ids, self.links, self.folded, self.titles, self._open = [], [], {}, [], []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if "id" in given:
            self.ids.append(given["id"])
            self.folded[given["id"]] = "details" in self._open
        if tag == "a":
            self.links.append(given["href"])
        if tag in ("h1", "h2", "h3", "table", "figure"):
            self.titles.append((tag, self._open.count("details")))
        if tag not in ("meta", "link", "img", "br"):
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag


@pytest.fixture(scope="module")
def outline(page):
    outline = Outline()
    outline.feed(page)
    return outline


def test_every_link_leads_to_a_part_of_the_page_or_to_a_file_beside_it(outline, folder):
    assert len(outline.ids) == len(set(outline.ids))
    for link in outline.links:
        assert link[1:] in outline.ids if link.startswith("#") else (folder / link).stat().st_size > 500


def test_every_experiment_is_in_the_contents_and_every_finding_leads_to_its_experiment(outline):
    assert outline.links.count("#first") == outline.links.count("#second") == 2
    assert "#third" not in outline.links


def test_findings_come_first_and_experiments_are_folded(outline):
    assert outline.titles[:3] == [("h1", 0), ("h2", 0), ("table", 0)]
    assert all(depth for tag, depth in outline.titles[3:] if tag in ("table", "figure"))
    assert outline.ids.index("findings") < outline.ids.index("experiments") < outline.ids.index("first")


def test_figures_and_their_panels_are_linked_where_they_are_shown(outline):
    expected = [f"figures/second{part}.{kind}" for part in ("", "-1", "-2") for kind in ("svg", "pdf")]
    assert [link for link in outline.links if link.startswith("figures/second")] == expected


def test_the_page_shows_its_pictures_without_other_files(page):
    assert page.count('src="data:image/svg+xml;base64,') == page.count("<img ") == 2
    assert not re.search(r'(<script|<link)[^>]* (src|href)="(?!data:)', page)
    assert "url(" not in page
    assert "http" not in page


def test_words_of_an_experiment_stay_text(page):
    assert "<i>" not in page
    assert "<b>by step" not in page
    assert "Is &lt;i&gt;0&lt;/i&gt; bold &amp; shy?" in page


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no Chromium: install chromium to test the page in it")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


UNFOLD = "document.querySelectorAll('main details').forEach(details => { details.open = true; })"
# The lowest contrast of text with what is behind it, as WCAG defines it.
CONTRAST = """(() => {
  const light = (rgb) => rgb.map(c => c / 255).map(c => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const behind = (at) => { for (; at; at = at.parentElement) { const c = parts(getComputedStyle(at).backgroundColor);
    if (c.length === 3 || c[3] > 0) return c.slice(0, 3); } };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const at = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !at.checkVisibility() || at.closest("script")) continue;
    const [a, b] = [light(parts(getComputedStyle(at).color).slice(0, 3)), light(behind(at))].sort((x, y) => y - x);
    found.push((a + .05) / (b + .05));
  }
  return [found.length, Math.min(...found)];
})()"""


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (1440, "dark"), (390, "light"), (390, "dark")])
def test_nothing_hangs_over_and_all_text_can_be_read(browser, folder, width, scheme):
    page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page.goto((folder / "report.html").as_uri())
    page.evaluate(UNFOLD)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    texts, lowest = page.evaluate(CONTRAST)
    assert texts > 50
    assert lowest >= 4.5
    background = [
        int(part) for part in page.evaluate("getComputedStyle(document.body).backgroundColor")[4:-1].split(",")
    ]
    assert max(background) < 64 if scheme == "dark" else min(background) > 192
    page.close()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1440, 390])
def test_the_contents_stay_in_sight_work_by_keyboard_and_fold_on_a_phone(browser, folder, width):
    page = browser.new_page(viewport={"width": width, "height": 700})
    page.goto((folder / "report.html").as_uri())
    link = page.locator("nav a[href='#second']")
    assert link.is_visible() == (width > 1000)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    if width < 1000:
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
    link.focus()
    page.keyboard.press("Enter")
    section = page.locator("#second")
    section.locator("img").wait_for()
    page.wait_for_function("document.querySelector('nav a[aria-current]')?.hash === '#second'")
    assert 0 <= section.bounding_box()["y"] < 350
    assert page.locator("nav").bounding_box()["y"] >= 0, "it stays while the page scrolls"
    assert link.is_visible() == (width > 1000)
    page.close()
