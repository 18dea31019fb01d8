"""Plain numbers take the same formulas by Python's own arithmetic: the same answers as NumPy's in float64."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dorax.core import (
    EValues,
    InverseCount,
    InverseRootCount,
    InverseRootLogE,
    e_value,
    generalized_count,
    mean_count,
    next_count,
)

counts = st.floats(0, 1e6)
rates = st.floats(0.001, 0.999)
discounts = st.floats(0, 0.999)


@given(counts, st.one_of(counts, st.just(math.inf), st.none()), rates, discounts)
def test_the_next_count(count, successor, rate, discount):
    found = next_count(count, successor, rate, discount)
    assert type(found) is float
    expected = next_count(np.float64(count), None if successor is None else np.float64(successor), rate, discount)
    assert found == pytest.approx(float(expected), rel=1e-12)


@given(st.floats(0, 500), rates)
def test_e_values_and_back(count, rate):
    e = e_value(count, rate)
    assert e == pytest.approx(float(e_value(np.float64(count), rate)), rel=1e-12)
    if e > 0:
        assert generalized_count(e, rate) == pytest.approx(count, rel=1e-9, abs=1e-9)
    assert generalized_count(0.0, rate) == math.inf


@given(st.lists(st.floats(0, 300), min_size=1, max_size=6), st.floats(0.01, 0.9))
def test_the_mean_count_is_that_of_the_mean_e(values, rate):
    mean = np.mean((1 - rate) ** np.array(values, np.longdouble))
    expected = float(np.log(mean) / np.log1p(-np.longdouble(rate)))
    assert mean_count(values, rate) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    columns = [np.array([value, value]) for value in values]
    np.testing.assert_allclose(mean_count(columns, rate), [expected, expected], rtol=1e-9, atol=1e-9)


def test_the_mean_of_counts_whose_e_underflows_is_still_known():
    assert mean_count([5000.0, 5000.0], 0.5) == pytest.approx(5000)
    assert mean_count([5000.0, 9000.0], 0.5) == pytest.approx(5001)  # half of E is one halving more


@given(st.floats(1e-3, 1e6), rates)
def test_bonuses(count, rate):
    for bonus in (InverseCount(0.3), InverseRootCount(0.3), InverseRootLogE(0.3)):
        assert bonus(count, rate) == pytest.approx(float(bonus(np.float64(count), np.float64(rate))), rel=1e-12)


@given(st.floats(-30, 30), st.floats(-30, 30), st.booleans())
def test_forms(output, successor, terminated):
    for form in (EValues(form="logistic"), EValues(form="count")):
        assert form.count(output) == pytest.approx(float(form.count(np.float64(output))), rel=1e-12)
        expected = form.error(np.float64(output), np.float64(successor), np.bool_(terminated))
        assert form.error(output, successor, terminated) == pytest.approx(float(expected), rel=1e-9, abs=1e-15)
