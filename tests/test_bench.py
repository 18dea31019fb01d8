"""Benchmarks: ratios and targets. The speed itself is never tested."""

import json
from io import StringIO

import jax
import numpy as np
import pytest
from rich.console import Console

from dorax import cli
from dorax.bench import parallel
from dorax.bench.yardsticks import print_yardsticks

RATES = {
    "e-values": np.array([1.0e6, 2.0e6, 3.0e6]),
    "rnd": np.array([0.8e6, 1.6e6, 2.4e6]),
    "epsilon-greedy": np.array([1.2e6, 2.6e6, 3.6e6]),
}


@pytest.fixture
def backend(monkeypatch):
    return lambda name: monkeypatch.setattr(jax, "default_backend", lambda: name)


@pytest.mark.parametrize(("name", "is_met"), [("cpu", None), ("gpu", True)])
def test_a_target_for_a_gpu_is_judged_on_a_gpu_alone(backend, name, is_met):
    backend(name)
    speed, cost, rnd, compiled = parallel.judged(RATES, compile_seconds=40.0)
    assert (speed.ratio, speed.aim, speed.is_met) == (1.0, "≥ 1, on a GPU", is_met)
    assert (cost.ratio, cost.lowest, cost.highest) == pytest.approx((1.2, 1.2, 1.3)), "a turn has its own ratio"
    assert (cost.aim, cost.is_met) == ("≤ 1.25", True)
    assert (rnd.ratio, rnd.aim, rnd.is_met) == (1.5, "–", None)
    assert (compiled.ratio, compiled.aim, compiled.is_met) == (40.0, "≤ 30", False)


def test_what_is_not_judged_is_a_dash_in_the_table_and_null_in_json(backend, capsys):
    backend("cpu")
    found, table = parallel.judged(RATES, compile_seconds=12.5), StringIO()
    print_yardsticks(found, Console(file=table, width=200), as_json=False)
    rows = {line.split("  ")[0]: line.split("  ") for line in table.getvalue().splitlines()}
    assert [cell.strip() for cell in rows["E-values over 2e+06 steps/s"] if cell.strip()][3:5] == ["≥ 1, on a GPU", "–"]
    assert "yes" in "".join(rows["seconds to compile, E-values"])
    print_yardsticks(found, Console(), as_json=True)
    shown = json.loads(capsys.readouterr().out)["yardsticks"]
    assert [each["is_met"] for each in shown] == [None, True, None, True]


def test_only_one_benchmark_is_run_at_a_time(capsys):
    with pytest.raises(SystemExit):
        cli.main(["bench", "--freeway", "--parallel"])
    assert "--freeway and --parallel are given; allowed: one benchmark at a time" in capsys.readouterr().err


@pytest.mark.slow
def test_agents_with_many_games_are_timed_from_the_first_call_to_the_ratios():
    found = parallel.measure(seeds=2, steps=256, games=8, width=16, depth=1)
    assert len(found) == 4
    for each in found:
        assert 0 < each.lowest <= each.ratio <= each.highest < np.inf
        assert each.steps_per_second > 0
