"""What agents of every family did before the engine was rebuilt, they do still."""

import numpy as np
import pytest
from golden_runs import FAMILIES, PATH

EXACT = ("length", "actions", "total_steps", "episode", "steps", "last_action", "is_terminal", "visits", "path")


@pytest.fixture(scope="module")
def golden():
    with np.load(PATH) as kept:
        return dict(kept)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_run_repeats_its_actions_exactly_and_its_values_to_four_units_in_the_last_place(family, golden):
    found = FAMILIES[family]()
    for name, now in found.items():
        then = golden[name]
        assert now.shape == then.shape, name
        if name.rpartition("/")[2] in EXACT or not np.issubdtype(then.dtype, np.floating):
            np.testing.assert_array_equal(now, then, err_msg=name)
        else:
            np.testing.assert_array_max_ulp(np.asarray(now, then.dtype), then, 4)


def test_every_golden_number_belongs_to_a_family(golden):
    assert {name.partition("/")[0] for name in golden} == {"tables", "functional", "loop", "wrappers", "explorer"}
