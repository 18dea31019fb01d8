"""Imports point one way: core <- mdps, envs <- lanes <- agent families <- experiments <- cli; study knows no agent."""

import ast
from pathlib import Path

import pytest

import dorax

SOURCE = Path(dorax.__file__).parent
ALLOWED = {
    "core": set(),
    "files": {"core"},
    "mdps": {"core"},
    "envs": {"core", "mdps"},
    "lanes": {"core", "envs"},
    "tabular": {"core", "files", "mdps", "envs", "lanes"},
    "linear": {"core", "envs", "lanes"},
    "deep": {"core", "files", "envs", "lanes"},
    "wrappers": {"core", "files", "linear"},
    "training": {"core", "mdps", "envs", "lanes", "tabular", "linear", "deep"},
    "study": {"core", "files"},
    "experiments": {"core", "files", "mdps", "envs", "lanes", "tabular", "linear", "deep", "wrappers", "study"},
    "bench": {"core", "mdps", "envs", "lanes", "tabular", "linear", "deep", "wrappers"},
    "explorer": {"core", "files", "mdps", "envs", "lanes", "tabular"},
    "cli": {"core", "envs", "lanes", "deep", "study", "experiments", "bench", "explorer"},
}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ([node.module] if node.module != "dorax" else [f"dorax.{alias.name}" for alias in node.names])
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_point_one_way(package):
    paths = list((SOURCE / package).rglob("*.py")) or [SOURCE / f"{package}.py"]
    assert paths
    for path in paths:
        used = {name.split(".")[1] for name in imports(path) if name.startswith("dorax.")}
        assert used <= ALLOWED[package] | {package}, path


def test_every_package_has_its_place():
    present = {path.stem for path in SOURCE.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert present - {"__init__", "__pycache__"} == set(ALLOWED)


def test_importing_dorax_does_not_import_what_it_does_not_need_at_once():
    import subprocess
    import sys

    heavy = "{'xarray', 'matplotlib', 'scipy.stats', 'jinja2', 'tyro', 'rich', 'optax', 'torch', 'ale_py', 'ray'}"
    code = f"import sys, dorax; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_every_public_name_is_found_when_it_is_asked_for():
    assert all(hasattr(dorax, name) for name in dorax.__all__)
    assert set(dorax.__all__) <= set(dir(dorax))
    with pytest.raises(AttributeError, match="no_such_thing"):
        dorax.no_such_thing  # noqa: B018
