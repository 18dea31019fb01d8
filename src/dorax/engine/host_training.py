"""Training on the host: runs in games outside JAX, returned as a labelled dataset and trained learners."""

# xarray: typed in part only.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dorax.core.checks import InvalidInput
from dorax.engine.curves import Curves
from dorax.engine.events import Events
from dorax.engine.host import HostOptions, HostRun, HostTraining
from dorax.engine.result import Result, Trained, with_words
from dorax.engine.running import Progress
from dorax.engine.settings import Setting, labels, with_setting
from dorax.envs.host import HostEnv
from dorax.files import claiming

if TYPE_CHECKING:
    import xarray as xr

Watch = Callable[[Curves], None]  # called with all curves so far after every record
_UNLIMITED = 2**31 - 1


def train_on_host(
    agent: Any,
    env: HostEnv,
    start: Any,
    *,
    episodes: int | None,
    steps: int | None,
    seeds: Sequence[int],
    settings: Sequence[Setting],
    is_sweep: bool,
    kept: Sequence[int],
    options: HostOptions,
    progress: Progress | None,
) -> Result:
    """Implement `dorax.train` for environments on the host: one run after the other, for every seed and setting.

    Args:
        agent: the agent.
        env: the environment.
        start: learner to start from, or None.
        episodes: maximum number of episodes of each run.
        steps: maximum number of steps of each run.
        seeds: the seeds.
        settings: the settings.
        is_sweep: whether the dataset has the dimension setting.
        kept: seeds whose learners are kept.
        options: how runs are recorded, tested and saved.
        progress: called with the fraction done and the number of steps so far.

    Returns:
        The result.
    """
    if options.folder is not None and len(seeds) * len(settings) > 1:
        raise InvalidInput(f"folder is {options.folder} with several seeds or settings; a folder supports one run")
    if start is not None and start.spec.size != env.spec.size:
        name = start.spec.name
        raise InvalidInput(f"the learner was trained on {name}; allowed: environments of the same kind and size")
    number, done, made = len(seeds) * len(settings), 0, 0
    curves: list[list[xr.Dataset]] = []
    trained: dict[tuple[int, int], Trained] = {}
    for i, setting in enumerate(settings):
        own = with_setting(agent, setting)
        of_setting: list[xr.Dataset] = []
        for seed in seeds:
            training = HostTraining(own, env, steps or _UNLIMITED, seed, episodes, options)
            part = None if progress is None else _part_of(progress, done, number, made)
            run = run_on_host(training, start, progress=part)
            if seed in kept:
                trained[seed, i] = Trained(own, run.without_replay(run.memory), run.steps_before + run.step)
            of_setting.append(run.curves.dataset().assign(total_steps=run.step))
            done, made = done + 1, made + run.step
        curves.append(of_setting)
    data = _side_by_side([_side_by_side(row, "seed", seeds) for row in curves], "setting", labels(settings))
    data = with_words((data if is_sweep else data.isel(setting=0, drop=True)).assign_attrs(environment=env.spec.name))
    return Result(data, env.spec, settings, trained)


def _side_by_side(datasets: Sequence[xr.Dataset], dim: str, labels: Sequence[Any]) -> xr.Dataset:
    """Concatenate datasets along a new dimension. Shorter ones are padded with NaN."""
    import xarray as xr

    together = xr.concat(datasets, dim, data_vars="all", coords="minimal", compat="override", join="outer")
    return together.assign_coords({dim: list(labels)})


def _part_of(progress: Progress, done: int, number: int, made: int) -> Progress:
    """Return the progress callback of one run of several, given how many are done and the steps they made."""

    def told(share: float, steps: int) -> None:
        progress((done + share) / number, made + steps)

    return told


def run_on_host(
    training: HostTraining, start: Any = None, *, progress: Progress | None = None, watch: Watch | None = None
) -> HostRun:
    """Run a training to its end, resuming from its last checkpoint if it was interrupted.

    Args:
        training: what to run.
        start: trained learner to start from; None to start with a new one.
        progress: called with the fraction done and the number of steps so far.
        watch: called with all curves after every record.

    Returns:
        The finished run, with its curves and its learner's memory.
    """
    folder = training.options.folder
    if folder is None:
        return _run(training, start, progress, watch)
    with claiming(folder) as is_ours:
        if not is_ours:
            raise InvalidInput(
                f"another process is training in {folder}; allowed: another folder, or this one once it is done"
            )
        if training.options.fresh:
            shutil.rmtree(folder, ignore_errors=True)
        events = Events(folder / "events")

        def follow(curves: Curves) -> None:
            events.follow(curves)
            if watch is not None:
                watch(curves)

        try:
            return _run(training, start, progress, follow)
        finally:
            events.close()


def _run(training: HostTraining, start: Any, progress: Progress | None, watch: Watch | None) -> HostRun:
    run = HostRun(training, start)
    try:
        _run_to_the_end(run, progress, watch)
    finally:
        run.close()
    return run


def _run_to_the_end(run: HostRun, progress: Progress | None, watch: Watch | None) -> None:
    options = run.options
    run.resume()
    run.begin()
    first = run.step
    while not run.is_done:
        run.advance()
        if run.is_due(options.record_every):
            run.record()
            if watch is not None:
                watch(run.curves)
            if progress is not None:
                progress(min(run.share_done, 0.999), run.step - first)
        if options.test_every is not None and run.is_due(options.test_every):
            run.set_aside()
        if not run.is_done and run.is_due(options.checkpoint_every):
            run.save(options.keep_replay)
    run.test()
    if watch is not None:
        watch(run.curves)
    run.save(keep_replay=False, is_last=True)
    if progress is not None:
        progress(1.0, run.step - first)
