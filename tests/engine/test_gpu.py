"""On a GPU the same call gives the same bits twice. Skipped unless JAX uses a GPU."""

from typing import Any

import jax
import numpy as np
import pytest

import dorax
from dorax.engine import running

pytestmark = pytest.mark.skipif(jax.default_backend() != "gpu", reason="JAX uses no GPU")
LLL = dorax.LLL(dorax.Softmax(0.2))
SMALL: dict[str, Any] = {"games": 16, "width": 32, "rollout": 16}
RND = dorax.ParallelAgent(dorax.EpsilonGreedy(0.1), bonus=dorax.RND(0.3), novelty_discount=0.99, **SMALL)
E_VALUES = dorax.ParallelAgent(LLL, dorax.EValues(0.99), **SMALL)  # which take turns
PROTOTYPES = dorax.ParallelAgent(LLL, dorax.EValues(0.99, features=dorax.Prototypes(64)), **SMALL)

cases = pytest.mark.parametrize(
    ("agent", "env", "options"),
    [
        (dorax.TabularAgent(LLL, dorax.EValues(0.9)), dorax.mdps.cliff(), {"episodes": 20}),
        (dorax.LinearAgent(LLL, dorax.EValues(0.9)), dorax.envs.SparseMountainCar(), {"episodes": 20}),
        (E_VALUES, dorax.mdps.deep_sea(6, 3), {}),
        (PROTOTYPES, dorax.envs.SparseMountainCar(), {}),
        (RND, dorax.mdps.deep_sea(6, 3), {}),
    ],
    ids=["tables", "tiles", "many games with a table", "many games with prototypes", "many games with RND"],
)


def assert_equal_bits(one, other):
    assert one.data.identical(other.data)
    leaves = zip(jax.tree.leaves(one.learner().memory), jax.tree.leaves(other.learner().memory), strict=True)
    for first, second in leaves:
        np.testing.assert_array_equal(first, second)


@cases
def test_the_same_call_twice_gives_equal_bits(agent, env, options):
    one, other = (dorax.train(agent, env, seeds=5, steps=2000, **options) for _ in range(2))
    assert_equal_bits(one, other)


@cases
def test_any_number_of_chunks_gives_equal_bits(agent, env, options, monkeypatch):
    whole = dorax.train(agent, env, seeds=5, steps=2000, **options)
    monkeypatch.setattr(running, "FIRST_BLOCKS", 1)
    monkeypatch.setattr(running, "CHUNK_SECONDS", 0.0)  # chunks of one block
    assert_equal_bits(whole, dorax.train(agent, env, seeds=5, steps=2000, **options))
