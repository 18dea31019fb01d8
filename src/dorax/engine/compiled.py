"""A compiled run: all lanes from their start to their end, in chunks, with snapshots and checkpoints in between."""

# JAX and Equinox: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dorax.core.checks import InvalidInput, in_brief
from dorax.engine.checkpoints import flat, unflat
from dorax.engine.driver import Program, new_lanes, run_blocks, views
from dorax.engine.lanes import Lane, Limits, Recording, has_work
from dorax.engine.resuming import Checkpoints, postponed_interrupt
from dorax.engine.room import check_room, free_bytes
from dorax.engine.running import Layout, Progress, in_chunks

UNLIMITED = 2**31 - 1
Snapshots = dict[int, list[Mapping[str, np.ndarray]]]  # by the index of the probe, at each of its marks


class CompiledRun:
    """All lanes of a run.

    Args:
        program: what to run.
        recording: what is recorded.
        layout: the lanes.
        memory: returns memories to start from, with a leading axis over lanes, or None for those of new learners.
        saved: the checkpoints.
    """

    def __init__(
        self, program: Program, recording: Recording, layout: Layout, memory: Callable[[], Any], saved: Checkpoints
    ) -> None:
        self._program, self._recording, self._layout, self._saved = program, recording, layout, saved
        self._wanted = int(np.sum(layout.is_wanted))  # the first lanes; the others are padding
        self._pauses_at = _clock_of(program.probes)
        probes = {i: probe for i, probe in enumerate(program.probes) if probe.marks is not None}
        self._marks = [*sorted({mark for probe in probes.values() for mark in probe.marks}), UNLIMITED]
        self._passed = 0  # number of marks
        self._snapshots: Snapshots = {i: [] for i in probes}
        self._memory = memory

    def to_the_end(self, progress: Progress | None) -> tuple[Lane, Snapshots]:
        """Run all lanes to their end, with a pause at every mark of a probe.

        Args:
            progress: called with the fraction done and the number of steps that this call made so far.

        Returns:
            The lanes and the snapshots.
        """
        lanes = self._begin()
        first = self._steps_made(lanes)

        def report(share: float, lanes: Lane) -> None:
            if progress is not None:
                progress(share, self._steps_made(lanes) - first)

        with postponed_interrupt(self._saved.is_wanted) as is_interrupted:

            def between_chunks(lanes: Lane) -> None:
                _check_faults(lanes)
                report(self._share_done(lanes), lanes)
                if is_interrupted() or self._saved.is_due:
                    self._saved.save(self._arrays(lanes))
                if is_interrupted():
                    raise KeyboardInterrupt

            for mark in self._marks[self._passed :]:
                lanes = self._run_to(mark, lanes, between_chunks)
                self._take_snapshots(mark, lanes)
                self._passed += 1
        report(1.0, lanes)
        self._saved.remove()
        return lanes, self._snapshots

    def _begin(self) -> Lane:
        """Make new lanes, or those of the last checkpoint."""
        program, recording, layout = self._program, self._recording, self._layout
        like = eqx.filter_eval_shape(
            new_lanes, program, None, layout.is_wanted, recording=recording, sharding=layout.sharding
        )
        check_room(program, like, recording, layout, free_bytes(layout.mesh.devices.tolist()))
        arrays = self._saved.latest()
        if arrays is None:
            return new_lanes(program, self._memory(), layout.is_wanted, recording=recording, sharding=layout.sharding)
        self._passed = int(arrays["passed"])
        for i, taken in self._snapshots.items():
            names = {name for name in arrays if name.startswith(f"snapshots/{i}/")}
            number = sum(mark in program.probes[i].marks for mark in self._marks[: self._passed])
            for n in range(number):
                start = f"snapshots/{i}/{n}/"
                taken.append({name.removeprefix(start): arrays[name] for name in names if name.startswith(start)})
        lanes: Lane = unflat("lanes", like, arrays, self._put)
        # Padding never runs, and plays no tests.
        lanes = lanes._replace(is_running=lanes.is_running & layout.is_wanted)
        if lanes.tests is None:
            return lanes
        return lanes._replace(tests=lanes.tests._replace(phase=jnp.where(layout.is_wanted, lanes.tests.phase, 0)))

    def _arrays(self, lanes: Lane) -> dict[str, np.ndarray]:
        """Return the state of the run. Padding is left out, since it depends on the number of devices."""
        own = {name: array[: self._wanted] if array.ndim else array for name, array in flat("lanes", lanes).items()}
        snapshots = {
            f"snapshots/{i}/{n}/{name}": array
            for i, taken in self._snapshots.items()
            for n, snapshot in enumerate(taken)
            for name, array in snapshot.items()
        }
        return {**own, **snapshots, "passed": np.asarray(self._passed)}

    def _put(self, leaf: Any) -> jax.Array:
        """Put lanes of a checkpoint on the devices, padded with copies of the first one."""
        lanes = len(self._layout.is_wanted)
        chosen = np.where(np.arange(lanes) < self._wanted, np.arange(lanes), 0)
        return jax.device_put(leaf[chosen], self._layout.sharding)

    def _run_to(self, mark: int, lanes: Lane, between_chunks: Callable[[Lane], None]) -> Lane:
        """Run all lanes until they pause at the mark or are done."""
        limits = self._program.limits._replace(**{self._pauses_at: jnp.asarray(mark, jnp.int32)})
        program = self._program._replace(limits=limits)

        def advance(lanes: Lane, blocks: int) -> Lane:
            number = jnp.asarray(blocks, jnp.int32)
            return run_blocks(
                program, lanes, number, recording=self._recording, mesh=self._layout.mesh, at_once=self._layout.at_once
            )

        def is_running(lanes: Lane) -> bool:
            return bool(np.any(has_work(lanes, limits)))

        for ran in in_chunks(advance, lanes, is_running):
            lanes = ran
            between_chunks(lanes)
        return lanes

    def _take_snapshots(self, mark: int, lanes: Lane) -> None:
        for i, taken in self._snapshots.items():
            probe = self._program.probes[i]
            if mark in probe.marks:
                snapshot = probe.snapshot(lanes.probes[i], partial(views, self._program, lanes.memory))
                taken.append({name: np.asarray(array)[: self._wanted] for name, array in snapshot.items()})

    def _share_done(self, lanes: Lane) -> float:
        """Return the fraction done, averaged over the requested lanes."""
        limits: Limits = self._program.limits
        by_episode = np.asarray(lanes.episode) / int(limits.episodes)
        by_step = np.asarray(lanes.steps) / int(limits.steps)
        share = np.where(lanes.is_running, np.maximum(by_episode, by_step), 1.0)
        return float(np.minimum(share[: self._wanted], 0.999).mean())

    def _steps_made(self, lanes: Lane) -> int:
        return int(np.asarray(lanes.steps, np.int64)[: self._wanted].sum())


def _clock_of(probes: Sequence[Any]) -> str:
    """Return the limit that the marks of a run's probes set: all count episodes, or all count steps."""
    clocks = {getattr(probe, "clock", "episode") for probe in probes if probe.marks is not None}
    if len(clocks) > 1:
        raise InvalidInput("some probes pause after episodes and some after steps; allowed: one clock in a run")
    return "step_mark" if clocks == {"step"} else "mark"


def _check_faults(lanes: Lane) -> None:
    if lanes.fault is None or not np.any(lanes.fault.is_there):
        return
    lane = int(np.argmax(lanes.fault.is_there))
    observation, reward = np.asarray(lanes.fault.observation)[lane].tolist(), float(lanes.fault.reward[lane])
    raise InvalidInput(
        f"after {int(lanes.steps[lane])} steps the observation is {in_brief([float(f'{x:g}') for x in observation])} "
        f"and the reward {reward:g}; allowed: numbers, within the bounds that the environment declares"
    )
