"""A missing package is named with the extra that brings it; a mistake of our own is not taken for one."""

import importlib
import sys

import pytest

from dorax import InvalidInput
from dorax.__main__ import main
from dorax.core.extras import needing


@pytest.mark.parametrize("module", ["ale_py", "ale_py.vector_env"])
def test_a_missing_package_is_named_as_pip_knows_it(monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InvalidInput) as caught, needing("atari"):
        importlib.import_module(module)
    assert str(caught.value) == "ale-py is not installed; install it with pip install 'dorax[atari]'"


def test_a_module_of_dorax_that_does_not_exist_is_an_ordinary_error():
    with pytest.raises(ModuleNotFoundError), needing("paper"):
        importlib.import_module("dorax.no_such_module")


def test_the_command_without_its_extra_is_one_line(monkeypatch, capsys):
    import dorax

    monkeypatch.delitem(sys.modules, "dorax.cli", raising=False)
    monkeypatch.delattr(dorax, "cli", raising=False)
    monkeypatch.setitem(sys.modules, "tyro", None)
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err == "dorax: tyro is not installed; install it with pip install 'dorax[paper]'\n"
