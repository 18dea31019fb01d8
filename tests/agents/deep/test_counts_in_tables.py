"""A `DeepAgent` with counts in tables over hashed codes or prototypes."""

import numpy as np
import pytest

import dorax
from dorax import EValues, HashedCodes, InverseRootCount, Prototypes, Visits


def agent(**changed):
    given = {"rule": dorax.LLL(dorax.Softmax(0.1)), "counter": Visits(features=Prototypes()), "width": 8, "depth": 1}
    return dorax.DeepAgent(**(given | changed))


@pytest.mark.slow
@pytest.mark.parametrize("features", [HashedCodes(), Prototypes()], ids=str)
def test_with_plain_visits_the_counts_of_a_table_sum_up_to_the_steps(features):
    sea = dorax.envs.DenseView(dorax.mdps.deep_sea(5, seed=3), noise=0.0)
    result = dorax.train(agent(counter=Visits(features=features)), sea, steps=500)
    tables = result.trained[0, 0].memory.explorer
    np.testing.assert_allclose(tables.counts.sum(axis=(1, 2)), float(result.data.total_steps[0]))
    learner = result.learner()
    episodes = 500 / 5
    assert learner.counts(sea.default_params.points[0].tolist() + [0.0] * 16).sum() == episodes


@pytest.mark.slow
def test_prototypes_find_the_treasure_that_a_network_with_a_constant_start_misses(tmp_path):
    sea = dorax.envs.DenseView(dorax.mdps.deep_sea(10, seed=3), noise=1.0)
    counter = EValues(0.99, features=Prototypes())
    result = dorax.train(agent(counter=counter, bonus=InverseRootCount(0.001), width=64, depth=2), sea, steps=20_000)
    assert np.nanmax(result.data["return"]) > 0.9
    result.learner().save(tmp_path / "learner.npz")
    again = dorax.load(tmp_path / "learner.npz")
    here = np.asarray(sea.default_params.points[0].tolist() + [0.0] * 16, np.float32)
    np.testing.assert_array_equal(again.counts(here), result.learner().counts(here))


@pytest.mark.parametrize(("changed", "message"), [
    ({"counts_from": "replay"}, "allowed: 'visits' with features of the counter"),
    ({"counter": EValues(0.99, form="logistic", features=Prototypes())}, "allowed: 'count' and 'sarsa'"),
])  # fmt: skip
def test_options_that_mean_nothing_in_tables_are_refused(changed, message):
    with pytest.raises(dorax.InvalidInput, match=message):
        agent(**changed)


def test_agents_with_counts_of_their_own_refuse_features_in_one_line():
    counter, rule = EValues(0.99, features=Prototypes()), dorax.LLL(dorax.Softmax(0.1))
    with pytest.raises(dorax.InvalidInput, match="a TabularAgent supports None or a Table"):
        dorax.TabularAgent(rule=rule, counter=counter, learning_rate=0.5)
    with pytest.raises(dorax.InvalidInput, match="an AtariAgent supports None"):
        dorax.AtariAgent(rule=rule, counter=counter)
    with pytest.raises(dorax.InvalidInput, match="wrappers have an option features"):
        dorax.EValueBonus(__import__("gymnasium").make("CartPole-v1"), counter=counter)
