"""Run an experiment and load its results."""

# xarray: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import xarray as xr

from dorax.core.checks import InvalidInput
from dorax.files import replacing
from dorax.study import measures
from dorax.study.archive import RECORDED, Archive, Piece, Watch
from dorax.study.experiment import AXES, Axis, Condition, Experiment, Setting, Size
from dorax.study.fitting import Choice, choose, is_tied, settings_of
from dorax.study.provenance import where
from dorax.study.store import Store


class NotRun(Exception):
    """The requested result has not been computed."""


class LeftOut(KeyError):
    """The requested condition is not among the results."""


@dataclass(frozen=True)
class RunOptions:
    """How to run an experiment.

    Attributes:
        fresh: remove stored results, ignore recorded ones, and run everything again.
        keep_replay: include replay buffers in checkpoints.
        anywhere: also make runs without a GPU that are meant for one.
    """

    fresh: bool = False
    keep_replay: bool = False
    anywhere: bool = False


@dataclass(frozen=True)
class ConditionResult:
    """The reported runs of one condition, for each axis at the setting fitted for it.

    Attributes:
        name: name of the condition.
        by_axis: the runs for each axis.
        choices: the fitted setting for each axis; empty if nothing was fitted.
        seconds: time that the runs took, with tuning unless that alone was taken from `results/`.
        where: machines, versions and commits of recorded runs.
        commits: commits of runs, or of tuning runs, taken from `results/`.
        remark: a warning about the code behind recorded runs, if there is one.
    """

    name: str
    by_axis: Mapping[Axis, xr.Dataset]
    choices: Mapping[Axis, Choice] = field(default_factory=dict[Axis, Choice])
    seconds: float = 0.0
    where: str = ""
    commits: Sequence[str] = ()
    remark: str = ""

    def data(self, axis: Axis = "episode") -> xr.Dataset:
        """Return the runs for an axis.

        Args:
            axis: episodes or steps.

        Returns:
            A dataset with seed as first dimension.
        """
        return self.by_axis[axis]


@dataclass(frozen=True)
class Results:
    """The results of an experiment, from which its claims and figures are made.

    Attributes:
        conditions: results by name of the condition.
        size: the size that was run.
        missing: runs of recorded conditions that have not been made, in words.
    """

    conditions: Mapping[str, ConditionResult]
    size: Size
    missing: Sequence[str] = ()

    def __getitem__(self, name: str) -> ConditionResult:
        if name not in self.conditions:
            raise LeftOut(name)
        return self.conditions[name]

    def __iter__(self) -> Iterator[ConditionResult]:
        return iter(self.conditions.values())

    @property
    def seconds(self) -> float:
        """Time that all runs took."""
        return sum(result.seconds for result in self)


def run(
    name: str, experiment: Experiment, size: Size, store: Store, watch: Watch, options: RunOptions | None = None
) -> Results:
    """Run everything that is not stored, not recorded and not being run by another process.

    Args:
        name: name of the experiment and of its folder.
        experiment: what to run.
        size: how much of it.
        store: where results are stored.
        watch: creates a progress callback for each run.
        options: whether to start afresh, and what checkpoints include.

    Returns:
        All results that exist afterwards.
    """
    options = options or RunOptions()
    archive, conditions = Archive(name, size, store), experiment.conditions(size)
    if options.fresh:
        for condition in conditions:
            archive.check_machine(condition, options.anywhere)
        archive.forget(conditions)
    is_done = False
    while not is_done:  # repeat: meanwhile other processes may have finished tuning runs that a fit depends on
        pieces = _pieces_in_order(conditions, archive)
        made = [its.make(piece, watch, options.keep_replay, options.anywhere) for its, piece in pieces]
        is_done = not any(made)
    _remember_size(name, size, store)
    try:
        return _collect(conditions, size, archive)
    except NotRun:
        raise InvalidInput(
            f"all runs of {name} are being made by other processes; try again when one is done"
        ) from None


def load(name: str, experiment: Experiment, store: Store) -> Results:
    """Load the results of the size that was run last, or recorded results of the full size.

    Args:
        name: name of the experiment.
        experiment: the experiment.
        store: where results are stored.

    Returns:
        The results.

    Raises:
        NotRun: if there are none, or if one that is not recorded is missing.
    """
    try:
        size = last_size(name, store)
    except NotRun:
        size = experiment.size
    return _collect(experiment.conditions(size), size, Archive(name, size, store))


