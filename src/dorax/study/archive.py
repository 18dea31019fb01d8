"""The results of an experiment's conditions: how they are found, run and stored.

Results are stored under a key of the code, settings and seeds that produced them, with all settings and seeds of
a condition in one file. Recorded conditions are in the store or committed in `results/<experiment>/`, with one file
per setting and seed, or one for tuning and one for the reported runs; several processes can work on them at the same
time.
"""

# xarray: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import contextlib
import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import xarray as xr

from dorax.core.checks import InvalidInput
from dorax.files import claiming
from dorax.study import measures, repository
from dorax.study.experiment import FIRST_TUNING_SEED, Condition, Job, Progress, Recorded, Setting, Size
from dorax.study.fitting import settings_of
from dorax.study.identity import describe, key_of
from dorax.study.provenance import provenance
from dorax.study.store import Store

Watch = Callable[[str], Progress]  # from the name of a run, creates its progress callback
RECORDED = "is_recorded"  # set on runs that were found in `results/`


@dataclass(frozen=True)
class Piece:
    """Settings and seeds of one condition that are run together and stored in one file.

    Attributes:
        condition: the condition.
        settings: the settings to run.
        seeds: the seeds to run for each setting.
        path: the file.
        is_tuning: whether these are tuning runs.
    """

    condition: Condition
    settings: Sequence[Setting]
    seeds: Sequence[int]
    path: Path
    is_tuning: bool = False

    @property
    def is_recorded(self) -> bool:
        """Whether it may be taken from `results/`."""
        return self.condition.records(self.is_tuning)

    @property
    def is_single(self) -> bool:
        """Whether it is one run, stored by itself."""
        return isinstance(self.condition.recorded, Recorded)

    @property
    def label(self) -> str:
        """Name to show while the piece runs."""
        if not self.is_single:
            return f"{self.condition.name} tuning" if self.is_tuning else self.condition.name
        return ", ".join(filter(None, (self.condition.name, in_words(self.settings[0]), f"seed {self.seeds[0]}")))

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything that the result of a recorded piece depends on, except the code."""
        if isinstance(self.condition.recorded, Recorded):
            return self.condition.recorded.identity(self.settings[0], self.seeds[0])
        run = describe((self.condition.run, self.condition.measure))
        return {"run": run, "settings": list(self.settings), "seeds": list(self.seeds)}


class Archive:
    """The results of one experiment at one size.

    Args:
        experiment: name of the experiment.
        size: how much of it is run.
        store: where results are stored.
    """

    def __init__(self, experiment: str, size: Size, store: Store) -> None:
        self.experiment = experiment
        self._size, self._store = size, store
        self._loaded: dict[Path, xr.Dataset] = {}

    def tuning(self, condition: Condition) -> list[Piece]:
        """List the tuning runs of a condition.

        Args:
            condition: the condition.

        Returns:
            The pieces; none if the condition has nothing to fit.
        """
        settings = settings_of(condition.grid)
        if len(settings) == 1:
            return []
        seeds = range(FIRST_TUNING_SEED, FIRST_TUNING_SEED + self._size.tuning_seeds)
        return self._pieces(condition, settings, seeds, is_tuning=True)

    def of(self, experiment: str) -> Archive:
        """Return the archive of another experiment in the same store.

        Args:
            experiment: its name.
        """
        return self if experiment == self.experiment else Archive(experiment, self._size, self._store)

    def reported(self, condition: Condition, settings: Sequence[Setting]) -> list[Piece]:
        """List the reported runs of a condition.

        Args:
            condition: the condition.
            settings: the settings that were chosen for it.

        Returns:
            The pieces.
        """
        return self._pieces(condition, settings, condition.seeds(self._size), is_tuning=False)

    def find(self, piece: Piece) -> xr.Dataset | None:
        """Load a piece from the store or, if it is recorded, from `results/`.

        Args:
            piece: what to load.

        Returns:
            The dataset, or None if there is none.
        """
        if piece.path not in self._loaded:
            found = self._stored(piece.path, piece)
            if found is None and piece.is_recorded and self._may_use_recorded:
                found = self._stored(repository.results() / self.experiment / piece.path.name, piece)
                found = None if found is None else found.assign_attrs({RECORDED: 1})
            if found is None:
                return None
            self._loaded[piece.path] = found
        return self._loaded[piece.path]

    def make(self, piece: Piece, watch: Watch, keep_replay: bool = False, anywhere: bool = False) -> bool:
        """Run a piece unless its result exists.

        Args:
            piece: what to run.
            watch: creates the progress callback.
            keep_replay: include replay buffers in checkpoints.
            anywhere: run without a GPU what is meant for one.

        Returns:
            Whether it was run: False if its result exists or another process is running it.
        """
        if self.find(piece) is not None:
            return False
        if not piece.is_recorded:
            self._run(piece, watch, keep_replay)
            return True
        with claiming(piece.path) as is_ours:
            if not is_ours or self.find(piece) is not None:
                return False
            self.check_machine(piece.condition, anywhere)
            self._run(piece, watch, keep_replay)
            return True

    def check_machine(self, condition: Condition, anywhere: bool) -> None:
        """Raise `InvalidInput` on a machine that cannot run a condition.

        Args:
            condition: the condition.
            anywhere: whether to run without a GPU what is meant for one.
        """
        if condition.recorded is None:
            return
        condition.recorded.check_machine()
        if condition.recorded.needs_gpu and not anywhere and versions()["platform"] == "cpu":
            raise InvalidInput(
                f"{self.experiment} needs a GPU, and JAX finds none; allowed: --quick, a short run on any machine, or "
                "--anywhere, which may take days"
            )

    def forget(self, conditions: Sequence[Condition]) -> None:
        """Remove stored results and checkpoints, except of runs that another process is making.

        From now on, recorded runs of these conditions are ignored.

        Args:
            conditions: the conditions.
        """
        self._store.clear(self.experiment)
        pieces = [
            piece
            for condition in conditions
            for piece in [*self.tuning(condition), *self.reported(condition, settings_of(condition.grid))]
            if piece.is_recorded
        ]
        for piece in pieces:
            with claiming(piece.path) as is_ours:
                if is_ours:
                    piece.path.unlink(missing_ok=True)
                    shutil.rmtree(piece.path.with_suffix(""), ignore_errors=True)
        if pieces and self._size.is_full:
            self._fresh_marker.parent.mkdir(parents=True, exist_ok=True)
            self._fresh_marker.touch()

    def _pieces(
        self, condition: Condition, settings: Sequence[Setting], seeds: Sequence[int], is_tuning: bool
    ) -> list[Piece]:
        if not settings:
            return []
        size = "" if self._size.is_full else "quick"
        if isinstance(condition.recorded, Recorded):
            return [
                Piece(
                    condition,
                    [setting],
                    [seed],
                    self._store.path(self.experiment, f"{condition.name} {in_words(setting)} {size}", str(seed)),
                    is_tuning,
                )
                for setting in settings
                for seed in seeds
            ]
        if condition.records(is_tuning):
            path = self._store.path(self.experiment, f"{condition.name} {size}", "tuning" if is_tuning else "reported")
        else:
            reduce = partial(measures.summary, measure=condition.measure) if is_tuning else None
            key = key_of((condition.run, list(settings), list(seeds), reduce, versions()))
            path = self._store.path(self.experiment, f"{condition.name} {'tuning' if is_tuning else ''}", key)
        return [Piece(condition, settings, seeds, path, is_tuning)]

    def _run(self, piece: Piece, watch: Watch, keep_replay: bool) -> None:
        condition, began = piece.condition, time.perf_counter()
        job = Job(watch(piece.label), piece.path.with_suffix(""), keep_replay)
        data = condition.run(piece.settings, piece.seeds, job)
        if piece.is_single:
            data = data.isel(setting=0, seed=0, drop=True).assign_attrs(seed=piece.seeds[0])
        elif piece.is_tuning:
            data = measures.summary(data, condition.measure)
        if piece.is_recorded:
            what = json.dumps(piece.identity)
            data = data.assign_attrs(condition=condition.name, what=what, **provenance())
        else:
            data = data.assign_attrs(what=repr(describe(condition.run)))
        data = data.assign_attrs(seconds=time.perf_counter() - began)
        self._store.save(piece.path, data)
        self._loaded[piece.path] = data
        shutil.rmtree(job.scratch, ignore_errors=True)
        with contextlib.suppress(OSError):  # runs on the host keep their last checkpoint
            job.folder.rmdir()

    def _stored(self, path: Path, piece: Piece) -> xr.Dataset | None:
        """Load a file if it exists and holds this piece."""
        data = self._store.load(path)
        if data is None or not piece.is_recorded:
            return data
        recorded = json.loads(data.attrs.get("what", "null"))
        return data if _given(recorded) == _given(json.loads(json.dumps(piece.identity))) else None

    @property
    def _may_use_recorded(self) -> bool:
        return self._size.is_full and not self._fresh_marker.exists()

    @property
    def _fresh_marker(self) -> Path:
        """Marker file: if it exists, recorded runs are ignored."""
        return self._store.folder / "data" / self.experiment / "fresh"


def _given(data: Any) -> Any:
    """Leave out fields that are None, in a dictionary or as pairs: one that was added later is None in older runs."""
    if isinstance(data, dict):
        fields = cast("dict[str, Any]", data)
        return {name: _given(value) for name, value in fields.items() if value is not None}
    if not isinstance(data, list):
        return data
    items = cast("list[Any]", data)
    return [_given(item) for item in items if not (isinstance(item, list) and len(item) == 2 and item[1] is None)]  # pyright: ignore[reportUnknownArgumentType]


def in_words(setting: Setting) -> str:
    """Format a setting as text, such as `scale 0.1`.

    Args:
        setting: values by name.

    Returns:
        The text.
    """
    return ", ".join(f"{name} {value:g}" for name, value in setting.items())


def versions() -> dict[str, str]:
    """Return the versions of the libraries that results depend on, and JAX's platform."""
    import jax

    found = {name: version(name) for name in ("jax", "jaxlib", "equinox", "numpy", "scipy")}
    return {**found, "platform": jax.default_backend()}
