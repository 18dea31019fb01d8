"""Action rules: who may be chosen, who is chosen first, and how closely frequencies follow f."""

import math

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dorax.core import LLL, UCB, Deficit, EpsilonGreedy, Sample, Softmax

ACTIONS = 18  # as many as an Atari game has
NEXT_TO_ONE = float(np.nextafter(1.0, 0.0))  # as float32, this is 1
SEVERAL = {
    "sampled softmax": Sample(Softmax(0.7)),
    "sampled epsilon-greedy": Sample(EpsilonGreedy(0.3)),
    "sampled greedy": Sample(EpsilonGreedy(0.0)),
    "LLL softmax": LLL(Softmax(0.7)),
    "LLL greedy": LLL(EpsilonGreedy(0.0)),
    "deficit softmax": Deficit(Softmax(0.7)),
    "deficit greedy": Deficit(EpsilonGreedy(0.0)),
    "UCB": UCB(1.3),
}
COMPILED = {name: jax.jit(rule) for name, rule in SEVERAL.items()}
# But for ties these leave nothing to chance.
DETERMINISTIC = {name: SEVERAL[name] for name in ("LLL softmax", "deficit softmax", "UCB")}


def is_possible(rule, values):
    """The actions with f > 0; for UCB those that the state has."""
    return rule.policy(values) > -np.inf if hasattr(rule, "policy") else values > -np.inf


@pytest.mark.parametrize("name", SEVERAL)
@given(
    values=arrays(np.float32, ACTIONS, elements=st.sampled_from([-np.inf, -np.inf, -3.0, 0.0, 0.1, 1.0, 1e6])),
    counts=arrays(np.float32, ACTIONS, elements=st.sampled_from([0.0, 0.0, 0.01, 1.0, 3.0, 1e7])),
    here=st.integers(0, ACTIONS - 1),
    uniform=st.sampled_from([0.0, 0.25, 0.5, NEXT_TO_ONE]) | st.floats(0, NEXT_TO_ONE),
)
def test_an_impossible_action_is_never_chosen(name, values, counts, here, uniform):
    values[here] = max(values[here], 0.0)
    allowed = np.flatnonzero(is_possible(SEVERAL[name], values))
    with np.errstate(all="ignore"):
        assert SEVERAL[name](values, counts, 7, uniform) in allowed
    assert COMPILED[name](values, counts, 7, uniform) in allowed


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("counts", [[0.0, 0.0, 0.0, 0.0], [0.0, 5.0, 0.0, 2.0]])
def test_numpy_has_nothing_to_warn_about_where_an_action_is_impossible(name, counts):
    values = np.array([1.0, -np.inf, 1.0, 0.5])
    assert SEVERAL[name](values, np.array(counts), 3, 0.5) in (0, 2, 3)


@pytest.mark.parametrize("library", ["numpy", "jax"])
@pytest.mark.parametrize("actions", [5, 7, 18])
@pytest.mark.parametrize("is_tried", [False, True])
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_tied_actions_share_the_choice_evenly(name, is_tried, actions, library):
    # Compiled loops treat the last few of an odd number of elements apart: rounding may not tell them from the rest.
    random, tied = np.random.default_rng(actions), actions - 1
    uniforms = (np.arange(100 * tied, dtype=np.float32) + 0.5) / (100 * tied)
    is_worse = np.arange(actions) == 1
    values = random.normal(size=(100 * tied, 1)).astype(np.float32) - is_worse.astype(np.float32)
    counts = random.exponential(5, (100 * tied, 1)).astype(np.float32) * is_tried + is_worse.astype(np.float32)
    rule = DETERMINISTIC[name] if library == "numpy" else COMPILED[name]
    chosen = rule(values, counts, 5, uniforms)
    assert np.bincount(chosen, minlength=actions).tolist() == np.where(is_worse, 0, 100).tolist()


@pytest.mark.parametrize("rule", [LLL(Softmax(1.0)), UCB(1.0)])
def test_untried_actions_come_first_and_among_them_the_better(rule):
    values, counts = np.array([0.0, 1.0, 100.0, 0.5]), np.array([0.0, 0.0, 5.0, 0.0])
    assert rule(values, counts, 5, 0.0) == 1
    assert rule(values, np.array([0.0, 1.0, 5.0, 0.0]), 5, 0.0) == 3


def test_among_equally_tried_actions_the_likelier_wins():
    values, counts = np.array([0.0, 2.0, 1.0]), np.ones(3)
    for rule in (*DETERMINISTIC.values(), LLL(EpsilonGreedy(0.5)), Deficit(EpsilonGreedy(0.5))):
        assert rule(values, counts, 3, 0.0) == 1


