"""The notebooks in examples/ run from top to bottom, as they are."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
NEEDS_SB3 = {"add_it_to_ppo"}
NAMES = [path.stem for path in sorted(FOLDER.glob("*.ipynb"))]
MARKED = [pytest.param(name, marks=pytest.mark.sb3 if name in NEEDS_SB3 else pytest.mark.slow) for name in NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_opens_in_colab_starts_with_one_install_line_and_holds_no_outputs(name):
    title, install, *cells = json.loads((FOLDER / f"{name}.ipynb").read_text())["cells"]
    assert f"https://colab.research.google.com/github/dorax/dorax/blob/main/examples/notebooks/{name}.ipynb" in "".join(
        title["source"]
    )
    assert install["metadata"]["tags"] == ["install"]
    assert "".join(install["source"]).startswith("%pip install --quiet ")
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in (install, *cells))


@pytest.mark.parametrize("name", MARKED)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")  # of Jupyter's client
def test_a_notebook_runs(name, tmp_path):
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient").NotebookClient
    book = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    book.cells = [cell for cell in book.cells if "install" not in cell.metadata.get("tags", [])]
    client(book, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    shown = [output.get("data", {}) for output in outputs]
    pictures = [data for data in shown if "image/png" in data or "<svg" in data.get("text/html", "")]
    assert pictures, "there is something to look at"
    assert not any(output.get("name") == "stderr" for output in outputs), "and nothing is complained about"
