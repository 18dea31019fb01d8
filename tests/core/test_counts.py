"""Generalized counts against arithmetic of sixty digits, and the laws that make them counts."""

import math
from contextlib import nullcontext
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dorax.core import EValues, Visits, e_value, generalized_count, next_count

DTYPES = (np.float32, np.float64)
GRADIENTS = jax.jit(jax.grad(next_count, argnums=(0, 1, 2, 3)))
SIXTY_DIGITS = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)

# Every order of magnitude is as likely as the others, and so is every distance from 1.
orders = lambda low, high: st.floats(math.log(low), math.log(high)).map(math.exp)  # noqa: E731
COUNTS = st.just(0.0) | orders(1e-3, 5e6)
RATES = orders(1e-4, 0.99) | orders(0.01, 1).map(lambda stay: max(1 - stay, 1e-4))
DISCOUNTS = st.just(0.0) | orders(1e-9, 0.9999) | orders(1e-4, 1).map(lambda loss: 1 - loss)


@st.composite
def updates(draw):
    """Count, successor count, learning rate and discount; the successor anywhere, near by or the end."""
    count = draw(COUNTS)
    near = orders(1e-3, 1e3).map(lambda gap: count + gap) | orders(1e-3, 1e3).map(lambda gap: max(count - gap, 0.0))
    return count, draw(COUNTS | near | st.just(math.inf)), draw(RATES), draw(DISCOUNTS)


def exact_count(count, successor_count, learning_rate, discount):
    """c + log(1 - a + a g E'/E) / log(1 - a), the definition in E-space, in sixty digits."""
    c, successor, a, g = (Decimal(float(number)) for number in (count, successor_count, learning_rate, discount))
    if successor.is_infinite() or g == 0:
        return c + 1
    log_decay = (1 - a).ln()
    return c + (1 - a + a * g * (log_decay * (successor - c)).exp()).ln() / log_decay


def in_library(library, dtype):
    """The update of one array library, and the setting under which it keeps this dtype."""
    if library == "numpy":
        return next_count, nullcontext()
    return jax.jit(next_count), jax.enable_x64(dtype is np.float64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("library", ["numpy", "jax"])
@settings(max_examples=100)
@given(points=st.lists(updates(), min_size=16, max_size=16))
def test_a_count_is_right_to_a_few_units_in_the_last_place(library, dtype, points):
    # XLA's log1p of float64 is right to 125 units in the last place; its float32 and NumPy's are to 2.
    units = 160 if (library, dtype) == ("jax", np.float64) else 5
    arguments = np.array(points, dtype).T
    update, precision = in_library(library, dtype)
    with precision:
        updated = np.asarray(update(*arguments))
    assert updated.dtype == dtype
    with localcontext(SIXTY_DIGITS):
        for point, result in zip(arguments.T, updated, strict=True):
            exact = exact_count(*point)
            unit = Decimal(float(np.finfo(dtype).eps)) * max(exact, Decimal(float(point[0])))
            assert abs(Decimal(float(result)) - exact) <= units * unit, (point, float(result), float(exact))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("visits", [1, 7, 5000])
def test_without_propagation_a_generalized_count_is_a_visit_count(visits, dtype):
    count = dtype(0)
    for _ in range(visits):
        count = next_count(count, count, learning_rate=0.5, discount=0.0)
    assert count == visits


@pytest.mark.parametrize("visits", [1, 7, 5000])
def test_without_propagation_a_generalized_count_is_a_visit_count_in_jax_too(visits):
    one_more = lambda _, count: next_count(count, count, learning_rate=0.35, discount=0.0)  # noqa: E731
    assert jax.lax.fori_loop(0, visits, one_more, jnp.float32(0)) == visits


@pytest.mark.parametrize("count", [0.0, 2.5, 4096.0])
def test_a_terminal_transition_counts_as_one_visit_whichever_way_it_is_said(count):
    for end in (math.inf, None):
        assert next_count(np.float32(count), end, learning_rate=0.3, discount=0.99) == count + 1
        assert next_count(jnp.float32(count), end, learning_rate=0.3, discount=0.99) == count + 1


@given(st.floats(0, 30), st.floats(0, 30), st.floats(0.01, 0.9), st.floats(0, 0.999))
def test_the_update_of_a_count_is_the_paper_s_update_of_its_e_value(count, successor_count, rate, discount):
    e, successor_e = (1 - rate) ** count, (1 - rate) ** successor_count
    updated_e = (1 - rate) * e + rate * discount * successor_e
    updated = next_count(count, successor_count, rate, discount)
    assert e_value(updated, rate) == pytest.approx(updated_e, rel=1e-12)
    assert generalized_count(updated_e, rate) == pytest.approx(updated, rel=1e-12, abs=1e-12)


def test_an_e_value_of_one_is_no_visit_and_of_zero_infinitely_many():
    assert generalized_count(np.float64(1), 0.5) == 0
    assert generalized_count(np.float64(0), 0.5) == np.inf
    assert e_value(np.float64(3), 0.5) == pytest.approx(1 / 8, rel=1e-15)


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=6), st.floats(1e-3, 0.9), st.floats(0, 0.999))
def test_the_smallest_count_of_a_repeated_cycle_strictly_grows(counts, rate, discount):
    before = min(counts)
    for i in range(len(counts)):
        counts[i] = float(next_count(counts[i], counts[(i + 1) % len(counts)], rate, discount))
    # In E-space: no E of the cycle exceeds (1 - a + a g) times the largest.
    least_growth = math.log1p(-rate * (1 - discount)) / math.log1p(-rate)
    assert min(counts) > before
    assert min(counts) >= before + least_growth - 1e-14 * (1 + before)


