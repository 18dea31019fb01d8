"""The exact value of the greedy policy during training, against brute force; and a probe that changes nothing."""

import numpy as np
import pytest

import dorax
from dorax import mdps
from dorax.engine.policy_values import GreedyValue

DISCOUNT = 0.9
RIVER = mdps.river_swim(5)
AGENT = dorax.TabularAgent(dorax.LLL(dorax.Softmax(0.1)), dorax.EValues(DISCOUNT), learning_rate=0.2, discount=DISCOUNT)
SEEDS = [0, 1, 2]


def trained(steps, **options):
    return dorax.train(AGENT, RIVER, episodes=100, steps=steps, seeds=SEEDS, learners=SEEDS, **options)


@pytest.fixture(scope="module")
def watched():
    return trained(330, probes=[GreedyValue.of(RIVER, DISCOUNT, 110, 330)])


def value_of(policy, mdp=RIVER):
    """The discounted return of a policy from the start, step by step: after 400 steps 0.9**400 is nothing."""
    here, total, weight = mdp.start.copy(), 0.0, 1.0
    for _ in range(400):
        following = np.zeros(mdp.states)
        for s, a, k in np.ndindex(mdp.successor.shape):
            chance = here[s] * policy[s, a] * mdp.probability[s, a, k]
            total += weight * chance * mdp.reward[s, a, k]
            following[mdp.successor[s, a, k]] += chance * (not mdp.terminal[s, a, k])
        here, weight = following, weight * DISCOUNT
    return total


def greedy(q):
    is_best = q == q.max(axis=1, keepdims=True)
    return is_best / is_best.sum(axis=1, keepdims=True)


def test_the_last_value_is_that_of_the_learner_s_greedy_policy(watched):
    for i, seed in enumerate(SEEDS):
        expected = value_of(greedy(watched.learner(seed).q_table))
        assert watched.data.greedy_value.values[i, -1] == pytest.approx(expected, rel=1e-9)


def test_values_on_the_way_are_those_of_a_run_that_ended_there(watched):
    shorter = trained(110)
    for i, seed in enumerate(SEEDS):
        expected = value_of(greedy(shorter.learner(seed).q_table))
        assert watched.data.greedy_value.values[i, 1] == pytest.approx(expected, rel=1e-9)


def test_before_the_first_step_all_actions_are_equal(watched):
    uniform = np.full((RIVER.states, RIVER.actions), 1 / RIVER.actions)
    np.testing.assert_allclose(watched.data.greedy_value.values[:, 0], value_of(uniform), rtol=1e-9)


def test_marks_in_steps_pause_every_lane_after_exactly_so_many(watched):
    assert watched.data.snapshot.values.tolist() == [0, 110, 220, 330]
    np.testing.assert_array_equal(watched.data.snapshot_step, np.tile([0, 110, 220, 330], (len(SEEDS), 1)))


def test_a_run_is_the_same_bit_for_bit_with_the_probe_and_without(watched):
    alone = trained(330)
    for name in ("return", "length", "q_error", "total_steps"):
        np.testing.assert_array_equal(watched.data[name], alone.data[name])
    for seed in SEEDS:
        np.testing.assert_array_equal(watched.learner(seed).q_table, alone.learner(seed).q_table)
        np.testing.assert_array_equal(watched.learner(seed).count_table, alone.learner(seed).count_table)


def test_marks_in_episodes_record_the_steps_so_far():
    probe = GreedyValue.of(RIVER, DISCOUNT, 2, 6, clock="episode")
    data = dorax.train(AGENT, RIVER, episodes=6, seeds=2, probes=[probe]).data
    assert data.snapshot.values.tolist() == [0, 2, 4, 6]
    np.testing.assert_array_equal(data.snapshot_step, np.tile(20 * np.arange(0, 7, 2), (2, 1)))


def test_probes_with_different_clocks_do_not_run_together(refused):
    probes = [GreedyValue.of(RIVER, DISCOUNT, 2, 6, clock=clock) for clock in ("episode", "step")]
    with refused("some after steps"):
        dorax.train(AGENT, RIVER, episodes=6, probes=probes)


def test_seeds_with_mdps_of_their_own_are_evaluated_in_their_own():
    seas = [mdps.deep_sea(4, seed) for seed in SEEDS]
    settings = dorax.grid(temperature=(0.1, 1.0))
    probe = GreedyValue.of(seas, 1.0, 300, 300, settings=len(settings))
    found = dorax.train(AGENT, seas, episodes=100, steps=300, seeds=SEEDS, settings=settings, probes=[probe],
                        learners=SEEDS)  # fmt: skip
    for i, seed in enumerate(SEEDS):
        for j in range(len(settings)):
            policy = greedy(found.learner(seed, setting=j).q_table)
            expected = value_of_sea(policy, seas[i])
            assert found.data.greedy_value.values[j, i, -1] == pytest.approx(expected, rel=1e-9)


def value_of_sea(policy, sea):
    """The expected return of a policy: every episode ends after four steps."""
    here, total = sea.start.copy(), 0.0
    for _ in range(4):
        following = np.zeros(sea.states)
        for s, a, k in np.ndindex(sea.successor.shape):
            chance = here[s] * policy[s, a] * sea.probability[s, a, k]
            total += chance * sea.reward[s, a, k]
            following[sea.successor[s, a, k]] += chance * (not sea.terminal[s, a, k])
        here = following
    return total
