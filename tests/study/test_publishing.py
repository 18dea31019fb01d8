import pytest

from dorax.study.experiment import Finding
from dorax.study.publishing import claims_table, effect

FASTER = Finding("Is it faster?", "it is faster", "{} times as fast")


def row(low, high, **more):
    return {"claim": "|A| is it", "value": 2.0, "low": low, "high": high, "verdict": "holds", "seeds": 50, **more}


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
    assert r"| \|A\| is it (recorded by earlier code) | 2 [1.5, 3] | holds | 50 |" in claims_table([doubtful])
