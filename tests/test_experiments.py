"""Every experiment also runs at toy size, from its conditions to its figure."""

import json
from pathlib import Path

import pytest

from dorax import cli, experiments
from dorax.study import figures, repository
from dorax.study.claims import judged
from dorax.study.experiment import Size
from dorax.study.publishing import published_claims
from dorax.study.report import write_report
from dorax.study.results import run
from dorax.study.store import Store

EXPERIMENTS = experiments.find()
QUICK = {"determinization", "diagnosed_bonus", "missing_knowledge", "tree"}  # to compile
TOY = Size(seeds=3, tuning_seeds=2, fraction=0.005)


def ignore(name):
    return lambda share, steps: None


SHORT = [name for name in EXPERIMENTS if not EXPERIMENTS[name].is_recorded]


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in SHORT])
def test_an_experiment_runs_judges_its_claims_and_draws_its_figure(name, tmp_path):
    experiment, store = EXPERIMENTS[name], Store(tmp_path)
    results = run(name, experiment, TOY, store, ignore)
    rows = judged(name, experiment, results)
    assert rows
    assert {row["verdict"] for row in rows} <= {"holds", "fails", "unclear"}
    figure = figures.drawn(experiment, results)
    assert all(panel.has_data() for panel in figure.axes)
    claims = write_report({name: experiment}, store)
    assert claims == rows, "what was stored gives the same verdicts as what was run"
    page = (tmp_path / "report.html").read_text()
    assert experiment.title in page
    assert (tmp_path / "figures" / f"{name}.png").stat().st_size > 5_000


@pytest.mark.slow
def test_freeway_runs_anywhere_at_its_quick_size_from_the_games_to_the_report(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(repository, "ROOT", tmp_path / "nothing recorded")
    cli.main(["run", "freeway", "--quick", "--out", str(tmp_path)])
    cli.main(["report", "--out", str(tmp_path)])
    assert "freeway" in capsys.readouterr().out
    page = (tmp_path / "report.html").read_text()
    assert "quick run with few episodes and agents" in page
    assert "Where the runs were made" in page
    assert "freeway" in {row["experiment"] for row in json.loads((tmp_path / "claims.json").read_text())}
    learner = tmp_path / "data" / "freeway" / "e-values-quick-0" / "learner.npz"
    cli.main(["play", str(learner), "--out", str(tmp_path / "play.gif"), "--steps", "20"])
    assert (tmp_path / "play.gif").stat().st_size > 5_000


def test_claims_of_an_experiment_are_all_different():
    for experiment in EXPERIMENTS.values():
        texts = [claim.text for claim in experiment.claims]
        assert len(set(texts)) == len(texts)


def test_a_new_figure_is_one_new_file_found_without_editing_a_list(monkeypatch, tmp_path):
    source = Path(experiments.__file__).parent / "tree.py"
    (tmp_path / "another_tree.py").write_text(source.read_text())
    monkeypatch.setattr(experiments, "__path__", [*experiments.__path__, str(tmp_path)])
    assert "another_tree" in experiments.find()


def test_a_finding_is_the_verdict_of_claims_that_there_are():
    findings = {name: each.finding for name, each in EXPERIMENTS.items() if each.finding is not None}
    assert len(findings) <= 15
    for name, finding in findings.items():
        assert finding.question.endswith("?")
        assert len(finding.answers) == 1 or all(answer.label for answer in finding.answers)
        for answer in finding.answers:
            claims = {claim.text: claim for claim in EXPERIMENTS[answer.experiment or name].claims}
            assert answer.claim in claims
            assert answer.case in ("", *claims[answer.claim].cases)
            assert answer.effect.count("{}") == 1


def test_published_claims_are_claims_of_the_experiments():
    rows = published_claims()
    assert rows
    for row in rows:
        experiment = EXPERIMENTS[row["experiment"]]
        assert row["claim"] in [claim.text for claim in experiment.claims]
        assert row["figure"] == experiment.figure