def last_size(name: str, store: Store) -> Size:
    """Return the size that an experiment was last run with.

    Args:
        name: name of the experiment.
        store: where results are stored.

    Returns:
        The size.

    Raises:
        NotRun: if it has not been run.
    """
    try:
        return replace(Size(), **json.loads(_size_path(name, store).read_text()))
    except (OSError, ValueError, TypeError):
        raise NotRun(f"{name} has not been run") from None


def _remember_size(name: str, size: Size, store: Store) -> None:
    with replacing(_size_path(name, store)) as unfinished:
        unfinished.write_text(json.dumps(vars(size)))


def _size_path(name: str, store: Store) -> Path:
    return store.folder / "data" / name / "size.json"


def _pieces_in_order(conditions: Sequence[Condition], archive: Archive) -> Iterator[tuple[Archive, Piece]]:
    """Yield all pieces by priority: first the tuning runs, then the reported runs of conditions that can be fitted."""
    for priority in sorted({_priority(condition) for condition in conditions}):
        group = [condition for condition in conditions if _priority(condition) == priority]
        for condition in group:
            fitted, ties = _fitted(condition, archive)
            for its, tuned in fitted:
                yield from ((its, piece) for piece in its.tuning(tuned))
            if ties and _is_tied(fitted):  # these runs were made by now
                for its, tuned in ties:
                    yield from ((its, piece) for piece in its.tuning(tuned))
        reported: list[Piece] = []
        for condition in group:
            settings = _reported_settings(condition, _choices(condition, archive))
            reported += archive.reported(condition, settings)
        yield from ((archive, piece) for piece in sorted(reported, key=lambda piece: piece.seeds[0]))


def _priority(condition: Condition) -> int:
    return 0 if condition.recorded is None else condition.recorded.priority


_Tuned = list[tuple[Archive, Condition]]


def _fitted(condition: Condition, archive: Archive) -> tuple[_Tuned, _Tuned]:
    """Return the conditions whose tuning runs choose the setting, with their archives, and those that break ties."""
    fitted = [(archive.of(each.experiment), each.condition) for each in condition.fitted] or [(archive, condition)]
    ties = [(archive.of(tie.experiment), tie.condition) for _, each in fitted for tie in each.ties]
    return fitted, ties


def _choices(condition: Condition, archive: Archive) -> dict[Axis, Choice] | None:
    """Return the setting chosen for each axis; empty if there is nothing to fit, None if tuning runs are missing."""
    fitted, ties = _fitted(condition, archive)
    if not all(its.tuning(each) for its, each in fitted):
        return {}
    tuned, breaking = _summaries(fitted), []
    if tuned is not None and ties and any(is_tied(tuned, axis) for axis in AXES):
        breaking = _summaries(ties)
    if tuned is None or breaking is None:
        return None
    return {axis: choose(tuned, axis, ties=breaking) for axis in AXES}


def _is_tied(fitted: _Tuned) -> bool:
    """Return whether tuning runs that were made do not tell the best settings apart."""
    tuned = _summaries(fitted)
    return tuned is not None and any(is_tied(tuned, axis) for axis in AXES)


def _summaries(tuned: _Tuned) -> list[tuple[Condition, xr.Dataset]] | None:
    """Load the summaries of tuning runs; None if some are missing."""
    summaries: list[tuple[Condition, xr.Dataset]] = []
    for its, each in tuned:
        pieces = its.tuning(each)
        found = [data for piece in pieces if (data := its.find(piece)) is not None]
        if len(found) < len(pieces):
            return None
        summaries.append((each, _summary(each, pieces, found) if pieces[0].is_single else found[0]))
    return summaries


def _summary(condition: Condition, pieces: Sequence[Piece], found: Sequence[xr.Dataset]) -> xr.Dataset:
    """Summarise tuning runs that are stored one by one."""
    summaries: list[xr.Dataset] = []
    for number, setting in enumerate(settings_of(condition.grid)):
        chosen = [i for i, piece in enumerate(pieces) if piece.settings[0] == setting]
        runs = _side_by_side([found[i].assign_coords(seed=pieces[i].seeds[0]) for i in chosen])
        summaries.append(measures.summary(runs.expand_dims(setting=[number]), condition.measure))
    return xr.concat(summaries, "setting")


