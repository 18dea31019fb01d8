"""The wheel, in fresh environments that see neither the repository nor other packages."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.installed

ROOT = Path(__file__).parents[1]
PIP = [
    "-m",
    "pip",
    "install",
    "--quiet",
    "--no-compile",
    "--disable-pip-version-check",
    "-c",
    str(ROOT / "constraints.txt"),
]
ALONE = """
import gymnasium, sys, dorax
env = dorax.EValueBonus(gymnasium.make("dorax/DeepSea-v0"))
env.reset(seed=0)
env.step(0)
agent = dorax.TabularAgent(dorax.LLL(dorax.Softmax(1.0)), dorax.EValues(0.9))
result = dorax.train(agent, dorax.mdps.bridge(5), episodes=3)
result.learner().save("learner.npz")
assert dorax.load("learner.npz").q_table.shape == result.learner().q_table.shape
assert dorax.mdps.read_maze("spiral").states > 10
assert dorax.__file__.startswith(sys.prefix)
for use in ("dorax.diagnose(env).figure()", "import dorax.experiments", "import dorax.wrappers.sb3"):
    try:
        exec(use)
    except dorax.InvalidInput as error:
        print(error)
"""


def python(version: str) -> str | None:
    """A Python of this version that can make environments, or None."""
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"))
    for found in (sys.executable, shutil.which(f"python{version}"), *map(str, pyenv)):
        code = "import sys, ensurepip; print('%d.%d' % sys.version_info[:2])"
        if found and subprocess.run([found, "-c", code], capture_output=True, text=True).stdout.strip() == version:
            return found
    return None


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, made from the source distribution as a release is."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder, ROOT], check=True, capture_output=True)
    checked = subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *folder.iterdir()], text=True)
    assert checked.returncode == 0
    return next(folder.glob("*.whl"))


def test_links_and_pictures_of_the_package_s_page_lead_to_the_repository(wheel):
    with zipfile.ZipFile(wheel) as files:
        page = next(files.read(name).decode() for name in files.namelist() if name.endswith("/METADATA"))
    targets = re.findall(r"\]\(([^)]+)\)", page)
    assert len(targets) >= 8
    assert [target for target in targets if not target.startswith("https://")] == []
    assert "https://github.com/dorax/dorax/raw/main/docs/figures/hero.png" in targets


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_wheel_works_by_itself_and_with_the_extra_that_brings_the_commands(version, wheel, tmp_path):
    made_by = python(version)
    if made_by is None:
        pytest.skip(f"there is no Python {version}")
    venv, here = tmp_path / "venv", tmp_path / "here"
    here.mkdir()
    subprocess.run([made_by, "-m", "venv", venv], check=True)
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(list(map(str, arguments)), cwd=here, env=outside, capture_output=True, text=True)

    def succeeds(*arguments: object) -> str:
        done = run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    succeeds(venv / "bin" / "python", *PIP, wheel)
    messages = succeeds(venv / "bin" / "python", "-c", ALONE).splitlines()
    assert [line.partition("; ")[2] for line in messages] == [
        f"install it with pip install 'dorax[{extra}]'" for extra in ("paper", "paper", "sb3")
    ]
    refused = run(venv / "bin" / "dorax", "explore", "four_rooms")
    assert refused.returncode == 2
    assert refused.stderr.endswith(" is not installed; install it with pip install 'dorax[paper]'\n")
    assert refused.stderr.count("\n") == 1

    succeeds(venv / "bin" / "python", *PIP, f"{wheel}[paper]")
    before = files(venv)
    succeeds(venv / "bin" / "dorax", "explore", "four_rooms", "--episodes", "3")
    assert "<title>dorax explore: four_rooms</title>" in (here / "out" / "explore.html").read_text()
    succeeds(venv / "bin" / "dorax", "report")
    claims = json.loads((here / "out" / "claims.json").read_text())
    assert {"freeway", "sb3_sparse", "bsuite_deep_sea"} <= {row["experiment"] for row in claims}, "recorded results"
    assert (here / "out" / "report.html").stat().st_size > 100_000
    published = run(venv / "bin" / "dorax", "report", "--publish")
    assert published.returncode == 2
    assert published.stderr.startswith("dorax: --publish is given")
    assert published.stderr.count("\n") == 1
    assert files(venv) == before, "nothing writes into the package"


def files(venv: Path) -> set[Path]:
    """Its files, those that Python compiles aside."""
    return {path for path in venv.rglob("*") if path.is_file() and path.suffix != ".pyc"}
