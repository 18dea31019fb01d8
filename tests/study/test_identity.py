import functools
import importlib
import sys
from dataclasses import dataclass
from unittest import mock

import numpy as np
import pytest

import dorax
from dorax.engine.training import Training
from dorax.study.identity import describe, key_of, with_imports


@dataclass(frozen=True)
class Thing:
    a: float
    b: object = None


def first(x):
    return x


def second(x):
    return x + 1


def agent(temperature=1.0, e_discount=0.9):
    return dorax.TabularAgent(
        rule=dorax.LLL(dorax.Softmax(temperature)), counter=dorax.EValues(e_discount), learning_rate=0.5
    )


def test_equal_things_have_equal_keys():
    assert key_of(Thing(1.0, np.arange(3))) == key_of(Thing(1.0, np.arange(3)))
    assert key_of(Training(agent(), dorax.mdps.bridge(5), 10)) == key_of(Training(agent(), dorax.mdps.bridge(5), 10))


@pytest.mark.parametrize(
    "other",
    [
        Training(agent(temperature=2.0), dorax.mdps.bridge(5), 10),
        Training(agent(e_discount=0.8), dorax.mdps.bridge(5), 10),
        Training(agent(), dorax.mdps.bridge(6), 10),
        Training(agent(), dorax.mdps.bridge(5, normalised=True), 10),
        Training(agent(), dorax.mdps.bridge(5), 11),
        Training(agent(), dorax.mdps.bridge(5), 10, steps=5),
    ],
    ids=["temperature", "e_discount", "length", "rewards", "episodes", "max_steps"],
)
def test_whatever_determines_the_result_changes_the_key(other):
    assert key_of(other) != key_of(Training(agent(), dorax.mdps.bridge(5), 10))


def test_functions_and_their_bound_arguments_count():
    keys = {key_of(each) for each in (first, second, functools.partial(first, 1), functools.partial(first, 2))}
    assert len(keys) == 4


def test_the_code_behind_a_condition_counts_and_its_comments_do_not(monkeypatch, tmp_path):
    sources = {
        "plain": "def f(x):\n    return x + 1\n",
        "commented": 'def f(x):  # one more\n    """Says more."""\n    return x + 1\n',
        "changed": "def f(x):\n    return x + 2\n",
    }
    keys: dict[str, str] = {}
    for name, source in sources.items():
        # The same two modules of the package each time: the condition's own, and one that it imports.
        folder = tmp_path / name
        folder.mkdir()
        (folder / "imagined_part.py").write_text(source)
        (folder / "imagined.py").write_text("from dorax.imagined_part import f\n\n\ndef g(x):\n    return f(x)\n")
        monkeypatch.setattr(dorax, "__path__", [str(folder)])
        with mock.patch.dict(sys.modules):
            keys[name] = key_of(importlib.import_module("dorax.imagined").g)
    assert keys["commented"] == keys["plain"]
    assert keys["changed"] != keys["plain"]


def test_a_training_rests_on_the_core_and_not_on_how_results_are_drawn():
    modules: set[str] = set()
    describe(Training(agent(), dorax.mdps.bridge(5), 10), modules)
    behind = with_imports(modules)
    assert {"dorax.core.counts", "dorax.engine.driver", "dorax.mdps.solve"} <= behind
    assert not any(name.startswith(("dorax.study", "dorax.experiments")) for name in behind)


def test_a_thing_without_a_lasting_description_is_refused():
    with pytest.raises(TypeError, match="cannot be part of a condition"):
        key_of(object())
