"""Settings: names of an agent's numbers, and grids of them."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dorax
from dorax.engine.settings import stacked, with_setting

AGENT = dorax.TabularAgent(
    rule=dorax.LLL(dorax.Softmax(temperature=1.0)),
    counter=dorax.EValues(discount=0.9, learning_rate=0.5),
    bonus=dorax.InverseCount(scale=2.0),
)


def test_a_grid_is_every_combination_the_last_name_varying_fastest():
    assert dorax.grid(temperature=(1, 3), learning_rate=(0.1, 0.5)) == [
        {"temperature": 1, "learning_rate": 0.1},
        {"temperature": 1, "learning_rate": 0.5},
        {"temperature": 3, "learning_rate": 0.1},
        {"temperature": 3, "learning_rate": 0.5},
    ]
    assert dorax.grid() == [{}]
    assert dorax.grid(temperature=()) == []


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("temperature", lambda agent: agent.rule.policy.temperature),
        ("policy.temperature", lambda agent: agent.rule.policy.temperature),
        ("rule.policy.temperature", lambda agent: agent.rule.policy.temperature),
        ("scale", lambda agent: agent.bonus.scale),
        ("initial_value", lambda agent: agent.update.initial_value),
        ("discount", lambda agent: agent.discount),
        ("counter.discount", lambda agent: agent.counter.discount),
        ("learning_rate", lambda agent: agent.learning_rate),
        ("counter.learning_rate", lambda agent: agent.counter.learning_rate),
    ],
)
def test_a_number_is_named_by_its_field_or_by_the_end_of_its_path(name, number):
    changed = with_setting(AGENT, {name: 0.25})
    before, after = jax.tree.leaves(AGENT), jax.tree.leaves(changed)
    assert number(changed) == 0.25
    assert len(set(after) - set(before)) == 1


def test_a_setting_without_numbers_leaves_the_agent_as_it_is():
    assert with_setting(AGENT, {}) == AGENT


def test_settings_are_stacked_on_a_leading_axis():
    agents = stacked(AGENT, dorax.grid(temperature=(1, 3, 10)))
    np.testing.assert_allclose(agents.rule.policy.temperature, [1, 3, 10])
    np.testing.assert_allclose(agents.bonus.scale, [2, 2, 2])


@pytest.mark.parametrize("name", ["heat", "rule", "policy", "update", "successor_rule", "", "rule.temperature"])
def test_an_unknown_name_is_answered_by_the_names_there_are(name, refused):
    with refused(repr(name), "rule.policy.temperature", "counter.discount", "bonus.scale"):
        with_setting(AGENT, {name: 1.0})


def test_no_bonus_is_not_a_number(refused):
    with refused("'bonus'"):
        with_setting(dorax.TabularAgent(AGENT.rule), {"bonus": 1.0})


def test_a_user_s_function_is_not_a_number(refused):
    with refused("'policy'"):
        with_setting(dorax.TabularAgent(dorax.Sample(lambda values: values)), {"policy": 1.0})


def test_a_name_that_fits_several_numbers_is_refused(refused):
    agent = dorax.TabularAgent(rule=dorax.UCB(scale=1.0), bonus=dorax.InverseCount(scale=1.0))
    with refused("'scale'", "several", "rule.scale", "bonus.scale"):
        with_setting(agent, {"scale": 2.0})
    assert with_setting(agent, {"rule.scale": 2.0}).rule.scale == 2.0


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("temperature", -1.0),
        ("temperature", math.nan),
        ("temperature", "hot"),
        ("learning_rate", 0.0),
        ("discount", 1.0),
        ("counter.discount", 1.5),
        ("scale", math.inf),
    ],
)
def test_a_bad_value_in_a_sweep_is_named_before_anything_runs(name, bad, refused):
    with refused(str(bad)):
        dorax.train(AGENT, dorax.mdps.bridge(3), episodes=1, settings=[{name: 0.5}, {name: bad}])


def test_settings_may_not_differ_in_discount_because_the_right_answer_would(refused):
    with refused("discount", "0.5", "0.9"):
        dorax.train(AGENT, dorax.mdps.bridge(3), episodes=1, settings=dorax.grid(discount=(0.5, 0.9)))


def test_a_field_without_a_number_cannot_be_swept_until_it_has_one(refused):
    agent = dorax.TabularAgent(AGENT.rule, dorax.EValues(0.9))
    with refused("counter.learning_rate"):
        with_setting(agent, {"counter.learning_rate": 0.1})


class Shifted(eqx.Module):
    """A user's own rule, with a number of its own that is annotated as users do."""

    beta: float
    name: str = "shifted"
    is_sharp: bool = True

    def __call__(self, values, counts, steps, uniform):
        return jnp.argmax(values - self.beta * counts, axis=-1)


def test_a_number_of_a_user_s_own_can_be_swept():
    agent = dorax.TabularAgent(Shifted(0.5), dorax.Visits())
    assert with_setting(agent, {"beta": 2}).rule.beta == 2
    data = dorax.train(agent, dorax.mdps.bridge(3), 5, settings=dorax.grid(beta=(0.0, 1.0))).data
    assert data.sizes["setting"] == 2


@pytest.mark.parametrize("name", ["is_sharp", "name"])
def test_words_and_flags_are_no_numbers(name, refused):
    with refused(name, "rule.beta"):
        with_setting(dorax.TabularAgent(Shifted(0.5)), {name: 1.0})
