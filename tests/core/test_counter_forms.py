"""Two forms of E for approximators: gradients by finite differences, counts by hand, limits by analysis."""

import math
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dorax
from dorax.core import EValues, Visits, next_count

FORMS: list[Literal["logistic", "count"]] = ["logistic", "count"]
LIBRARIES = [np, jnp]
OUTPUTS = st.floats(-30, 30)


def compiled(xp, function):
    """As it is used: JAX's functions compiled, NumPy's as they stand."""
    return jax.jit(function) if xp is jnp else function


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


@pytest.mark.parametrize("xp", LIBRARIES)
@pytest.mark.parametrize("discount", [0.0, 0.9, 0.99])
def test_a_whole_step_on_an_output_of_its_own_is_the_table_s_update(xp, discount):
    draw = np.random.default_rng(0)
    count, successor = ((draw.integers(0, 64, 200) / 4).astype(np.float32) for _ in range(2))
    ends, form = draw.random(200) < 0.3, EValues(discount, learning_rate=0.3)
    ours = count + form.step * form.error(*(xp.asarray(part) for part in (count, successor, ends)))
    table = next_count(xp.asarray(count), xp.asarray(np.where(ends, np.inf, successor)), 0.3, discount)
    # The difference of two neighbouring numbers is exact, and so is the sum that undoes it.
    is_neighbour = (np.asarray(table) >= count / 2) & (np.asarray(table) <= 2 * count)
    assert is_neighbour[ends & (count >= 1)].all()
    np.testing.assert_array_equal(ours[is_neighbour], table[is_neighbour])
    np.testing.assert_allclose(ours, table, rtol=1e-6)
    np.testing.assert_array_equal(ours[ends], count[ends] + 1)


@given(output=st.floats(-12, 12), successor=OUTPUTS, ends=st.booleans(), discount=st.floats(0, 0.999))
def test_the_error_of_the_logistic_form_is_downhill_on_half_the_squared_sarsa_error(output, successor, ends, discount):
    target = 0.0 if ends else discount * sigmoid(successor)

    def loss(x):
        return 0.5 * (target - sigmoid(x)) ** 2

    h = 1e-4
    slope = (8 * (loss(output + h) - loss(output - h)) - (loss(output + 2 * h) - loss(output - 2 * h))) / (12 * h)
    form = EValues(discount, form="logistic")
    assert float(form.error(output, successor, ends)) == pytest.approx(-slope, rel=1e-8, abs=1e-11)


@given(output=st.floats(0, 50), successor=st.floats(0, 50), ends=st.booleans(), discount=st.floats(0, 0.999))
def test_the_error_of_the_count_form_is_downhill_on_half_the_squared_distance_to_the_next_count(
    output, successor, ends, discount
):
    target = float(next_count(output, None if ends else successor, 0.2, discount))
    form = EValues(discount, learning_rate=0.2)
    # Half the square has the slope x - target, the target held fixed.
    assert float(form.error(output, successor, ends)) == pytest.approx(target - output, abs=1e-12)


@pytest.mark.parametrize("xp", LIBRARIES)
@pytest.mark.parametrize("rate", [0.01, 0.5, 0.9])
def test_an_output_of_0_is_e_one_half_in_the_logistic_form_and_no_visit_in_the_count_form(xp, rate):
    zero = xp.zeros(3)
    logistic, count = (EValues(learning_rate=rate, form=form) for form in FORMS)
    np.testing.assert_allclose(logistic.count(zero), math.log(0.5, 1 - rate), rtol=1e-6)
    np.testing.assert_array_equal(count.count(zero), 0)


@given(output=OUTPUTS, rate=st.floats(0.01, 0.95))
def test_the_count_of_the_logistic_form_is_the_logarithm_of_e_to_base_one_less_the_rate(output, rate):
    form = EValues(learning_rate=rate, form="logistic")
    assert form.count(output) == pytest.approx(math.log(sigmoid(output), 1 - rate), abs=1e-10)


