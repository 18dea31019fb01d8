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
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import xarray as xr

from dorax.core.checks import InvalidInput
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
    """How to go about long runs: `fresh` forgets those of the store, and takes no notice of what is recorded."""

    fresh: bool = False
    keeps_replay: bool = False


def run(name: str, experiment: Experiment, size: Size, store: Store, watch: Watch, manner: Manner) -> Results:
    """Run what is neither here nor recorded, nor being run by another process.

    A fresh start is remembered: without another one, what it did not finish is run on.
    """
    if manner.fresh:
        experiment.check_machine(size)
        _forget(name, experiment, size, store)
    for long_run in _long_runs(experiment, size):
        path = _path(name, long_run, size, store)
        if _recorded(name, long_run, size, store) is not None:
            continue
        with claiming(path) as is_ours:
            if not is_ours or _found(path, long_run, store) is not None:
                continue
            experiment.check_machine(size)
            data = _timed(long_run, path.with_suffix(""), watch, manner)
            store.save(path, data.assign_attrs(_provenance()))
    remember_size(name, size, store)
    try:
        return load(name, experiment, store)
    except NotRun:
        raise InvalidInput(f"all runs of {name} are being made by other processes; allowed: when one is done") from None


def _forget(name: str, experiment: Experiment, size: Size, store: Store) -> None:
    """Remove the results and checkpoints of these runs, but for those that another process is at."""
    for long_run in _long_runs(experiment, size):
        path = _path(name, long_run, size, store)
        with claiming(path) as is_ours:
            if is_ours:
                path.unlink(missing_ok=True)
                shutil.rmtree(path.with_suffix(""), ignore_errors=True)
    if size.is_full:
        _mark(name, store).parent.mkdir(parents=True, exist_ok=True)
        _mark(name, store).touch()


def _timed(long_run: LongRun, folder: Path, watch: Watch, manner: Manner) -> xr.Dataset:
    began = time.perf_counter()
    progress = watch(f"{long_run.agent}, seed {long_run.seed}")
    data = long_run.train(folder, manner.keeps_replay, progress)
    seconds = time.perf_counter() - began
    return data.assign_attrs(agent=long_run.agent, seed=long_run.seed, what=long_run.what, seconds=seconds)


def load(name: str, experiment: Experiment, store: Store) -> Results:
    """Of each run what is here, or else what is recorded; agents without any run are missing."""
    try:
        size = last_size(name, store)
    except NotRun:
        size = experiment.size
    found: dict[str, list[xr.Dataset]] = {}
    missing: dict[str, list[str]] = {}
    for long_run in _long_runs(experiment, size):
        path = _path(name, long_run, size, store)
        data = _found(path, long_run, store)
        if data is None:
            data = _recorded(name, long_run, size, store)
        if data is None:
            missing.setdefault(long_run.agent, []).append(str(long_run.seed))
        else:
            found.setdefault(long_run.agent, []).append(data)
    if not found:
        raise NotRun(f"{name} has not been run")
    cells = {agent: _cell(agent, runs) for agent, runs in found.items()}
    return Results(cells, size, [f"{agent} (seed {', '.join(seeds)})" for agent, seeds in missing.items()])


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


def _recorded(name: str, long_run: LongRun, size: Size, store: Store) -> xr.Dataset | None:
    """What is recorded of a run, if it is of the full size and this store takes notice of it."""
    if not size.is_full or _mark(name, store).exists():
        return None
    return _found(RECORDED / name / _path(name, long_run, size, store).name, long_run, store)


def _mark(name: str, store: Store) -> Path:
    """Is there once all runs are to be made afresh, here."""
    return store.folder / "data" / name / "fresh"


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
