import math

import numpy as np
import pytest
import xarray as xr

from dorax.study.claims import Claim, Estimate, judge, judged, together
from dorax.study.experiment import FULL, QUICK, Experiment
from dorax.study.results import ConditionResult, LeftOut, Results
from dorax.study.statistics import Interval, exactly, from_draws, mean

NOTHING = Results({}, FULL)


def claim(low, high, value=None, **bounds):
    interval = Interval((low + high) / 2 if value is None else value, low, high)
    return Claim("a claim", lambda results: Estimate("a number", interval, 50), **bounds)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(1.1, 2, "holds"), (0.5, 0.9, "fails"), (0.9, 1.1, "unclear"), (1.1, math.inf, "holds")],
)
def test_a_verdict_comes_from_the_whole_interval(low, high, verdict):
    assert judge("x", "fig", claim(low, high, above=1.0), NOTHING)["verdict"] == verdict


@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(0.95, 1.05, "holds"), (1.2, 1.3, "fails"), (1.0, 1.2, "unclear"), (0, 0.5, "fails")]
)
def test_a_claim_may_be_bounded_on_both_sides(low, high, verdict):
    assert judge("x", "fig", claim(low, high, above=0.9, below=1.1), NOTHING)["verdict"] == verdict


def test_what_could_not_be_estimated_is_unclear():
    assert judge("x", "fig", claim(math.nan, math.nan, above=0.0), NOTHING)["verdict"] == "unclear"


def test_a_row_has_the_keys_that_users_read_and_no_number_that_json_lacks():
    row = judge("x", "fig", claim(2.0, math.inf, value=3.0, above=1.0), NOTHING)
    assert list(row) == [
        "experiment", "figure", "claim", "kind", "holds_if", "statistic", "value", "relation", "low", "high", "seeds",
        "verdict", "p_value",
    ]  # fmt: skip
    assert row["high"] is None
    assert row["holds_if"] == "above 1"


def about(agent):
    def estimate(results):
        return Estimate(results[agent].name, Interval(2, 2, 2), 1)

    return Claim(f"about {agent}", estimate, above=1.0)


def test_a_quick_run_is_not_judged_on_agents_that_it_leaves_out_and_a_full_run_has_all():
    experiment = experiment_of([about("a"), about("b")])
    conditions = {"a": ConditionResult("a", {})}
    assert [row["claim"] for row in judged("x", experiment, Results(conditions, QUICK))] == ["about a"]
    with pytest.raises(LeftOut):
        judged("x", experiment, Results(conditions, FULL))


def test_a_quick_run_judges_the_cases_that_it_has():
    both = together("about both", {"a": about("a"), "b": about("b")})
    conditions = {"a": ConditionResult("a", {})}
    (row,) = judged("x", experiment_of([both]), Results(conditions, QUICK))
    assert [each["case"] for each in row["cases"]] == ["a"]
    with pytest.raises(LeftOut):
        judged("x", experiment_of([both]), Results(conditions, FULL))


def experiment_of(claims):
    return Experiment("fig", "", "", conditions=lambda size: [], claims=claims, draw=lambda *_: None, order=0)


def with_p_value(p_value, text="a claim", above=0.0):
    """A claim that holds at an error rate of `p_value`: half of it is the share of draws below the bound."""
    draws = np.arange(20_000) / 20_000 - p_value / 2 + 1e-9
    return Claim(text, lambda results: Estimate("a number", from_draws(0.5, draws), 50), above=above)


@pytest.mark.parametrize("p_value", [0.5, 0.04, 0.001])
def test_a_p_value_is_twice_the_share_of_draws_beyond_the_bound(p_value):
    row = judge("x", "fig", with_p_value(p_value), NOTHING)
    assert row["p_value"] == pytest.approx(p_value, rel=0.02)
    assert row["verdict"] == ("holds" if p_value <= 0.05 else "unclear")


def test_claims_of_an_experiment_are_judged_together():
    claims = [with_p_value(0.04, f"claim {i}") for i in range(10)]
    assert [row["verdict"] for row in judged("x", experiment_of(claims[:1]), NOTHING)] == ["holds"]
    assert {row["verdict"] for row in judged("x", experiment_of(claims), NOTHING)} == {"unclear"}
    clear = with_p_value(0.001, "clear")
    rows = judged("x", experiment_of([*claims, clear]), NOTHING)
    assert rows[-1]["verdict"] == "holds"
    assert rows[-1]["p_value"] == pytest.approx(11 * 0.001, rel=0.02)


def test_mathematics_is_no_matter_of_probability_and_burdens_no_other_claim():
    worst = Claim("never above 1", lambda results: Estimate("", exactly(0.9), 1), below=1.0, is_mathematics=True)
    rows = judged("x", experiment_of([with_p_value(0.04), worst]), NOTHING)
    assert [row["verdict"] for row in rows] == ["holds", "holds"]
    assert [row["kind"] for row in rows] == ["statistics", "mathematics"]
    assert "p_value" not in rows[1]


def case(low, high, name):
    return {name: Claim("", claim(low, high).estimate, above=1.0)}


@pytest.mark.parametrize(
    ("cases", "verdict", "decided_by"),
    [
        ({**case(2, 3, "by episode"), **case(1.1, 2, "by step")}, "holds", None),
        ({**case(2, 3, "by episode"), **case(0.5, 0.9, "by step")}, "fails", "by step"),
        ({**case(2, 3, "by episode"), **case(0.9, 2, "by step")}, "unclear", "by step"),
    ],
)
def test_a_claim_holds_if_it_holds_in_every_case_and_fails_if_it_fails_in_one(cases, verdict, decided_by):
    row = judge("x", "fig", together("faster", cases), NOTHING)
    assert row["verdict"] == verdict
    assert [each["case"] for each in row["cases"]] == ["by episode", "by step"]
    if decided_by is not None:
        assert row["decided_by"] == decided_by
        assert row["value"] == row["cases"][1]["value"]


def test_cases_of_a_claim_have_the_same_bounds():
    with pytest.raises(ValueError, match="bounds"):
        together("faster", {"a": with_p_value(0.1, above=0.0), "b": with_p_value(0.1, above=1.0)})


def results_of(values):
    data = xr.Dataset({"gain": ("seed", np.asarray(values, float))})
    return Results({"agent": ConditionResult("agent", {"episode": data, "step": data})}, FULL)


def gains(results):
    values = results["agent"].data().gain.values
    return Estimate("mean gain", mean(values), len(values))


def test_a_verdict_that_a_few_runs_would_change_says_so():
    gain = Claim("there is a gain", gains, above=0.0)
    solid = np.random.default_rng(0).normal(1.0, 1.0, 50)
    assert "is_fragile" not in judge("x", "fig", gain, results_of(solid))
    # Only the five seeds of one group are positive: without them there is nothing left.
    few = np.where(np.arange(50) % 10 == 3, 1.0, 0.0)
    row = judge("x", "fig", Claim("there is a gain", gains, above=0.02), results_of(few))
    assert row["is_fragile"]


def test_mathematics_that_is_wrong_in_one_of_several_cases_fails():
    cases = {name: lambda results, x=x: Estimate("a number", exactly(x), 1) for name, x in (("a", 0.5), ("b", 2.0))}
    row = judge("x", "fig", Claim("always", cases, below=1.0, is_mathematics=True), NOTHING)
    assert (row["verdict"], row["decided_by"]) == ("fails", "b")