@given(output=OUTPUTS, successor=OUTPUTS, rate=st.floats(0.01, 0.95))
def test_the_rate_of_the_logistic_form_is_a_base_and_teaches_nothing(output, successor, rate):
    ours, usual = (EValues(learning_rate=each, form="logistic") for each in (rate, None))
    assert ours.error(output, successor, False) == usual.error(output, successor, False)


@pytest.mark.parametrize("step_size", [0.25, 1.0])
def test_without_propagation_minus_log_e_of_the_logistic_form_grows_like_half_the_log_of_the_visits(step_size):
    """With E = sigmoid(x), dE = E (1 - E) dx, so n visits of step size s leave

        s n = integral of dE / (E^3 (1 - E)^2) = 1 / 2E^2 + 2 / E + O(log E):

    -log E = log(2 s n) / 2 - 2E + O(E^2 log E).
    """
    form = EValues(0.0, form="logistic", step_size=step_size)

    @jax.jit
    def minus_log_e(visits):
        visit = lambda _, x: x + form.step * form.error(x, 7.0, False)  # noqa: E731
        return form.count(jax.lax.fori_loop(0, visits, visit, jnp.zeros(()))) * math.log(2)

    with jax.enable_x64(True):
        for visits in (10_000, 100_000, 1_000_000):
            grown = float(minus_log_e(visits))
            e = math.exp(-grown)
            assert grown + 2 * e == pytest.approx(math.log(2 * step_size * visits) / 2, abs=10 * e**2 * grown)
    assert grown / math.log(visits) == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize("xp", LIBRARIES)
def test_without_propagation_the_count_form_counts_one_a_visit(xp):
    form, output = EValues(0.0, learning_rate=0.35), xp.asarray(0.0, dtype=xp.float32)
    error = compiled(xp, form.error)
    for visits in range(1, 500):
        output = output + form.step * error(output, xp.asarray(3.0), False)
        assert form.count(output) == visits


@pytest.mark.parametrize("xp", LIBRARIES)
@pytest.mark.parametrize("form", FORMS)
def test_with_propagation_a_repeated_visit_counts_for_less_in_both_forms(xp, form):
    one = xp.asarray(1.0)
    error = compiled(xp, lambda g: EValues(g, form=form).error(one, one, False))
    plain, propagated = error(0.0), error(0.9)
    assert abs(float(propagated)) < abs(float(plain))


