import numpy as np
import pytest
import xarray as xr

from dorax.study.measures import SUCCESS, Measure, area_under_curve, held, recent_failures, summary, times_to_threshold

NAN = np.nan


def curves(q_error, length, start=100.0):
    """One setting, a row a seed."""
    q_error, length = np.array(q_error, float)[None], np.array(length, float)[None]
    dims = ("setting", "seed", "episode")
    return xr.Dataset(
        {
            "q_error": (dims, q_error),
            "length": (dims, length),
            "steps": (dims, np.cumsum(length, axis=-1)),
            "q_error_at_start": (dims[:2], np.full(q_error.shape[:2], start)),
            "q_error_of_zero": start,
            "total_steps": (dims[:2], np.nansum(length, axis=-1)),
        },
        coords={"setting": ["a"], "seed": range(q_error.shape[1])},
    )


def test_time_to_the_threshold_is_the_first_episode_at_one_percent_of_the_start():
    data = curves([[50, 1, 0.5, 2], [50, 40, 30, 20]], [[3, 4, 5, 6], [1, 1, 1, 1]])
    by_episode, by_step = times_to_threshold(data, "episode"), times_to_threshold(data, "step")
    assert by_episode.time.tolist() == [[2, 4]]
    assert by_step.time.tolist() == [[7, 4]]
    assert by_episode.is_reached.tolist() == by_step.is_reached.tolist() == [[True, False]]


def test_a_run_that_was_cut_short_is_censored_where_it_stopped():
    data = curves([[50, 40, NAN, NAN]], [[10, 10, NAN, NAN]])
    assert times_to_threshold(data, "episode").time.tolist() == [[2]]
    assert times_to_threshold(data, "step").time.tolist() == [[20]]


def test_the_area_by_step_weighs_an_episode_by_its_length_and_a_run_that_ended_keeps_its_error():
    data = curves([[100, 50], [100, 0]], [[1, 9], [1, 4]])
    assert area_under_curve(data, "episode").tolist() == [[0.75, 0.5]]
    assert area_under_curve(data, "step")[0].tolist() == pytest.approx([(1 + 9 * 0.5) / 10, 1 / 10])


def test_a_curve_that_has_ended_is_held():
    assert held(np.array([[3.0, 2.0, NAN]])).tolist() == [[3, 2, 2]]


def test_the_summary_has_a_number_for_each_setting_and_seed():
    assert set(summary(curves([[1, 1]], [[1, 1]])).sizes.items()) == {("setting", 1), ("seed", 1)}


def returns(*rows):
    rows = np.array(rows, float)
    steps = np.cumsum(np.ones_like(rows), axis=-1)
    return xr.Dataset(
        {
            "return": (("seed", "episode"), rows),
            "steps": (("seed", "episode"), steps),
            "length": (("seed", "episode"), np.ones_like(rows)),
            "total_steps": ("seed", steps[:, -1]),
        }
    )


def test_success_is_reached_when_eighteen_of_the_last_twenty_episodes_succeed():
    always = [1] * 30
    late = [0] * 10 + [1] * 20
    two_in_three = [1, 1, 0] * 10
    times = times_to_threshold(returns(always, late, two_in_three), "episode", SUCCESS)
    # Missing episodes count as failed: nobody gets there before the 18th.
    assert times.time.tolist() == [18, 28, 30]
    assert times.is_reached.tolist() == [True, True, False]


def test_a_failure_leaves_the_window_after_twenty_episodes():
    data = returns([0, 0, 0] + [1] * 27)
    assert times_to_threshold(data, "episode", SUCCESS).time.tolist() == [21]
    assert float(recent_failures(data)[0, 22]) == 0


def test_any_positive_return_is_a_success_and_none_is_a_failure():
    assert recent_failures(returns([0.01] * 20)).values[0, -1] == 0
    assert recent_failures(returns([0.0] * 20)).values[0, -1] == 1


def lost(data):
    return 1 - data.record_return


def test_a_curve_of_records_is_measured_in_steps_by_either_axis():
    half = Measure("half of the return", lost, 0.5)
    returns = [[0.0, 0.5, 1.0], [0.0, 0.0, 0.25], [0.0, 0.0, NAN]]
    steps = np.array([[10.0, 20.0, 30.0]] * 3)
    data = xr.Dataset({"record_return": (("seed", "record"), returns), "record_step": (("seed", "record"), steps)})
    for axis in ("episode", "step"):
        times = times_to_threshold(data, axis, half)
        assert times.time.tolist() == [20, 30, 20]
        assert times.is_reached.tolist() == [True, False, False]
        assert area_under_curve(data, axis, half).tolist() == pytest.approx([0.5, 2.75 / 3, 1.0])
