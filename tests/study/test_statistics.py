import numpy as np
import pytest

from dorax.study.statistics import (
    Interval,
    Times,
    bootstrap,
    difference_of_means,
    difference_of_shares,
    first_times,
    from_draws,
    holm,
    mean_of_differences,
    median,
    median_of_ratios,
    ratio_of_medians,
    share,
)


def times(reached, censored=()):
    values = np.array([*reached, *censored], float)
    return Times(values, np.arange(len(values)) < len(reached))


def test_the_median_is_infinite_exactly_when_half_of_the_runs_never_arrive():
    assert median(np.array([1.0, 2.0, np.inf])) == 2
    assert median(np.array([1.0, np.inf, np.inf])) == np.inf


def test_a_ratio_of_constant_times_has_no_width():
    interval = ratio_of_medians(times([30] * 20), times([10] * 20))
    assert (interval.value, interval.low, interval.high) == (3, 3, 3)


def test_a_slow_agent_that_never_arrives_is_slower_by_at_least_the_time_it_was_watched():
    interval = ratio_of_medians(times([], [100] * 20), times([10] * 20))
    assert interval.low == 10
    assert interval.high == np.inf


def test_two_agents_that_never_arrive_cannot_be_compared():
    interval = ratio_of_medians(times([], [100] * 20), times([], [10] * 20))
    assert interval.low == 0
    assert interval.high == np.inf


def test_a_fast_agent_that_was_watched_for_a_shorter_time_does_not_win_by_it():
    interval = ratio_of_medians(times([60] * 20), times([], [45] * 20))
    assert interval.low == 0


def test_the_median_of_paired_ratios_is_not_the_ratio_of_medians():
    slow, fast = times([2, 30, 400]), times([1, 10, 300])
    interval = median_of_ratios(slow, fast)
    assert (interval.value, interval.relation) == (2, "=")  # of 2, 3 and 4/3
    assert interval.low == pytest.approx(4 / 3)
    assert interval.high == 3
    assert ratio_of_medians(slow, fast).value == 3


def test_pairs_in_which_the_slow_agent_never_arrives_give_a_lower_bound():
    interval = median_of_ratios(times([], [100] * 20), times([10] * 20))
    assert (interval.value, interval.relation) == (10, "≥")
    assert (interval.low, interval.high) == (10, np.inf)


def test_pairs_in_which_the_fast_agent_never_arrives_give_an_upper_bound():
    interval = median_of_ratios(times([30] * 20), times([], [60] * 20))
    assert (interval.value, interval.relation) == (0.5, "≤")
    assert (interval.low, interval.high) == (0, 0.5)


def test_pairs_in_which_neither_agent_arrives_say_nothing():
    interval = median_of_ratios(times([], [100] * 20), times([], [10] * 20))
    assert np.isnan(interval.value)
    assert (interval.low, interval.high) == (0, np.inf)


def test_the_exact_interval_of_no_success_in_fifty():
    interval = share(0, 50)
    assert interval.low == 0
    assert interval.high == pytest.approx(1 - 0.025 ** (1 / 50))


@pytest.mark.slow
def test_the_bootstrap_interval_covers_the_truth_about_as_often_as_it_says():
    samples = np.random.default_rng(1).exponential(size=(400, 50))
    _, low, high = bootstrap(samples, lambda x: np.mean(x, axis=-1))
    assert 0.88 <= np.mean((low <= 1) & (high >= 1)) <= 0.98


def test_a_difference_of_means_has_the_width_of_both_groups():
    rng = np.random.default_rng(0)
    one, other = rng.normal(3, 1, 400), rng.normal(1, 2, 400)
    found = difference_of_means(one, other)
    assert found.value == pytest.approx(one.mean() - other.mean())
    width = 2 * 1.96 * np.sqrt(1 / 400 + 4 / 400)
    assert found.high - found.low == pytest.approx(width, rel=0.1)
    assert difference_of_means(np.ones(5), np.zeros(5)) == Interval(1, 1, 1)


def test_a_mean_of_differences_weighs_every_task_alike_and_has_the_width_of_all_groups():
    rng = np.random.default_rng(0)
    pairs = [(rng.normal(3, 1, 400), rng.normal(1, 2, 400)), (rng.normal(0, 3, 100), rng.normal(0.5, 1, 100))]
    found = mean_of_differences(pairs)
    differences = [larger.mean() - smaller.mean() for larger, smaller in pairs]
    assert found.value == pytest.approx(np.mean(differences))
    width = 2 * 1.96 * np.sqrt(sum(group.var() / len(group) for pair in pairs for group in pair)) / len(pairs)
    assert found.high - found.low == pytest.approx(width, rel=0.05)


def test_a_difference_of_shares_is_newcombe_s():
    """56 of 70 against 48 of 80, the example of Newcombe (1998), table II: method 10 gives [0.0524, 0.3339]."""
    found = difference_of_shares((56, 70), (48, 80))
    assert found.value == pytest.approx(0.2)
    assert (found.low, found.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    same = difference_of_shares((5, 5), (5, 5))
    assert same.low < 0 < same.high


def test_a_curve_gets_there_when_it_first_reaches_the_bar_and_else_is_censored_at_its_end():
    curves = np.array([[0.0, 2.0, 1.0], [0.0, 0.5, np.nan], [3.0, 0.0, 0.0]])
    steps = np.array([[10.0, 20.0, 30.0], [10.0, 25.0, np.nan], [10.0, 20.0, 30.0]])
    times = first_times(curves, steps, 1.0)
    assert times.time.tolist() == [20, 25, 10]
    assert times.is_reached.tolist() == [True, False, True]


def test_holm_s_method_multiplies_the_smallest_p_value_by_all_and_each_next_by_one_less():
    assert holm(np.array([0.01, 0.04, 0.03])).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert holm(np.array([0.5, 0.9])).tolist() == [1.0, 1.0]
    assert holm(np.array([])).tolist() == []


def test_an_interval_is_wider_at_a_higher_level():
    draws = np.arange(1000.0)
    interval = from_draws(500.0, draws)
    assert (interval.low, interval.high) == interval.ends(0.95)
    assert interval.ends(0.5) == (249, 749)
    assert interval.ends(1.0) == (0, 999)


def test_a_ratio_whose_numerator_never_arrives_is_a_lower_bound():
    assert ratio_of_medians(times([], [100] * 20), times([10] * 20)).relation == "≥"
    assert ratio_of_medians(times([10] * 20), times([], [100] * 20)).relation == "≤"
    assert ratio_of_medians(times([10] * 20), times([10] * 20)).relation == "="
    assert np.isnan(ratio_of_medians(times([], [100] * 20), times([], [10] * 20)).value)
