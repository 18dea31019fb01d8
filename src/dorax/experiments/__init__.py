"""The experiments. Each module defines one as `EXPERIMENT`; modules with a leading underscore contain shared code."""

from __future__ import annotations

import importlib
import pkgutil

from dorax.study.experiment import Experiment


def find() -> dict[str, Experiment]:
    """Import all experiments.

    Returns:
        The experiments by name, in the order of the paper.
    """
    names = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    experiments = {name: importlib.import_module(f"{__name__}.{name}").EXPERIMENT for name in names}
    return dict(sorted(experiments.items(), key=lambda item: item[1].order))
