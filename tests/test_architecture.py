"""Imports point one way: core <- envs, features <- engine <- agents <- experiments <- cli; study knows no agent."""

import sys
from pathlib import Path

import pytest

import dorax

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "extensions"))

import imports  # noqa: E402

EDGES = {
    "core": set(),
    "files": {"core"},
    "features": {"core"},
    "mdps": {"core"},
    "archive": {"core", "files"},
    "envs": {"core", "files", "mdps"},
    "study": {"core", "files"},
    "engine": {"archive", "core", "envs", "files", "mdps"},
    "wrappers": {"agents", "archive", "core", "features"},
    "agents": {"core", "engine", "envs", "features", "mdps"},
    "learners": {"agents", "core", "engine", "envs", "features"},
    "explorer": {"agents", "core", "engine", "envs", "files", "mdps"},
    "bench": {"agents", "core", "engine", "envs", "mdps", "wrappers"},
    "experiments": {"agents", "core", "engine", "envs", "features", "mdps", "study", "wrappers"},
    "cli": {"agents", "bench", "core", "engine", "envs", "experiments", "explorer", "study"},
}


def test_packages_import_exactly_what_is_written_here():
    assert imports.edges() == EDGES


def test_every_import_points_to_a_lower_layer():
    layer = {name: i for i, row in enumerate(imports.ROWS) for name in row}
    assert set(layer) == set(EDGES)
    assert all(layer[used] < layer[name] for name, all_used in EDGES.items() for used in all_used)


def test_the_picture_of_the_packages_is_made_from_their_imports():
    drawn = (ROOT / "docs" / "figures" / "inside.svg").read_text()
    assert drawn == imports.picture(imports.edges()), "run python docs/extensions/imports.py"


def test_families_of_agents_do_not_import_one_another():
    families = ("tabular", "linear", "deep", "parallel", "atari")
    for family in families:
        folder = imports.SOURCE / "agents" / family
        for path in [*folder.rglob("*.py")] or [folder.with_suffix(".py")]:
            others = [other for other in families if other != family and f"dorax.agents.{other}" in path.read_text()]
            assert not others, path


def test_importing_dorax_does_not_import_what_it_does_not_need_at_once():
    import subprocess
    import sys

    heavy = {
        "jax", "equinox", "scipy", "pandas", "xarray", "optax", "matplotlib", "jinja2", "tyro", "rich", "torch",
    }  # fmt: skip
    code = f"import sys, dorax; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_every_public_name_is_found_when_it_is_asked_for():
    assert all(hasattr(dorax, name) for name in dorax.__all__)
    assert set(dorax.__all__) <= set(dir(dorax))
    with pytest.raises(AttributeError, match="no_such_thing"):
        dorax.no_such_thing  # noqa: B018
