"""README and site: examples run as they stand, the reference is complete, and the site builds without a warning."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dorax
from dorax import experiments
from dorax.study.publishing import BEGIN, END, findings_table, published_claims

DOCS = Path(__file__).parents[1] / "docs"
README = DOCS.parent / "README.md"
PAGES = sorted(DOCS.rglob("*.md"))
CODE = re.compile(r"^```(python|\{drawn\})[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


def marks(kind, code):
    """A picture of agents that train has several programs to compile."""
    if "stable_baselines3" in code:
        return [pytest.mark.sb3, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
    return [pytest.mark.slow] if kind == "{drawn}" and "dorax.train(" in code else []


# Examples, and the code of pictures that are drawn while the site is built.
EXAMPLES = [
    pytest.param(code, id=f"{page.stem}-{number}", marks=marks(kind, code))
    for page in [README, *PAGES]
    for number, (kind, code) in enumerate(CODE.findall(page.read_text()))
]

needs_sphinx = pytest.mark.skipif(
    importlib.util.find_spec("sphinx") is None, reason="sphinx is not installed: pip install 'dorax[docs]'"
)


@pytest.fixture
def extension(monkeypatch):
    """A module of the site's own, by name."""
    monkeypatch.syspath_prepend(DOCS / "extensions")
    return importlib.import_module


def test_the_readme_and_the_pages_have_examples():
    assert sum(example.id.startswith("README") for example in EXAMPLES) >= 5
    assert len(EXAMPLES) >= 15


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_of_the_pages_runs_as_it_stands(code, monkeypatch, tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs", "exec"), {})
    pyplot.close("all")


@pytest.mark.parametrize("name", dorax.__all__)
def test_the_reference_has_every_public_name(name):
    pages = "\n".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    assert re.search(rf"^\.\. auto\w+:: dorax\.{name}$", pages, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_is_in_a_table_of_contents(page):
    contents = "\n".join(re.findall(r"```\{toctree\}\n(.*?)```", (DOCS / "index.md").read_text(), re.DOTALL))
    name = str(page.relative_to(DOCS).with_suffix(""))
    assert name == "index" or name in contents.splitlines()


@needs_sphinx
def test_indented_blocks_are_literal_and_names_are_code(extension):
    as_rest = extension("docstrings").as_rest
    assert as_rest(["`E` of |A| is 2 * x_."]) == [r"``E`` of \|A\| is 2 \* x\_."]
    assert as_rest(["- of `LLL`", "  and `dorax.grid`"]) == [
        "- of :py:obj:`LLL <dorax.LLL>`",
        "  and :py:obj:`dorax.grid`",
    ]
    assert as_rest(["As in", "", "    E <- `a` E", "", "    or so", "", "there."]) == [
        *("As in", "", ".. code-block:: text", "", "    E <- `a` E", "", "    or so", "", "there."),
    ]
    assert ".. code-block:: python" in as_rest(["As in", "", "    e = a * b"])


@needs_sphinx
def test_the_pages_have_the_published_claims_and_their_verdicts(extension):
    written = extension("written")
    rows, paper, claims = published_claims(), written.paper(), written.all_claims()
    for name, experiment in experiments.find().items():
        (line,) = re.findall(rf"^\| .* \[{re.escape(experiment.title)}\].*$", paper, re.MULTILINE)
        counts = [int(cell) for cell in re.findall(r"\| (\d+) (?=\|)", line)]
        verdicts = [row["verdict"] for row in rows if row["experiment"] == name]
        assert counts == ([verdicts.count(each) for each in ("holds", "fails", "unclear")] if verdicts else [])
    for row in rows:
        assert f"| {row['claim']} |".replace("|A|", "\\|A\\|") in claims


def test_the_findings_in_the_readme_are_those_of_the_published_claims():
    table = findings_table(experiments.find(), published_claims())
    assert f"{BEGIN}\n\n{table}\n{END}" in README.read_text()
    assert 10 < table.count("\n|") <= 2 + 15
    assert {"| yes |", "| no |", "| unclear |"} <= set(re.findall(r"\| (?:yes|no|unclear) \|", table))


@needs_sphinx
def test_yardsticks_are_shown_as_they_were_written(extension, monkeypatch, tmp_path):
    written = extension("written")
    monkeypatch.setattr(written, "ROOT", tmp_path)
    assert "dorax bench --json > results/bench.json" in written.yardsticks()
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "bench.json").write_text(
        '{"devices": ["cpu:0"], "yardsticks": [{"name": "a over b", "ratio": 2.5, "lowest": 2, "highest": 3, '
        '"aim": "≥ 2", "is_met": true, "steps_per_second": 5e6, "reference_steps_per_second": 2e6}]}'
    )
    assert "| a over b | 2.5 | 2 – 3 | ≥ 2 | yes | 5.00e+06 | 2.00e+06 |" in written.yardsticks()


@needs_sphinx
@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", "-W", "--keep-going", "-n", "-d", tmp_path / "trees"]
    built = subprocess.run([*command, DOCS, tmp_path / "site"], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "site" / "index.html").exists()
