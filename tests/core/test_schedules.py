"""Numbers that change with the steps."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import dorax
from dorax.core import (
    LLL,
    ConstantBonus,
    EpsilonGreedy,
    EValues,
    LinearSchedule,
    PiecewiseSchedule,
    Softmax,
)
from dorax.core.schedules import at_step, has_schedule

FALLING = LinearSchedule(1.0, 0.1, 1000)
BY_HAND = {0: 1.0, 250: 0.775, 500: 0.55, 1000: 0.1, 5000: 0.1}


@pytest.mark.parametrize("number", [int, np.int32, np.float64, jnp.asarray], ids=lambda kind: kind.__name__)
def test_a_schedule_changes_evenly_and_then_stays(number: Any) -> None:
    assert [float(FALLING(number(step))) for step in BY_HAND] == pytest.approx(list(BY_HAND.values()), rel=1e-6)


@pytest.mark.parametrize("xp", [np, jnp])
def test_a_schedule_takes_many_steps_at_once(xp: Any) -> None:
    found = FALLING(xp.asarray(list(BY_HAND)))
    assert found.shape == (len(BY_HAND),)
    np.testing.assert_allclose(found, list(BY_HAND.values()), rtol=1e-6)


def test_a_schedule_may_rise_and_may_have_arrays_for_its_numbers() -> None:
    rising = LinearSchedule(jnp.asarray(0.0), jnp.asarray(2.0), jnp.asarray(4.0))
    assert [float(rising(step)) for step in (0, 1, 3, 9)] == [0.0, 0.5, 1.5, 2.0]


def test_plain_numbers_give_a_plain_number() -> None:
    assert type(FALLING(500)) is float


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (lambda: EpsilonGreedy(LinearSchedule(1.5, 0.1, 10)), "epsilon is 1.5"),
        (lambda: EpsilonGreedy(LinearSchedule(1.0, 1.1, 10)), "epsilon is 1.1"),
        (lambda: Softmax(LinearSchedule(-1.0, 0.1, 10)), "start of a schedule is -1.0"),
        (lambda: Softmax(LinearSchedule(1.0, np.nan, 10)), "end of a schedule is nan"),
        (lambda: LinearSchedule(1.0, 0.1, 0), "steps of a schedule is 0"),
    ],
)
def test_a_schedule_whose_ends_are_not_allowed_is_refused(policy: Any, words: str, refused: Any) -> None:
    with refused(words):
        policy()


def test_at_step_replaces_every_schedule_by_its_number_and_nothing_else() -> None:
    agent = dorax.TabularAgent(LLL(EpsilonGreedy(FALLING)), EValues(0.8), learning_rate=0.3)
    assert has_schedule(agent)
    now: Any = at_step(agent, 500)
    assert now.rule.policy.epsilon == pytest.approx(0.55)
    assert not has_schedule(now)
    assert (now.counter.discount, now.learning_rate) == (0.8, 0.3)
    assert at_step(Softmax(2.0), 500).temperature == 2.0


@pytest.mark.slow
def test_the_ends_of_a_schedule_may_be_swept() -> None:
    agent = dorax.TabularAgent(EpsilonGreedy(LinearSchedule(1.0, 0.0, 50)))
    mdp, settings = dorax.mdps.bridge(4), dorax.grid(start=(0.0, 1.0))
    swept = dorax.train(agent, mdp, 20, settings=settings).data
    for i, setting in enumerate(settings):
        alone = dorax.TabularAgent(EpsilonGreedy(LinearSchedule(setting["start"], 0.0, 50)))
        np.testing.assert_array_equal(dorax.train(alone, mdp, 20).data["length"], swept["length"].isel(setting=i))
    assert np.any(swept["length"].isel(setting=0).values != swept["length"].isel(setting=1).values)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.9])
def test_a_schedule_that_never_changes_is_its_constant_bit_for_bit(epsilon: float) -> None:
    constant, scheduled = (
        dorax.TabularAgent(LLL(EpsilonGreedy(number)), EValues(0.9))
        for number in (epsilon, LinearSchedule(epsilon, epsilon, 100))
    )
    mdp = dorax.mdps.bridge(4)
    ours, theirs = (dorax.train(agent, mdp, 30, seeds=2) for agent in (scheduled, constant))
    np.testing.assert_array_equal(ours.data["length"], theirs.data["length"])
    np.testing.assert_array_equal(ours.learner().q_table, theirs.learner().q_table)
    np.testing.assert_array_equal(ours.learner().count_table, theirs.learner().count_table)


def test_in_the_engine_and_in_a_learner_epsilon_is_that_of_the_steps_so_far() -> None:
    """With ε = 1 for one step and 0 after it, an agent that values north takes it for ever after its first steps."""
    agent = dorax.TabularAgent(EpsilonGreedy(LinearSchedule(1.0, 0.0, 100)))
    learner = dorax.TabularLearner(agent, states=1, actions=4, seed=1)
    learner.q_table[0] = [0, 1, 0, 0]
    greedy: list[float] = []
    for steps in (0, 50, 100, 1000):
        learner.steps = steps
        greedy.append(float(np.mean([learner.sample_action(0) == 1 for _ in range(2000)])))
    assert greedy[:2] == pytest.approx([0.25, 0.625], abs=0.05)
    assert greedy[2:] == [1.0, 1.0]


def test_a_piecewise_schedule_goes_straight_from_point_to_point_and_stays_outside() -> None:
    schedule = PiecewiseSchedule((10.0, 20.0, 40.0), (1.0, 3.0, 0.0))
    by_hand = {0: 1.0, 10: 1.0, 15: 2.0, 20: 3.0, 30: 1.5, 40: 0.0, 99: 0.0}
    for number in (int, jnp.asarray):
        assert [float(schedule(number(step))) for step in by_hand] == pytest.approx(list(by_hand.values()))


@pytest.mark.parametrize(
    ("steps", "values", "words"),
    [((0.0, 0.0), (1.0, 2.0), "increasing"), ((0.0,), (1.0, 2.0), "equally many"), ((0.0,), (-1.0,), "value of a")],
)
def test_a_piecewise_schedule_that_makes_no_sense_is_refused(steps: Any, values: Any, words: str, refused: Any) -> None:
    with refused(words):
        PiecewiseSchedule(steps, values)


def test_a_constant_bonus_pays_the_same_for_every_count() -> None:
    np.testing.assert_array_equal(ConstantBonus(0.3)(np.asarray([1.0, 9.0]), 0.5), [0.3, 0.3])


def test_a_bonus_that_follows_a_schedule_or_counts_nothing_is_refused_where_it_is_not_supported() -> None:
    with pytest.raises(dorax.InvalidInput, match="one in the ConstantBonus of an AtariAgent"):
        dorax.TabularAgent(EpsilonGreedy(0.1), bonus=ConstantBonus(FALLING))
    with pytest.raises(dorax.InvalidInput, match="without a counter"):
        dorax.LinearAgent(EpsilonGreedy(0.1), bonus=ConstantBonus(0.1))
    dorax.AtariAgent(bonus=ConstantBonus(FALLING))
