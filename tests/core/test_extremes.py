"""Whatever number is accepted, subnormal or huge, nothing becomes NaN; what would is refused in one line."""

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dorax
from dorax.core import mean_count, next_count
from dorax.core.checks import LARGEST, check_discount, check_rate
from dorax.envs.simulation import EnvSpec

BELOW_ONE = float(np.nextafter(np.float32(1), np.float32(0)))
SUBNORMAL = [5e-324, 1e-310, 1e-45, 1e-40]
sizes = st.sampled_from([0.0, *SUBNORMAL, 1e-30, 1e-8, 1.0, 1e9, LARGEST]) | st.floats(0, LARGEST)
signed = sizes | sizes.map(lambda x: -x)
rates = st.sampled_from([1e-30, 1e-20, 1e-8, 0.5, 1 - 1e-7, BELOW_ONE]) | st.floats(1e-30, BELOW_ONE)
discounts = st.sampled_from([0.0, *SUBNORMAL, 1e-8, 0.5, 0.99, 1 - 1e-7, BELOW_ONE]) | st.floats(0, BELOW_ONE)
shares = st.sampled_from([0.0, *SUBNORMAL, 1e-8, 1 - 1e-9, 1.0]) | st.floats(0, 1)
steps_of_e = st.sampled_from([*SUBNORMAL, 1e-8, 1.0]) | st.floats(0, 1, exclude_min=True)

policies = st.builds(dorax.Softmax, sizes) | st.builds(dorax.EpsilonGreedy, shares)
rules = st.one_of(
    st.builds(dorax.Sample, policies),
    st.builds(dorax.LLL, policies),
    st.builds(dorax.Deficit, policies),
    st.builds(dorax.UCB, sizes),
)
bonuses = st.one_of(
    st.builds(dorax.InverseCount, signed),
    st.builds(dorax.InverseRootCount, signed, sizes),
    st.builds(dorax.InverseRootLogE, signed, sizes),
)
counters = st.builds(dorax.Visits) | st.builds(dorax.EValues, discounts, st.none() | rates)
updates = st.one_of(
    st.builds(dorax.QLearning, signed),
    st.builds(dorax.DelayedQLearning, sizes.filter(lambda x: x >= 1), sizes),
    st.builds(dorax.NoveltyQLearning, discounts),
    st.builds(dorax.HoeffdingQLearning, sizes.filter(lambda x: x >= 1), signed, sizes),
)
LIBRARIES: list[Any] = [np.float32, np.float64, partial(jnp.asarray, dtype=jnp.float32)]
in_every_library = pytest.mark.parametrize("number", LIBRARIES, ids=["float32", "float64", "jax"])


@pytest.mark.parametrize("check", [check_rate, check_discount])
@pytest.mark.parametrize("value", [1 - 1e-8, 1 - 1e-9, np.nextafter(1.0, 0.0)])
def test_what_rounds_to_one_in_single_precision_is_refused(check, value, refused):
    with refused("alpha is", "single precision"):
        check("alpha", value)
    check("alpha", BELOW_ONE)


@pytest.mark.parametrize("value", [5e-324, 1e-50, 1e-40, 1e-31])
def test_rates_that_round_to_zero_or_underflow_are_refused_and_small_ones_are_not(value, refused):
    with refused("alpha is", "from 1e-30"):
        check_rate("alpha", value)
    check_rate("alpha", 1e-8)
    check_discount("gamma", value)


@pytest.mark.parametrize("make", [dorax.Softmax, dorax.UCB, dorax.InverseCount, dorax.QLearning])
@pytest.mark.parametrize("value", [1.1e18, 1e39, 1e300])
def test_numbers_that_would_overflow_are_refused(make, value, refused):
    with refused(f" is {value};", "at most 1e+18 in size"):
        make(value)


@in_every_library
@given(rate=rates, discount=discounts, counts=st.lists(st.floats(0, 2**24, width=32), min_size=2, max_size=2))
def test_counts_stay_finite_and_never_fall_below_zero(number, rate, discount, counts):
    for successor in (*counts, math.inf):
        after = float(next_count(number(counts[0]), number(successor), number(rate), number(discount)))
        assert math.isfinite(after)
        assert after >= 0
    mean = float(mean_count([number(count) for count in counts], number(rate)))
    assert min(counts) * (1 - 1e-5) <= mean < math.inf


