import numpy as np
import xarray as xr

from dorax.study.experiment import FIRST_TUNING_SEED, FULL, Condition
from dorax.study.fitting import choose, settings_of
from dorax.study.measures import SUCCESS

GRID = {"temperature": (1.0, 2.0, 3.0)}


def never(*_):
    raise AssertionError


def tuning(time, reached, area):
    dims = ("setting", "seed")
    columns = {}
    for axis in ("episode", "step"):
        columns |= {
            f"time_by_{axis}": (dims, np.array(time, float)),
            f"reached_by_{axis}": (dims, np.array(reached, bool)),
            f"area_by_{axis}": (dims, np.array(area, float)),
        }
    return xr.Dataset(columns)


def test_a_grid_is_every_combination_and_no_grid_is_one_setting():
    assert settings_of({"a": (1, 2), "b": (3,)}) == [{"a": 1, "b": 3}, {"a": 2, "b": 3}]
    assert settings_of({}) == [{}]


def test_a_grid_may_list_its_settings_and_has_edges_all_the_same():
    settings = [{"a": 1.0, "b": 5.0}, {"a": 2.0, "b": 6.0}, {"a": 3.0, "b": 5.0}]
    assert settings_of(settings) == settings
    data = tuning(time=[[9, 9], [3, 3], [9, 9]], reached=[[True] * 2] * 3, area=[[1, 1]] * 3)
    choice = choose([(Condition("x", never, settings), data)], "step")
    assert choice.setting == settings[1]
    assert choice.at_edge == ["b"]


def test_the_shortest_median_time_wins():
    data = tuning([[5, 5, 5], [3, 3, 90], [4, 4, 4]], np.ones((3, 3)), np.ones((3, 3)))
    assert choose([(Condition("x", never, GRID), data)], "step").setting == {"temperature": 2.0}


def test_a_censored_time_is_no_time_however_short():
    data = tuning([[5, 5, 5], [1, 1, 1], [6, 6, 6]], [[1] * 3, [0] * 3, [1] * 3], np.ones((3, 3)))
    assert choose([(Condition("x", never, GRID), data)], "episode").setting == {"temperature": 1.0}


def test_where_none_arrives_the_smallest_area_wins():
    data = tuning(np.ones((3, 3)), np.zeros((3, 3)), [[3] * 3, [2] * 3, [1] * 3])
    choice = choose([(Condition("x", never, GRID), data)], "episode")
    assert choice.setting == {"temperature": 3.0}
    assert choice.at_edge == ["temperature"]


def test_the_end_of_a_grid_is_no_edge_where_nothing_lies_beyond():
    data = tuning([[1] * 3, [2] * 3, [3] * 3], np.ones((3, 3)), np.ones((3, 3)))
    assert choose([(Condition("x", never, GRID), data)], "episode").at_edge == ["temperature"]
    assert choose([(Condition("x", never, GRID, {"temperature": (1.0,)}), data)], "episode").at_edge == []


def test_areas_that_differ_by_rounding_alone_are_tied_and_the_first_wins():
    data = tuning(np.ones((3, 3)), np.zeros((3, 3)), [[0.3] * 3, [0.1 + 0.2 - 1e-16] * 3, [0.3 - 1e-15] * 3])
    assert choose([(Condition("x", never, GRID), data)], "step").setting == {"temperature": 1.0}


def test_tuning_seeds_and_reported_seeds_never_meet():
    assert 1000 * FULL.seeds < FIRST_TUNING_SEED


def test_what_may_be_lost_again_is_fitted_by_the_area_alone():
    data = tuning([[1] * 3, [2] * 3, [3] * 3], np.ones((3, 3)), [[3] * 3, [1] * 3, [2] * 3])
    choice = choose([(Condition("x", never, GRID, measure=SUCCESS), data)], "episode")
    assert choice.setting == {"temperature": 2.0}
    assert choice.is_by_area


def test_of_several_conditions_the_lowest_sum_of_ranks_wins():
    """Settings 1 and 2 are best in one world each and last in the other; setting 3 is second in both."""
    one = tuning([[1] * 3, [3] * 3, [2] * 3], np.ones((3, 3)), np.ones((3, 3)))
    other = tuning([[90] * 3, [10] * 3, [20] * 3], np.ones((3, 3)), np.ones((3, 3)))
    conditions = [Condition(name, never, GRID) for name in ("one", "other")]
    choice = choose(list(zip(conditions, (one, other), strict=True)), "step")
    assert choice.setting == {"temperature": 1.0}, "a tie of 1 + 3, 3 + 1 and 2 + 2, which the first condition breaks"
    better = tuning([[90] * 3, [10] * 3, [10] * 3], np.ones((3, 3)), np.ones((3, 3)))
    assert choose(list(zip(conditions, (one, better), strict=True)), "step").setting == {"temperature": 3.0}


def test_what_never_succeeds_is_fitted_where_it_can():
    """In the world to fit in, all settings lose all; in an easier one the third is best, and the first ties with it."""
    lost = Condition("hard", never, GRID, measure=SUCCESS), tuning([[9] * 3] * 3, np.zeros((3, 3)), np.ones((3, 3)))
    easier = Condition("easy", never, GRID, measure=SUCCESS)
    tie = easier, tuning([[1] * 3] * 3, np.ones((3, 3)), [[2] * 3, [3] * 3, [2] * 3])
    last = easier, tuning([[1] * 3] * 3, np.ones((3, 3)), [[3] * 3, [3] * 3, [1] * 3])
    assert choose([lost], "step").setting == {"temperature": 1.0}
    assert choose([lost], "step", ties=[last]).setting == {"temperature": 3.0}
    assert choose([lost], "step", ties=[tie, last]).setting == {"temperature": 3.0}
    solved = (
        Condition("hard", never, GRID, measure=SUCCESS),
        tuning([[1] * 3] * 3, np.ones((3, 3)), [[3] * 3, [1] * 3, [2] * 3]),
    )
    assert choose([solved], "step", ties=[last]).setting == {"temperature": 2.0}, (
        "where there is no tie, none is broken"
    )
