import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
SB3 = [pytest.mark.sb3, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
EXAMPLES = [
    pytest.param(code, marks=SB3 if "stable_baselines3" in code else [])
    for code in re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
]


def test_the_readme_has_examples():
    assert len(EXAMPLES) >= 2


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_of_the_readme_runs_as_it_stands(example, monkeypatch, tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {})
