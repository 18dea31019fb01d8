"""On a GPU the same call gives the same bits twice. Skipped unless JAX uses a GPU."""

import jax
import numpy as np
import pytest

import dorax

pytestmark = pytest.mark.skipif(jax.default_backend() != "gpu", reason="JAX uses no GPU")
LLL = dorax.LLL(dorax.Softmax(0.2))


@pytest.mark.parametrize(
    ("agent", "env"),
    [
        (dorax.TabularAgent(LLL, dorax.EValues(0.9)), dorax.mdps.cliff()),
        (dorax.LinearAgent(LLL, dorax.EValues(0.9)), dorax.envs.SparseMountainCar()),
    ],
    ids=["tables", "tiles"],
)
def test_the_same_call_twice_gives_equal_bits(agent, env):
    one, other = (dorax.train(agent, env, 20, 5, steps=2000) for _ in range(2))
    assert one.data.identical(other.data)
    leaves = zip(jax.tree.leaves(one.learner().memory), jax.tree.leaves(other.learner().memory), strict=True)
    for first, second in leaves:
        np.testing.assert_array_equal(first, second)
