"""README and site: examples run as they stand, the reference is complete, and the site builds without a warning."""

import ast
import html
import importlib.util
import inspect
import pkgutil
import re
import subprocess
import sys
import textwrap
from itertools import pairwise
from pathlib import Path

import pytest

import dorax
from dorax import experiments
from dorax.study.publishing import BEGIN, END, findings_table, published_claims

DOCS = Path(__file__).parents[1] / "docs"
README = DOCS.parent / "README.md"
PAGES = sorted(DOCS.rglob("*.md"))
# Code, and what it prints if a block of text follows.
CODE = re.compile(
    r"^```(?P<kind>python|\{drawn\}).*\n(?P<code>(?:(?!```).*\n)*)```\n(?:\n```text\n(?P<output>(?:(?!```).*\n)*)```)?",
    re.MULTILINE,
)
NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)")
ARGUMENTS = re.compile(r"^(?:Args|Attributes):\n((?:    .*\n|\n)+)", re.MULTILINE)
MODULES = [
    pytest.param(found.name, marks=[pytest.mark.sb3] if found.name.startswith("dorax.wrappers.sb3") else [])
    for found in pkgutil.walk_packages(dorax.__path__, "dorax.")
    if not re.search(r"\._", found.name)
]


def marks(kind, code):
    """A picture of agents that train has several programs to compile."""
    if "stable_baselines3" in code:
        return [pytest.mark.sb3, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
    if "bsuite" in code:
        is_missing = importlib.util.find_spec("bsuite") is None
        return [pytest.mark.bsuite, pytest.mark.skipif(is_missing, reason="bsuite is not installed: make test-bsuite")]
    return [pytest.mark.slow] if kind == "{drawn}" and "dorax.train(" in code else []


# Examples, and the code of pictures that are drawn while the site is built.
EXAMPLES = [
    pytest.param(found["code"], found["output"], id=f"{page.stem}-{number}", marks=marks(found["kind"], found["code"]))
    for page in [README, *PAGES]
    for number, found in enumerate(CODE.finditer(page.read_text()))
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
    assert sum(str(example.id).startswith("README") for example in EXAMPLES) >= 2
    assert len(EXAMPLES) >= 15


@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_an_example_of_the_pages_runs_as_it_stands_and_prints_what_they_show(
    code, output, monkeypatch, tmp_path, capsys
):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs", "exec"), {})
    pyplot.close("all")
    printed = capsys.readouterr().out
    assert output is None or is_same_output(output, printed), printed


def is_same_output(shown, printed):
    """Whether the words are the same and the numbers close: machines round differently. `...` stands for anything."""
    shown, printed = (NUMBER.split(" ".join(text.split())) for text in (shown, printed))
    if "..." in "".join(shown):
        pattern = ".*".join(re.escape(part) for part in "".join(shown).split("..."))
        return re.fullmatch(pattern, "".join(printed)) is not None
    if [*map(str.strip, shown[::2])] != [*map(str.strip, printed[::2])]:
        return False
    return all(
        float(ours) == pytest.approx(float(theirs), rel=0.02, abs=0.011)
        for ours, theirs in zip(shown[1::2], printed[1::2], strict=True)
    )


def test_shown_output_is_compared_word_for_word_and_number_by_number():
    assert is_same_output("a 1.00 b\n", "a  1.01 b")
    assert is_same_output("[ 1.  -2.5]", "[1. -2.5]")
    assert is_same_output("took ... s", "took 3.14 s")
    assert not is_same_output("a 1.0", "a 1.2")
    assert not is_same_output("a 1.0", "b 1.0")
    assert not is_same_output("a 1.0", "a 1.0 2.0")


@pytest.mark.parametrize("page", ["ten_minutes", "your_agent"])
def test_what_these_pages_print_is_shown(page):
    """Examples with Stable-Baselines3 aside: what they print differs from version to version."""
    for found in CODE.finditer((DOCS / f"{page}.md").read_text()):
        if "print(" in found["code"] and "stable_baselines3" not in found["code"]:
            assert found["output"], found["code"]


@pytest.mark.parametrize("name", dorax.__all__)
def test_the_reference_has_every_public_name(name):
    pages = "\n".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    assert re.search(rf"^\.\. auto\w+:: dorax\.{name}$", pages, re.MULTILINE)


def public_names(module):
    """The public functions and classes that a module defines, by name."""
    return {
        name: thing
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and getattr(thing, "__module__", None) == module.__name__
        and (inspect.isclass(thing) or inspect.isfunction(inspect.unwrap(thing)))
    }


def arguments(thing):
    """The names of the arguments of a function, or of those that create an object of a class."""
    if inspect.isclass(thing):
        if issubclass(thing, tuple | dict):  # named tuples and typed dictionaries
            return [*getattr(thing, "_fields", thing.__annotations__)]
        thing = thing.__init__
    found = inspect.signature(thing).parameters.values()
    return [
        each.name for each in found if each.name != "self" and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]


def described(thing):
    """The names under `Args:` and `Attributes:`, in base classes too; and fields with a docstring of their own."""
    classes = thing.__mro__ if inspect.isclass(thing) else [thing]
    texts = [each.__doc__ for each in classes] + [each.__init__.__doc__ for each in classes if inspect.isclass(each)]
    sections = [part for text in texts if text for part in ARGUMENTS.findall(inspect.cleandoc(text) + "\n")]
    names = {name for part in sections for name in re.findall(r"^    \**(\w+):", part, re.MULTILINE)}
    if not inspect.isclass(thing):
        return names
    definition = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
    assert isinstance(definition, ast.ClassDef)
    fields = [
        field.target.id
        for field, text in pairwise(definition.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr)
    ]
    return names.union(fields)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_describe_every_argument_of_a_public_function_or_class(name):
    module = importlib.import_module(name)
    # `Experiment` describes the arguments of the functions that an experiment consists of.
    experiment = getattr(module, "EXPERIMENT", None)
    parts = [] if experiment is None else [experiment.conditions, experiment.draw, experiment.tables, experiment.hero]
    found = public_names(module)
    # A dataclass or a named tuple without a docstring has its signature for one.
    without = [each for each, thing in found.items() if not thing.__doc__ or thing.__doc__.startswith(f"{each}(")]
    missing = {
        each: [argument for argument in arguments(thing) if argument not in described(thing)]
        for each, thing in found.items()
        if thing not in parts
    }
    assert without == []
    assert {each: names for each, names in missing.items() if names} == {}


def test_every_public_name_is_defined_in_a_module_whose_docstrings_are_checked():
    things = [getattr(dorax, name) for name in dorax.__all__]
    homes = {thing.__module__ for thing in things if not inspect.ismodule(thing)}
    assert homes <= {module.values[0] for module in MODULES}


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
    assert as_rest(["*All* of 2 * x*."]) == [r"*All* of 2 \* x\*."]


@needs_sphinx
def test_sections_are_left_to_napoleon_with_names_as_code(extension):
    as_rest = extension("docstrings").as_rest
    section = ["Args:", "    rule: an `LLL`.", "    n_: a `number`,", "        or two.", "", "Returns:", "    It."]
    assert as_rest(section) == [
        *("Args:", "    rule: an :py:obj:`LLL <dorax.LLL>`.", r"    n\_: a ``number``,", "        or two.", ""),
        *("Returns:", "    It."),
    ]


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
        assert f"| {row['claim']}".replace("|A|", "\\|A\\|") in claims


@needs_sphinx
def test_a_page_may_quote_a_claim_and_not_one_that_is_not_published(extension, monkeypatch):
    written = extension("written")
    numbers = {"value": 1.5, "relation": "=", "low": 1.2, "high": None, "seeds": 3, "verdict": "holds"}
    cases = [{"case": "k = 2", **numbers, "value": 2.5}]
    rows = [{"experiment": "tree", "claim": "a|b", "kind": "statistics", "cases": cases, **numbers}]
    monkeypatch.setattr(written, "published_claims", lambda: rows)
    assert written.one_claim("tree", "a|b") == "1.5 [1.2, ∞] ([holds](#claims-tree))"
    assert written.one_claim("tree", "a|b", "k = 2") == "2.5 [1.2, ∞] ([holds](#claims-tree))"
    for missing in (("tree", "b"), ("tree", "a|b", "k = 3"), ("scaling", "a|b")):
        with pytest.raises(LookupError, match=missing[0]):
            written.one_claim(*missing)


def test_the_findings_in_the_readme_are_those_of_the_published_claims():
    table = findings_table(experiments.find(), published_claims())
    assert f"{BEGIN}\n\n{table}\n{END}" in README.read_text()
    assert 10 < table.count("\n|") <= 2 + 15
    assert set(re.findall(r"[|:] (yes|no|unclear)(?: \||<br>)", table)) == {"yes", "no", "unclear"}


@needs_sphinx
def test_yardsticks_are_shown_as_they_were_written(extension, monkeypatch, tmp_path):
    written = extension("written")
    monkeypatch.setattr(written, "ROOT", tmp_path)
    assert "dorax bench --json > results/bench.json" in written.yardsticks()
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "bench.json").write_text(
        '{"devices": ["cpu:0"], "yardsticks": [{"name": "a over b", "ratio": 2.5, "lowest": 2, "highest": 3, '
        '"aim": "≥ 2", "is_met": true, "steps_per_second": 5e6, "reference_steps_per_second": 2e6}, '
        '{"name": "b over c", "ratio": 1.5, "lowest": 1, "highest": 2, "aim": "–", "is_met": null, '
        '"steps_per_second": 2e6, "reference_steps_per_second": 3e6}]}'
    )
    assert "| a over b | 2.5 | 2 – 3 | ≥ 2 | yes | 5.00e+06 | 2.00e+06 |" in written.yardsticks()
    assert "| b over c | 1.5 | 1 – 2 | – | – | 2.00e+06 | 3.00e+06 |" in written.yardsticks()


@needs_sphinx
@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", "-W", "--keep-going", "-n", "-d", tmp_path / "trees"]
    built = subprocess.run([*command, DOCS, tmp_path / "site"], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "site" / "index.html").exists()
    for page in (tmp_path / "site" / "reference").glob("*.html"):
        shown = html.unescape(re.sub(r"<[^>]+>", "", page.read_text()))
        assert not re.search(r"\*args|TypeAliasForwardRef|jaxlib\._jax|<factory>|<function|object at 0x", shown), page
    wrappers = re.sub(r"<[^>]+>|\s", "", (tmp_path / "site" / "reference" / "wrappers.html").read_text())
    assert "VecEValueBonus(env:EnvT,*," in wrappers
    assert "counter:EValues|Visits=EValues(0.99),bonus:Bonus=InverseRootCount(),scale:Scale=0.03," in wrappers
