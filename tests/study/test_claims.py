import math

import pytest

from dorax.study.claims import Claim, Estimate, judge, judged
from dorax.study.experiment import FULL, QUICK, Experiment
from dorax.study.results import ConditionResult, LeftOut, Results
from dorax.study.statistics import Interval, exactly

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
        "experiment", "figure", "claim", "statistic", "value", "low", "high", "verdict", "seeds",
    ]  # fmt: skip
    assert row["high"] is None


def about(agent):
    def estimate(results):
        return Estimate(results[agent].name, Interval(2, 2, 2), 1)

    return Claim(f"about {agent}", estimate, above=1.0)


def test_a_quick_run_is_not_judged_on_agents_that_it_leaves_out_and_a_full_run_has_all():
    experiment = Experiment(
        "fig", "", "", conditions=lambda size: [], claims=[about("a"), about("b")], draw=lambda *_: None, order=0
    )
    conditions = {"a": ConditionResult("a", {})}
    assert [row["claim"] for row in judged("x", experiment, Results(conditions, QUICK))] == ["about a"]
    with pytest.raises(LeftOut):
        judged("x", experiment, Results(conditions, FULL))


def test_mathematics_that_is_wrong_in_one_of_several_cases_fails():
    cases = {name: lambda results, x=x: Estimate("a number", exactly(x), 1) for name, x in (("a", 0.5), ("b", 2.0))}
    row = judge("x", "fig", Claim("always", cases, below=1.0, is_mathematics=True), NOTHING)
    assert (row["verdict"], row["decided_by"]) == ("fails", "b")