@in_every_library
@given(rate=rates, discount=discounts, bonus=bonuses)
def test_a_bonus_is_finite_from_the_first_visit_on(number, rate, discount, bonus):
    count = number(0.0)
    for _ in range(3):
        count = next_count(count, count, rate, discount)
        assert math.isfinite(float(bonus(count, rate)))


@in_every_library
@given(
    rule=rules,
    values=st.lists(signed, min_size=3, max_size=3),
    counts=st.lists(sizes, min_size=3, max_size=3),
    steps=st.integers(0, 2**31 - 1),
    uniform=st.floats(0, 1, exclude_max=True, width=32),
)
def test_a_rule_chooses_an_available_action(number, rule, values, counts, steps, uniform):
    seen = number(np.array([*values, -np.inf]))
    action = int(rule(seen, number(np.array([*counts, 0.0])), steps, uniform))
    assert 0 <= action < 3
    if not isinstance(rule, dorax.UCB):
        log_f = np.asarray(rule.policy(seen))
        assert not np.isnan(log_f).any()
        assert np.exp(log_f).sum() == pytest.approx(1, rel=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(
    rule=rules,
    counter=counters,
    bonus=bonuses,
    update=updates,
    rate=rates,
    discount=discounts,
    rewards=st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=6),
)
def test_a_learner_never_meets_nan(dtype, rule, counter, bonus, update, rate, discount, rewards):
    agent = dorax.TabularAgent(rule, counter, bonus, update, rate, discount)
    learner, state = dorax.TabularLearner(agent, 2, 2, dtype=dtype), 0
    for i, reward in enumerate(rewards):
        action = learner.act(state)
        learner.observe(state, action, reward, 1 - state, terminated=i == 3)
        state = 0 if i == 3 else 1 - state
    novelty = [] if learner.novelty_table is None else [learner.novelty_table]
    for table in (learner.q_table, learner.count_table, *novelty):
        assert np.isfinite(table).all()


@given(
    form=st.sampled_from(["count", "logistic"]),
    discount=discounts,
    rate=rates,
    step=steps_of_e,
    big_step=sizes.filter(lambda x: x > 0),
    terminated=st.booleans(),
)
def test_outputs_of_an_approximator_stay_finite(form, discount, rate, step, big_step, terminated):
    counter = dorax.EValues(discount, rate, form, step if form == "count" else big_step)
    outputs = np.zeros(2, np.float32)
    for _ in range(5):
        error = counter.error(outputs[0], outputs[1], terminated)
        assert math.isfinite(counter.visited_count(outputs[0], error))
        outputs = outputs + np.float32(counter.step) * np.asarray([error, error / 2], np.float32)
        assert np.isfinite(outputs).all()
        assert np.isfinite(counter.count(outputs)).all()


SPEC = EnvSpec("line", 2, low=(0.0,), high=(1.0,))
KINDS = {
    "count": dorax.EValues(0.9, 0.5, "count", 1.0),
    "logistic": dorax.EValues(0.9, 0.5, "logistic", 1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", KINDS)
@pytest.mark.parametrize("has_novelty", [False, True])
@given(numbers=st.tuples(rates, discounts, shares, discounts, signed, sizes, discounts, signed, sizes, sizes))
def test_tiles_never_meet_nan(form, has_novelty, numbers):
    e_rate, e_discount, rate, discount, initial, noise, novelty, scale, floor, temperature = numbers
    step = 1.0 if form == "count" else max(floor, 1e-3)
    agent = dorax.LinearAgent(
        dorax.LLL(dorax.Softmax(temperature)),
        dorax.EValues(e_discount, e_rate, form, step),
        dorax.InverseRootCount(scale, floor),
        dorax.Tiles(4, 2),
        rate,
        discount,
        noise,
        initial,
        novelty if has_novelty else None,
    )
    learner = agent.learner(SPEC)
    for i in range(4):
        learner.observe([i / 4], learner.act([i / 4]), 1.0, [(i + 1) / 4], terminated=i == 2)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(learner.memory))