def test_a_well_known_pair_that_leads_somewhere_fresh_loses_count():
    assert next_count(1000.0, 0.0, learning_rate=0.5, discount=0.9) == pytest.approx(math.log(0.45) / math.log(0.5))


@pytest.mark.parametrize("discount", [0.9, 0.99, 0.999])
@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_float32_saturates_near_its_limit_and_stays_there_where_float64_goes_on(rate, discount):
    growth = math.log1p(-rate * (1 - discount)) / math.log1p(-rate)
    # Above this power of two, the growth is less than half the distance between neighbouring floats.
    limit = np.float32(2.0 ** math.ceil(math.log2(growth * 2**24)))
    assert 0.5 <= limit / ((1 - discount) * 2**24) <= 2
    count, history = limit - 4 * np.spacing(np.nextafter(limit, np.float32(0))), []
    for _ in range(100):
        count = next_count(count, count, rate, discount)
        history.append(count)
    assert (np.diff(history) >= 0).all()
    assert history[-1] == limit
    assert history[-1] == history[10]
    assert next_count(np.float64(limit), np.float64(limit), rate, discount) - limit == pytest.approx(growth, rel=1e-6)


@pytest.mark.parametrize("discount", [0.0, 0.9])
@pytest.mark.parametrize("successor_count", [0.0, 2.0, 7.0, math.inf])
def test_gradients_are_the_shares_of_the_e_value_that_stays_and_that_comes(successor_count, discount):
    count, rate = 2.0, 0.5
    stays, comes = (1 - rate) * (1 - rate) ** count, rate * discount * (1 - rate) ** successor_count
    gradients = GRADIENTS(count, successor_count, rate, discount)
    assert np.isfinite(gradients).all()
    np.testing.assert_allclose(gradients[0], stays / (stays + comes), rtol=1e-5)
    np.testing.assert_allclose(gradients[1], comes / (stays + comes), rtol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_has_nothing_to_warn_about_at_the_ends_of_the_range(dtype):
    ends = np.meshgrid([0, 5e6], [0, 5e6, np.inf], [1e-4, 0.99], [0, 0.9999])
    assert np.isfinite(next_count(*(axis.astype(dtype) for axis in ends))).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_count_keeps_its_dtype_beside_plain_numbers(dtype):
    for successor_count in (3, 3.0, math.inf, None):
        assert next_count(dtype(2), successor_count, 0.5, 0.9).dtype == dtype
    assert next_count(jnp.zeros(2), 3.0, 0.5, 0.9).dtype == jnp.float32


def test_all_arguments_broadcast():
    count, successor_count = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 3.0, np.inf, 1.0])
    rate, discount = np.array([[[0.1]], [[0.5]]]), np.array([0.0, 0.5, 0.9, 0.99])
    together = next_count(count, successor_count, rate, discount)
    assert together.shape == (2, 3, 4)
    for (i, j, k), alone in np.ndenumerate(together):
        assert alone == next_count(count[j, 0], successor_count[k], rate[i, 0, 0], discount[k])


@pytest.mark.parametrize("discount", [0.5, 0.9, 0.99])
def test_the_first_visit_counts_for_one_less_the_discount_at_small_rates(discount):
    first = next_count(0.0, 0.0, learning_rate=1e-4, discount=discount)
    assert 1 / first == pytest.approx(1 / (1 - discount), rel=1e-4)


def test_the_first_bonus_is_138_at_rate_a_half_and_discount_99_hundredths():
    assert round(float(1 / next_count(0.0, 0.0, learning_rate=0.5, discount=0.99))) == 138


def test_a_counter_of_visits_adds_one_whatever_follows():
    assert Visits().next(np.float64(4), np.float64(0), 0.5) == 5


def test_e_values_use_their_own_learning_rate_if_they_have_one_else_the_agent_s():
    own, shared = EValues(discount=0.9, learning_rate=0.2), EValues(discount=0.9)
    assert own.next(1.0, 2.0, 0.5) == next_count(1.0, 2.0, 0.2, 0.9)
    assert shared.next(1.0, 2.0, 0.5) == next_count(1.0, 2.0, 0.5, 0.9)


@pytest.mark.parametrize("xp", [np, jnp])
def test_the_successor_is_the_action_to_come_or_the_least_known_one(xp):
    counts, action = xp.asarray([[3.0, 1.0, 2.0], [0.5, 4.0, 6.0]]), xp.asarray([2, 1])
    assert EValues().successor(counts, action).tolist() == [2.0, 4.0]
    assert EValues(successor_rule="max").successor(counts, action).tolist() == [1.0, 0.5]
