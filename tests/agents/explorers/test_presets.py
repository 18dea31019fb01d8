"""Explorers by name."""

import re
from pathlib import Path

import numpy as np
import pytest

import dorax
from dorax import LLL, InvalidInput, Softmax, Spread
from dorax.agents.explorers import PRESETS, preset


@pytest.mark.parametrize("name", PRESETS)
def test_every_explorer_is_an_agent_whose_numbers_can_be_given(name):
    dorax.ParallelAgent(**preset(name), games=8)
    for number in PRESETS[name].numbers:
        given = 8 if number == "heads" else dorax.Table() if number == "features" else 0.125
        agent = dorax.ParallelAgent(**preset(name, **{number: given}), games=8)
        assert repr(given) in repr(agent), number


@pytest.mark.parametrize("name", PRESETS)
def test_the_page_names_every_explorer_with_its_numbers(name):
    page = (Path(__file__).parents[3] / "docs" / "parallel.md").read_text()
    (row,) = re.findall(rf"^\| `{name}` \|.*\| (.*) \|$", page, re.MULTILINE)
    assert row == ", ".join(f"`{number}`" for number in PRESETS[name].numbers)


def test_visits_are_e_values_that_do_not_look_ahead():
    """The same rule, and a counter that adds 1 for each visit whatever follows."""
    here, there = preset("visits"), preset("e-values", e_discount=0.0)
    assert here["rule"] == there["rule"]
    for successor in (0.0, 3.0, np.inf):
        after = [float(each["counter"].after(np.float32(2.0), np.float32(successor), 1)) for each in (here, there)]
        assert after == [3.0, 3.0]


def test_a_number_may_differ_between_games():
    agent = dorax.ParallelAgent(**preset("e-values", temperature=Spread(0.01, 0.1)))
    assert agent.rule == LLL(Softmax(Spread(0.01, 0.1)))


@pytest.mark.parametrize(("name", "numbers", "words"), [
    ("evalues", {}, "explorer is 'evalues'; did you mean e-values? allowed: e-values, visits,"),
    ("qqq", {}, "explorer is 'qqq'; allowed: e-values,"),
    ("rnd", {"scales": 1.0}, "scales is given with the explorer rnd; allowed: scale, epsilon,"),
    ("visits", {"e_discount": 0.9}, "e_discount is given with the explorer visits; allowed: temperature, features"),
])  # fmt: skip
def test_unknown_words_are_refused_beside_the_known_ones(name, numbers, words):
    with pytest.raises(InvalidInput) as error:
        preset(name, **numbers)
    assert words in str(error.value)