def _reported_settings(condition: Condition, choices: Mapping[Axis, Choice] | None) -> list[Setting]:
    """Return the distinct settings to report, in the order of the axes; none if they cannot be chosen yet."""
    if choices is None:
        return []
    settings: list[Setting] = []
    for choice in choices.values():
        if choice.setting not in settings:
            settings.append(choice.setting)
    return settings or list(settings_of(condition.grid))


def _collect(conditions: Sequence[Condition], size: Size, archive: Archive) -> Results:
    results: dict[str, ConditionResult] = {}
    missing: list[str] = []
    for condition in conditions:
        choices = _choices(condition, archive)
        pieces = archive.reported(condition, _reported_settings(condition, choices))
        found = [data for piece in pieces if (data := archive.find(piece)) is not None]
        if not condition.is_recorded:
            if not found:
                raise NotRun(f"{archive.experiment}: {condition.name} has not been run")
            results[condition.name] = _made_here(condition, choices or {}, pieces[0], archive)
            continue
        if choices is None:
            missing.append(f"{condition.name} (tuning)")
            continue
        absent = [piece for piece in pieces if archive.find(piece) is None]
        if absent:
            seeds = dict.fromkeys(str(piece.seeds[0]) for piece in absent)
            missing.append(f"{condition.name} ({'seed ' + ', '.join(seeds) if absent[0].is_single else 'all seeds'})")
        result = _recorded(condition, choices, pieces, archive)
        if result is not None:
            results[condition.name] = result
    if not results:
        raise NotRun(f"{archive.experiment} has not been run")
    return Results(results, size, missing)


def _made_here(condition: Condition, choices: Mapping[Axis, Choice], piece: Piece, archive: Archive) -> ConditionResult:
    by_axis: dict[Axis, xr.Dataset] = {axis: _runs_of_axis(choices, axis, [piece], archive)[0] for axis in AXES}
    tuning = [
        its.find(each)
        for conditions in _fitted(condition, archive)
        for its, tuned in conditions
        for each in its.tuning(tuned)
    ]
    recorded = [data for data in tuning if data is not None and RECORDED in data.attrs]
    return ConditionResult(
        condition.name,
        by_axis,
        choices,
        _seconds([piece] if recorded else [*archive.tuning(condition), piece], archive),
        f"tuning: {where([data.attrs for data in recorded])}" if recorded else "",
        _commits(recorded),
    )


def _recorded(
    condition: Condition, choices: Mapping[Axis, Choice], pieces: Sequence[Piece], archive: Archive
) -> ConditionResult | None:
    """Return the runs that exist; None if an axis has none."""
    runs: dict[Axis, list[xr.Dataset]] = {axis: _runs_of_axis(choices, axis, pieces, archive) for axis in AXES}
    if not all(runs.values()):
        return None
    used = [data for found in runs.values() for data in found]
    by_axis: dict[Axis, xr.Dataset] = {
        axis: _side_by_side(found) if pieces[0].is_single else found[0] for axis, found in runs.items()
    }
    return ConditionResult(
        condition.name,
        by_axis,
        choices,
        _seconds([*archive.tuning(condition), *pieces], archive),
        where([data.attrs for data in used]),
        _commits([data for data in used if RECORDED in data.attrs]),
    )


def _runs_of_axis(
    choices: Mapping[Axis, Choice], axis: Axis, pieces: Sequence[Piece], archive: Archive
) -> list[xr.Dataset]:
    """Return the runs that exist at the setting chosen for an axis: one by one, or all seeds in one dataset."""
    found: list[xr.Dataset] = []
    for piece in pieces:
        data = archive.find(piece)
        if data is None or (choices and choices[axis].setting not in piece.settings):
            continue
        index = list(piece.settings).index(choices[axis].setting) if choices else 0
        found.append(data.assign_coords(seed=piece.seeds[0]) if piece.is_single else data.isel(setting=index))
    return found


def _commits(recorded: Sequence[xr.Dataset]) -> list[str]:
    return list(dict.fromkeys(str(data.attrs["commit"])[:12] for data in recorded))


def _side_by_side(runs: Sequence[xr.Dataset]) -> xr.Dataset:
    """Combine runs along the dimension seed, padding shorter ones with NaN."""
    numbered = [run.assign_coords({dim: range(size) for dim, size in run.sizes.items()}) for run in runs]
    return xr.concat(numbered, "seed", join="outer", combine_attrs="drop")


def _seconds(pieces: Sequence[Piece], archive: Archive) -> float:
    return sum(float(data.attrs["seconds"]) for piece in pieces if (data := archive.find(piece)) is not None)