def test_lll_looks_at_ratios_where_deficit_looks_at_differences():
    log_f, counts = np.log([0.6, 0.3, 0.1]), np.array([60.0, 27.0, 8.5])
    # f / C is 0.010, 0.0111, 0.0118 and f - C / 95.5 is -0.028, 0.017, 0.011.
    assert LLL(lambda values: values)(log_f, counts, 95, 0.0) == 2
    assert Deficit(lambda values: values)(log_f, counts, 95, 0.0) == 1


@pytest.mark.parametrize("rule", [LLL(lambda log_f: log_f), Deficit(lambda log_f: log_f)])
@pytest.mark.parametrize("actions", [2, 3, 7])
def test_determinized_visits_stay_within_a_constant_of_any_fixed_f(rule, actions):
    random = np.random.default_rng(actions)
    f = random.dirichlet(np.full(actions, 0.7), size=50)
    counts = np.zeros_like(f)
    for time in range(1, 1501):
        chosen = rule(np.log(f), counts, time, random.random(50))
        counts[np.arange(50), chosen] += 1
        assert (counts <= time * f + 1 + 1e-9).all()
        assert (np.abs(counts - time * f) < actions).all()


def test_sampling_follows_f_only_like_the_root_of_time():
    """At time T the count of an action scatters by sqrt(T f (1 - f)): far beyond the constant above."""
    f, time = np.array([0.2, 0.5, 0.3]), 2000
    uniforms = np.random.default_rng(0).random((500, time))
    chosen = Sample(lambda log_f: log_f)(np.broadcast_to(np.log(f), (500, time, 3)), None, 0, uniforms)
    counts = np.stack([(chosen == action).sum(axis=1) for action in range(3)], axis=1)
    np.testing.assert_allclose(counts.std(axis=0), np.sqrt(time * f * (1 - f)), rtol=0.1)
    np.testing.assert_allclose(counts.mean(axis=0), time * f, rtol=0.01)


@pytest.mark.parametrize("library", ["numpy", "jax"])
def test_sampling_gives_each_action_the_share_of_uniforms_that_f_says(library):
    f, points = np.array([0.1, 0.0, 0.6, 0.3], np.float32), 10_000
    uniforms = (np.arange(points) + 0.5) / points
    log_f = np.log(f, where=f > 0, out=np.full(4, -np.inf, np.float32))
    rule = Sample(lambda values: values)
    chosen = (rule if library == "numpy" else jax.jit(rule))(np.tile(log_f, (points, 1)), None, 0, uniforms)
    assert np.abs(np.bincount(chosen, minlength=4) - points * f).max() <= 1


def test_ucb_adds_scale_times_the_root_of_log_time_over_count():
    values, counts, time = np.array([1.0, 0.9]), np.array([10.0, 2.0]), 100
    indifferent = 0.1 / (math.sqrt(math.log(time) / 2) - math.sqrt(math.log(time) / 10))
    assert UCB(indifferent * 0.999)(values, counts, time, 0.5) == 0
    assert UCB(indifferent * 1.001)(values, counts, time, 0.5) == 1


@pytest.mark.parametrize("unit", [2.0**-60, 2.0**-20, 2.0**20])
def test_ucb_does_not_depend_on_the_unit_that_rewards_are_counted_in(unit):
    random = np.random.default_rng(5)
    values = random.normal(size=(200, 4)).astype(np.float32)
    counts = random.integers(0, 9, (200, 4)).astype(np.float32)
    chosen = UCB(0.5 * unit)(values * np.float32(unit), counts, 100, random.random(200))
    assert chosen.tolist() == UCB(0.5)(values, counts, 100, random.random(200)).tolist()


@pytest.mark.parametrize("steps", [0, 1])
def test_ucb_is_greedy_while_the_logarithm_of_time_is_zero(steps):
    assert UCB(1e6)(np.array([1.0, 0.9]), np.array([10.0, 2.0]), steps, 0.5) == 0


@pytest.mark.parametrize("name", SEVERAL)
def test_both_array_libraries_choose_the_same_action(name):
    random = np.random.default_rng(3)
    values = random.integers(0, 4, (400, 5)).astype(np.float32)
    counts = random.integers(1, 4, (400, 5)).astype(np.float32)
    uniforms = random.random(400, np.float32)
    by_jax = COMPILED[name](values, counts, 9, uniforms)
    with np.errstate(all="ignore"):
        assert SEVERAL[name](values, counts, 9, uniforms).tolist() == by_jax.tolist()


@pytest.mark.parametrize("name", SEVERAL)
def test_a_batch_is_its_elements(name):
    random = np.random.default_rng(4)
    values, counts, uniforms = random.normal(size=(3, 4, 5)), random.random((3, 4, 5)), random.random((3, 4))
    together = SEVERAL[name](values, counts, 9, uniforms)
    assert together.shape == (3, 4)
    for at, action in np.ndenumerate(together):
        assert action == SEVERAL[name](values[at], counts[at], 9, uniforms[at])
