import numpy as np

from dorax.study.figures import trailing_mean


def test_a_trailing_mean_is_over_as_many_values_as_there_are():
    values = np.array([[1.0, 0.0, 1.0, 1.0, 0.0]])
    assert trailing_mean(values, window=2).tolist() == [[1, 0.5, 0.5, 1, 0.5]]
    assert np.isnan(trailing_mean(np.array([[1.0, np.nan]]), window=2)[0, 1])
