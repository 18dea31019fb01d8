"""Bonuses, by hand."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from dorax.core import InverseCount, InverseRootCount, InverseRootLogE, e_value, next_count

BONUSES = [InverseCount, InverseRootCount, InverseRootLogE]


@pytest.mark.parametrize("xp", [np, jnp])
def test_bonuses_are_the_paper_s_functions_of_the_count(xp):
    count, rate = xp.asarray([4.0, 0.25, 100.0]), 0.5
    np.testing.assert_allclose(InverseCount(2.0)(count, rate), [0.5, 8.0, 0.02], rtol=1e-6)
    np.testing.assert_allclose(InverseRootCount(2.0)(count, rate), [1.0, 4.0, 0.2], rtol=1e-6)
    by_hand = [2 / math.sqrt(math.log(2) * c) for c in (4, 0.25, 100)]
    np.testing.assert_allclose(InverseRootLogE(2.0)(count, rate), by_hand, rtol=1e-6)


def test_the_deep_bonus_is_the_root_of_minus_log_e():
    assert InverseRootLogE(0.05)(np.float64(3), 0.2) == pytest.approx(0.05 / math.sqrt(-math.log(e_value(3.0, 0.2))))


@pytest.mark.parametrize("bonus", BONUSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_after_the_first_visit_a_bonus_is_finite_and_then_falls(bonus, dtype):
    count, earned = dtype(0), []
    for _ in range(5):
        count = next_count(count, count, 0.1, 0.99)
        earned.append(bonus()(count, 0.1))
    assert np.isfinite(earned).all()
    assert (np.diff(earned) < 0).all()
    assert earned[0].dtype == dtype


@pytest.mark.parametrize("bonus", BONUSES)
def test_a_bonus_is_proportional_to_its_scale(bonus):
    assert bonus(3.0)(np.float64(7), 0.3) == pytest.approx(3 * bonus(1.0)(np.float64(7), 0.3))
    assert bonus(0.0)(np.float64(7), 0.3) == 0


@pytest.mark.parametrize("xp", [np, jnp])
def test_a_floor_under_the_root_keeps_the_bonus_of_a_count_of_zero_finite(xp):
    count, rate = xp.asarray([0.0, 3.0]), 0.5
    by_root = [0.05 / math.sqrt(0.01), 0.05 / math.sqrt(3.01)]
    np.testing.assert_allclose(InverseRootCount(0.05, floor=0.01)(count, rate), by_root, rtol=1e-6)
    by_log_e = [0.05 / math.sqrt(0.01), 0.05 / math.sqrt(3 * math.log(2) + 0.01)]
    np.testing.assert_allclose(InverseRootLogE(0.05, floor=0.01)(count, rate), by_log_e, rtol=1e-6)


@pytest.mark.parametrize("bonus", [InverseRootCount, InverseRootLogE])
def test_a_floor_of_zero_is_none_and_one_below_zero_is_refused(bonus, refused):
    assert bonus(2.0, floor=0.0)(np.float64(7), 0.3) == bonus(2.0)(np.float64(7), 0.3)
    with refused("floor of the bonus is -0.1"):
        bonus(1.0, floor=-0.1)
