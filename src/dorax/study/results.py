"""Running an experiment's cells, and what comes of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from typing import Any

import xarray as xr

from dorax.files import replacing
from dorax.study import measures
from dorax.study.experiment import AXES, FIRST_TUNING_SEED, Axis, Cell, Experiment, Progress, Setting, Size
from dorax.study.fitting import Choice, choose, settings_of
from dorax.study.identity import describe, key_of
from dorax.study.store import Store

Watch = Callable[[str], Progress]  # told what begins, it gives a place to report progress


class NotRun(Exception):
    """A result was asked for that the store does not have."""


class LeftOut(KeyError):
    """An agent was asked for that this size of the experiment does not run."""


@dataclass(frozen=True)
class CellResult:
    """The reported runs of one cell, for each axis at the setting fitted for it."""

    name: str
    by_axis: Mapping[Axis, xr.Dataset]
    choices: Mapping[Axis, Choice] = field(default_factory=dict[Axis, Choice])
    seconds: float = 0.0

    def data(self, axis: Axis = "episode") -> xr.Dataset:
        """The runs, with seed as first dimension."""
        return self.by_axis[axis]


@dataclass(frozen=True)
class Results:
    """What an experiment's claims and figures are made from."""

    cells: Mapping[str, CellResult]
    size: Size
    missing: Sequence[str] = ()  # long runs that are still to be made

    def __getitem__(self, name: str) -> CellResult:
        if name not in self.cells:
            raise LeftOut(name)
        return self.cells[name]

    def __iter__(self) -> Iterator[CellResult]:
        return iter(self.cells.values())

    @property
    def seconds(self) -> float:
        return sum(cell.seconds for cell in self)


def run(name: str, experiment: Experiment, size: Size, store: Store, watch: Watch) -> Results:
    """Run what the store does not have yet; afterwards the store has all of it."""
    return _collect(name, experiment, size, store, watch)


def load(name: str, experiment: Experiment, store: Store) -> Results:
    """The results of the size that was run last; NotRun where the store lacks any of them."""
    return _collect(name, experiment, last_size(name, store), store, watch=None)


def _collect(name: str, experiment: Experiment, size: Size, store: Store, watch: Watch | None) -> Results:
    cells = {cell.name: _cell_result(name, cell, size, store, watch) for cell in experiment.cells(size)}
    if watch is not None:
        remember_size(name, size, store)
    return Results(cells, size)


def _cell_result(name: str, cell: Cell, size: Size, store: Store, watch: Watch | None) -> CellResult:
    work = _Work(name, cell, store, watch)
    settings = settings_of(cell.grid)
    seeds = range(size.seeds)
    if len(settings) == 1:
        data = work.done("", settings, seeds)
        return CellResult(cell.name, dict.fromkeys(AXES, data.isel(setting=0)), seconds=float(data.attrs["seconds"]))
    tuning_seeds = range(FIRST_TUNING_SEED, FIRST_TUNING_SEED + size.tuning_seeds)
    tuning = work.done("tuning", settings, tuning_seeds, partial(measures.summary, measure=cell.measure))
    choices: dict[Axis, Choice] = {axis: choose(cell, tuning, axis) for axis in AXES}
    chosen = [choices[axis].setting for axis in AXES]
    distinct = [chosen[0]] if chosen[0] == chosen[1] else chosen
    data = work.done("", distinct, seeds)
    by_axis: dict[Axis, xr.Dataset] = {axis: data.isel(setting=distinct.index(choices[axis].setting)) for axis in AXES}
    return CellResult(cell.name, by_axis, choices, float(tuning.attrs["seconds"]) + float(data.attrs["seconds"]))


@dataclass(frozen=True)
class _Work:
    experiment: str
    cell: Cell
    store: Store
    watch: Watch | None

    def done(
        self,
        purpose: str,
        settings: Sequence[Setting],
        seeds: Sequence[int],
        reduce: Callable[[xr.Dataset], xr.Dataset] | None = None,
    ) -> xr.Dataset:
        """The dataset of these settings and seeds: from the store, or run now and put there."""
        what = (self.cell.run, list(settings), list(seeds), reduce, _versions())
        path = self.store.path(self.experiment, f"{self.cell.name} {purpose}", key_of(what))
        found = self.store.load(path)
        if found is not None:
            return found
        if self.watch is None:
            raise NotRun(f"{self.experiment}: {self.cell.name} has not been run")
        began = time.perf_counter()
        data = self.cell.run(settings, seeds, self.watch(f"{self.cell.name} {purpose}".strip()))
        data = data if reduce is None else reduce(data)
        data = data.assign_attrs(seconds=time.perf_counter() - began, what=repr(describe(self.cell.run)))
        self.store.save(path, data)
        return data


def _versions() -> dict[str, str]:
    import jax

    versions = {name: version(name) for name in ("jax", "jaxlib", "equinox", "numpy", "scipy")}
    return {**versions, "platform": jax.default_backend()}


def _size_path(name: str, store: Store) -> Any:
    return store.folder / "data" / name / "size.json"


def last_size(name: str, store: Store) -> Size:
    """The size that an experiment was run with last."""
    try:
        return replace(Size(), **json.loads(_size_path(name, store).read_text()))
    except (OSError, ValueError, TypeError):
        raise NotRun(f"{name} has not been run") from None


def remember_size(name: str, size: Size, store: Store) -> None:
    with replacing(_size_path(name, store)) as unfinished:
        unfinished.write_text(json.dumps(vars(size)))
