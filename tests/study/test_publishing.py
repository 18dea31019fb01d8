import pytest

from dorax.study.experiment import Answer, Experiment, Finding
from dorax.study.findings import effect, findings, interval
from dorax.study.publishing import claims_table, counted

FASTER = Answer("it is faster", "{} times as fast")


def row(low, high, **more):
    numbers = {"value": 2.0, "relation": "=", "low": low, "high": high, "seeds": 50}
    return {"claim": "|A| is it", **numbers, "verdict": "holds", "p_value": 0.01, "kind": "statistics", **more}


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (1.5, 3.0, "2 times as fast (1.5 to 3; 50 seeds)"),
        (1.5, None, "at least 1.5 times as fast (50 seeds)"),
        (None, 3.0, "at most 3 times as fast (50 seeds)"),
        (None, None, "2 times as fast (no interval; 50 seeds)"),
    ],
)
def test_an_effect_is_told_with_its_interval_or_as_a_bound(low, high, words):
    assert effect(FASTER, row(low, high)) == words


def test_a_remark_stands_beside_the_numbers():
    doubtful = row(1.5, 3.0, remark="recorded by earlier code")
    assert effect(FASTER, doubtful).endswith("50 seeds; recorded by earlier code)")
    assert r"| \|A\| is it (recorded by earlier code) | 2 [1.5, 3] | 0.01 | holds | 50 |" in claims_table([doubtful])


def test_a_censored_ratio_is_told_as_a_bound():
    assert interval(row(1.5, None, relation="≥")) == "≥ 2 [1.5, ∞]"


def test_mathematics_has_no_interval_and_is_counted_by_itself():
    checked = row(2.0, 2.0, kind="mathematics")
    assert interval(checked) == "2"
    assert effect(FASTER, checked) == "2 times as fast (mathematics, checked)"
    words = counted([checked, row(1.5, 3.0)])
    assert "Of 1 claims" in words
    assert "of 1 statements of mathematics that were checked, 1 are right" in words


def with_cases():
    cases = [
        {"case": "by episode", **row(2.5, 4.0, value=3.0)},
        {"case": "by step", **row(1.5, 3.0)},
    ]
    return row(1.5, 3.0, cases=cases, experiment="bridge")


def test_the_cases_of_a_claim_follow_it():
    lines = claims_table([with_cases()]).splitlines()
    assert lines[-3].startswith(r"| \|A\| is it |  | 0.01 | holds |")
    assert lines[-2].startswith("| – by episode | 3 [2.5, 4] |")
    assert lines[-1].startswith("| – by step | 2 [1.5, 3] |")


def test_a_finding_has_an_answer_for_each_of_its_claims_that_was_judged():
    answers = [
        Answer("|A| is it", "{} times", label="fitted", case="by episode"),
        Answer("|A| is it", "{} times", experiment="cliff", label="on the cliff"),
        Answer("not judged", "{} times"),
    ]
    bridge = Experiment(
        "Figure 1", "", "", conditions=lambda size: [], claims=[], draw=lambda *_: None, order=0,
        finding=Finding("Is it?", answers),
    )  # fmt: skip
    cliff = row(0.1, 0.2, verdict="fails", experiment="cliff", is_fragile=True)
    (found,) = findings({"bridge": bridge}, [with_cases(), cliff])
    assert [(each.label, each.word) for each in found.answers] == [
        ("fitted", "yes"),
        ("on the cliff", "no (a few runs would change this)"),
    ]
    assert found.answers[0].effect == "3 times (2.5 to 4; 50 seeds)"