@pytest.mark.parametrize("xp", LIBRARIES)
def test_outputs_below_0_count_as_0(xp):
    form, below = EValues(0.9, learning_rate=0.5), xp.asarray([-3.0, -1e-6, -1e30])
    error = compiled(xp, form.error)
    np.testing.assert_array_equal(form.count(below), 0)
    fresh = float(next_count(0.0, 0.0, 0.5, 0.9))
    # From below, the error reaches up to what one visit makes of 0; a successor below is one at 0.
    np.testing.assert_allclose(error(below, below, False), fresh - np.asarray(below), rtol=1e-6)
    np.testing.assert_allclose(error(xp.zeros(3), below, False), fresh, rtol=1e-6)
    np.testing.assert_allclose(error(below, below, True)[:2], [4.0, 1 + 1e-6], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("xp", LIBRARIES)
@pytest.mark.parametrize("form", FORMS)
def test_extreme_outputs_are_no_reason_for_nan_or_warnings(form, xp, dtype):
    ends = np.array([-1e34, -1e6, -90, -40, -1e-30, 0, 1e-30, 40, 90, 1e6, 1e34], dtype)
    output, successor = np.meshgrid(ends, ends)
    with jax.enable_x64(dtype is np.float64):
        output, successor = xp.asarray(output), xp.asarray(successor)
        for made in (EValues(0.0, form=form), EValues(0.999, learning_rate=1e-3, form=form)):
            count, error_of = compiled(xp, made.count)(output), compiled(xp, made.error)
            assert count.dtype == dtype
            assert (np.isfinite(count) & (count >= 0)).all()
            for terminated in (False, True):
                error = error_of(output, successor, terminated)
                assert error.dtype == dtype
                assert np.isfinite(error).all()


@pytest.mark.parametrize("xp", LIBRARIES)
@pytest.mark.parametrize("form", FORMS)
def test_single_precision_stays_single_beside_plain_numbers(form, xp):
    output = xp.asarray([0.5, 2.0], dtype=xp.float32)
    made = EValues(0.9, learning_rate=0.3, form=form)
    assert made.count(output).dtype == np.float32
    for successor in (1.0, 1, np.float64(2.0), xp.asarray(1.0)):
        assert made.error(output, successor, xp.asarray([True, False])).dtype == np.float32
        assert made.error(output[0], successor, False).dtype == np.float32


@pytest.mark.parametrize("form", FORMS)
def test_numbers_and_arrays_of_both_libraries_agree(form):
    made, draw = EValues(0.95, learning_rate=0.2, form=form), np.random.default_rng(1)
    output, successor, ends = draw.normal(0, 4, 50), draw.normal(0, 4, 50), draw.random(50) < 0.5
    with jax.enable_x64(True):
        for part in (made.error(output, successor, ends), jax.jit(made.error)(output, successor, ends)):
            one_by_one = [made.error(*numbers) for numbers in zip(output, successor, ends, strict=True)]
            np.testing.assert_allclose(part, one_by_one, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(jax.jit(made.count)(output), made.count(output), rtol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("field", "bad", "name"),
    [
        ("discount", [-0.1, 1.0, math.nan, None, "high"], "the exploration discount"),
        ("step_size", [-0.1, math.nan, math.inf, "long"], "the step size of E-values"),
        ("learning_rate", [0.0, 1.0, -1.0, math.nan, "fast"], "the exploration learning rate"),
    ],
)
def test_a_number_that_a_form_cannot_have_is_refused(form, field, bad, name, refused):
    for value in bad:
        with refused(name, f" is {value!r};" if not isinstance(value, float) else f" is {value};"):
            EValues(**{"form": form, field: value})


def test_the_limits_of_the_numbers_are_allowed():
    for form in FORMS:
        assert EValues(0.0, form=form).discount == 0
        assert EValues(step_size=1.0, form=form).step == 1
    assert EValues(step_size=30.0, form="logistic").step == 30


def test_a_count_never_moves_beyond_its_target(refused):
    with refused("step size of E-values is 1.5", "at most 1"):
        EValues(step_size=1.5)
    for form in FORMS:
        with refused("step size of E-values is 0"):
            EValues(step_size=0, form=form)


def test_a_form_that_does_not_exist_is_refused(refused):
    with refused("form is 'linear'", "'count', 'logistic'"):
        EValues(form="linear")  # pyright: ignore[reportArgumentType]  # what is refused


def test_unless_given_the_step_is_whole_in_the_count_form_and_a_half_in_the_logistic_one():
    assert EValues().step == 1
    assert EValues(form="logistic").step == 0.5


def test_unless_given_the_rate_of_an_approximator_is_one_half():
    """From 0, with a successor at 0, a visit counts log(1 - a + a g) / log(1 - a)."""
    expected = math.log(1 - 0.5 + 0.5 * 0.9, 0.5)
    assert float(EValues(0.9).error(0.0, 0.0, False)) == pytest.approx(expected)
    assert EValues(0.9).rate() == 0.5
    assert EValues(0.9, learning_rate=0.2).rate() == 0.2


@given(output=st.floats(0, 50), successor=st.floats(0, 50), ends=st.booleans())
def test_plain_visits_count_one_a_visit_for_approximators_too(output, successor, ends):
    counter = Visits().approximated()
    assert output + counter.step * float(counter.error(output, successor, ends)) == pytest.approx(output + 1)
    assert counter.count(output) == output


def test_approximators_learn_e_by_sarsa_alone():
    counter = EValues(0.9, successor_rule="max")
    with pytest.raises(dorax.InvalidInput, match=r"successor_rule is 'max'; function approximators support 'sarsa'"):
        counter.approximated()
    assert EValues(0.9).approximated() == EValues(0.9)
