"""Experiments of long runs: one file a run, here or recorded elsewhere.

What a machine with a GPU once ran is kept in the repository under results/, with the
hardware, the versions, the commit and the command. Such a run counts as finished, and the
report shows it as recorded. Processes that are started side by side share the runs among them.
"""

# xarray: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import xarray as xr

from dorax.files import claiming
from dorax.study.experiment import AXES, Axis, Experiment, LongRun, Size
from dorax.study.results import CellResult, NotRun, Results, Watch, last_size, remember_size
from dorax.study.store import Store

RECORDED = Path(__file__).parents[3] / "results"
_PACKAGES = (
    "dorax",
    "jax",
    "jaxlib",
    "equinox",
    "optax",
    "numpy",
    "gymnasium",
    "ale-py",
    "stable-baselines3",
    "torch",
)
_UNMEASURED = "not measured"


@dataclass(frozen=True)
class Manner:
    """How to go about long runs: `fresh` takes no notice of what is recorded."""

    fresh: bool = False
    keeps_replay: bool = False


def run(name: str, experiment: Experiment, size: Size, store: Store, watch: Watch, manner: Manner) -> Results:
    """Run what is neither here nor recorded, nor being run by another process."""
    for long_run in _long_runs(experiment, size):
        path = _path(name, long_run, size, store)
        if size.is_full and not manner.fresh and _found(_recorded(name, path), long_run, store) is not None:
            continue
        with claiming(path) as is_ours:
            if not is_ours or _found(path, long_run, store) is not None:
                continue
            if experiment.check_machine is not None:
                experiment.check_machine(size)
            data = _timed(long_run, path.with_suffix(""), watch, manner)
            store.save(path, data.assign_attrs(_provenance()))
    remember_size(name, size, store)
    return load(name, experiment, store)


def _timed(long_run: LongRun, folder: Path, watch: Watch, manner: Manner) -> xr.Dataset:
    began = time.perf_counter()
    progress = watch(f"{long_run.agent}, seed {long_run.seed}")
    data = long_run.train(folder, manner.keeps_replay, progress)
    seconds = time.perf_counter() - began
    return data.assign_attrs(agent=long_run.agent, seed=long_run.seed, what=long_run.what, seconds=seconds)


def load(name: str, experiment: Experiment, store: Store) -> Results:
    """Of each run what is here, or else what is recorded; agents without any run are left out."""
    try:
        size = last_size(name, store)
    except NotRun:
        size = experiment.size
    found: dict[str, list[xr.Dataset]] = {}
    for long_run in _long_runs(experiment, size):
        path = _path(name, long_run, size, store)
        data = _found(path, long_run, store)
        if data is None and size.is_full:
            data = _found(_recorded(name, path), long_run, store)
        if data is not None:
            found.setdefault(long_run.agent, []).append(data)
    if not found:
        raise NotRun(f"{name} has not been run")
    return Results({agent: _cell(agent, runs) for agent, runs in found.items()}, size)


def _cell(agent: str, runs: Sequence[xr.Dataset]) -> CellResult:
    """Runs side by side along the dimension seed; where one is shorter than another it is NaN."""
    seeds = xr.IndexVariable("seed", [int(run.attrs["seed"]) for run in runs])
    numbered = [run.assign_coords({dim: range(size) for dim, size in run.sizes.items()}) for run in runs]
    data = xr.concat(numbered, seeds, join="outer", combine_attrs="drop")
    data = data.assign_attrs(where=_where(runs))
    by_axis: dict[Axis, xr.Dataset] = dict.fromkeys(AXES, data)
    return CellResult(agent, by_axis, seconds=sum(float(run.attrs["seconds"]) for run in runs))


def _where(runs: Sequence[xr.Dataset]) -> str:
    """On what these were run, each once."""
    words = [f"{_device(run)}; {run.attrs['versions']}; commit {run.attrs['commit']}" for run in runs]
    return " | ".join(dict.fromkeys(words))


def _device(run: xr.Dataset) -> str:
    memory = run.attrs.get("peak_memory", _UNMEASURED)
    held = "" if memory == _UNMEASURED else f", at most {memory} of its memory in use"
    return f"{run.attrs['hardware']}{held}"


def _long_runs(experiment: Experiment, size: Size) -> Sequence[LongRun]:
    assert experiment.long_runs is not None
    return experiment.long_runs(size)


def _path(name: str, long_run: LongRun, size: Size, store: Store) -> Path:
    return store.path(name, f"{long_run.agent} {'' if size.is_full else 'quick'}", f"{long_run.seed}")


def _recorded(name: str, path: Path) -> Path:
    return RECORDED / name / path.name


def _found(path: Path, long_run: LongRun, store: Store) -> xr.Dataset | None:
    """The result of this very run, if it is there."""
    data = store.load(path)
    return data if data is not None and data.attrs.get("what") == long_run.what else None


def _provenance() -> dict[str, str]:
    """On what, with what and by what a run was made."""
    import jax

    device, cores = jax.devices()[0], f"{os.cpu_count()} cores, {platform.machine()}"
    memory = (device.memory_stats() or {}).get("peak_bytes_in_use")  # of GPUs, by most allocators
    return {
        "hardware": f"{device.device_kind}, {cores}",
        "peak_memory": _UNMEASURED if memory is None else f"{memory / 1e9:.1f} GB",
        "versions": ", ".join(f"{package} {_version(package)}" for package in _PACKAGES if _is_used(package)),
        "commit": _commit(),
        "command": " ".join(["dorax", *sys.argv[1:]]),
    }


def _is_used(package: str) -> bool:
    return package.replace("-", "_") in sys.modules


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    """The commit of the code; DORAX_COMMIT names it where the code is without its history."""
    if named := os.environ.get("DORAX_COMMIT"):
        return named
    asked = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return asked.stdout.strip() or "unknown"
