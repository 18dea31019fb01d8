"""The experiments: every module here that defines `EXPERIMENT`, under the module's name."""

from __future__ import annotations

import importlib
import pkgutil

from dorax.study.experiment import Experiment


def find() -> dict[str, Experiment]:
    """All experiments by name, in the order of the paper."""
    modules = (importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__))
    found = {module.__name__.rsplit(".", 1)[1]: getattr(module, "EXPERIMENT", None) for module in modules}
    experiments = {name: experiment for name, experiment in found.items() if experiment is not None}
    return dict(sorted(experiments.items(), key=lambda item: item[1].order))
