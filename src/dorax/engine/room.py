"""Whether a run fits into memory, estimated before anything is compiled."""

# JAX and Equinox: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr

from dorax.core.checks import InvalidInput
from dorax.engine.driver import Program, new_lanes, run_blocks
from dorax.engine.footprint import bytes_of, temporary_bytes
from dorax.engine.lanes import Lane, Recording
from dorax.engine.running import LANES_PER_DEVICE, Layout

_MARGIN = 1.3  # of what is stored beside the lanes, of which XLA needs 0.7 to 1.3 times the estimate
_NEGLIGIBLE = 1000  # lanes that take less than this part of the memory are not looked at any further
_HELPS = 0.95  # a size that is halved without making a run smaller than this is not what takes the memory
_CGROUP = Path("/sys/fs/cgroup")


class Need(NamedTuple):
    """Memory that a run needs on each device, in bytes.

    Attributes:
        lanes: size of the lanes, which are updated in place.
        temporary: size of everything else while they run.
        replay: part of the lanes that is replay.
        number: number of lanes on each device.
        multiple: number of which that is a multiple.
        devices: number of devices.
    """

    lanes: int
    temporary: int
    replay: int
    number: int
    multiple: int
    devices: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.lanes + self.temporary

    @classmethod
    def of(cls, program: Program, lanes: Lane, recording: Recording, layout: Layout) -> Need:
        """Estimate what a run needs.

        The program is traced, which is not repeated when it is compiled.

        Args:
            program: what to run.
            lanes: shapes and dtypes of the lanes.
            recording: what is recorded.
            layout: the lanes.

        Returns:
            The estimate.
        """
        devices = layout.mesh.size
        multiple = 1 if getattr(program.agent, "is_heavy", False) else LANES_PER_DEVICE
        replay = bytes_of(getattr(lanes.memory, "replay", None)) // devices

        # Laid out as they will be, or the program would be traced once more.
        shapes = jax.tree.map(lambda leaf: leaf.update(sharding=layout.sharding), lanes)

        def run(program: Program, lanes: Lane, blocks: Any) -> Lane:
            return run_blocks(program, lanes, blocks, recording=recording, mesh=layout.mesh, at_once=layout.at_once)

        traced = eqx.filter_make_jaxpr(run)(program, shapes, jax.ShapeDtypeStruct((), jnp.int32))[0]
        share = _share_of_device(traced.jaxpr)
        assert share is not None
        last = len(share.invars) - 1  # the number of blocks, behind the lanes
        reusable = range(last - len(jax.tree.leaves(lanes)), last)
        temporary = int(_MARGIN * temporary_bytes(share, reusable))
        number = len(layout.is_wanted) // devices
        return cls(bytes_of(lanes) // devices, temporary, replay, number, multiple, devices)


def check_room(program: Program, lanes: Lane, recording: Recording, layout: Layout, free: int | None) -> None:
    """Raise `InvalidInput` unless a run fits into memory.

    Args:
        program: what to run.
        lanes: shapes and dtypes of the lanes.
        recording: what is recorded.
        layout: the lanes.
        free: number of bytes that each device has left; None if that is not known.
    """
    agent = program.agent
    # Many games with small networks may still need much memory to act, which the size of the lanes does not show.
    is_heavy = getattr(agent, "is_heavy", False)
    if free is None or (not is_heavy and bytes_of(lanes) // layout.mesh.size < free // _NEGLIGIBLE):
        return

    def smaller() -> str | None:
        def need_of(agent: Any) -> Need:
            other = program._replace(agent=agent)
            shapes = eqx.filter_eval_shape(
                new_lanes, other, None, layout.is_wanted, recording=recording, sharding=layout.sharding
            )
            return Need.of(other, shapes, recording, layout)

        return size_that_fits(agent, need, need_of, free)

    need = Need.of(program, lanes, recording, layout)
    name = "replay" if getattr(agent, "replay", None) is not None else "capacity"
    check_fits(need, free, name, getattr(agent, name, None), smaller)


def check_fits(
    need: Need,
    free: int,
    name: str = "replay",
    capacity: int | None = None,
    smaller: Callable[[], str | None] = lambda: None,
) -> None:
    """Raise `InvalidInput` unless a run fits into memory, with sizes that would fit.

    Args:
        need: what the run needs.
        free: number of bytes that each device has left.
        name: name of the agent's argument that is the size of its replay.
        capacity: its value; None for no replay.
        smaller: returns another size of the agent that would fit, in words, or None; called if nothing else helps.
    """
    if need.total <= free:
        return
    ways: list[str] = []
    number = need.devices * lanes_that_fit(need, free)
    if number:
        ways.append(f"at most {number} learners at a time")
    without = need.total - need.replay
    if capacity is not None and need.replay and without < free:
        ways.append(f"{name} = {int(capacity * (free - without) / need.replay)} or less")
    if not ways:
        ways.append(smaller() or "a smaller agent, or shorter logs and replays")
    raise InvalidInput(
        f"the memory of {need.devices * need.number} learners (seeds x settings, padding included) is about "
        f"{_in_words(need.total)} on each device, which has {_in_words(free)}; "
        f"allowed: {', or '.join(ways)}"
    )


def size_that_fits(agent: Any, need: Need, need_of: Callable[[Any], Need], free: int) -> str | None:
    """Find a size of an agent with which a run fits: the number of games, the width of networks, or that of a table.

    Args:
        agent: the agent that does not fit.
        need: what the run needs with it.
        need_of: returns what the run needs with another agent.
        free: number of bytes that each device has left.

    Returns:
        The size in words, "games = 512 or less"; None if no size alone is enough.
    """
    # Memory falls with the square of a size at most, so larger ones need not be tried.
    first = max(1, (need.total // max(free, 1)).bit_length() // 2)
    for name, sizes, resized in _sizes(agent):
        before = need.total
        for size in sizes[first - 1 :]:
            try:
                now = need_of(resized(size)).total
            except InvalidInput:  # such as too few games for greedy ones and others
                break
            if now <= free:
                return f"{name} = {size} or less"
            if now > _HELPS * before:
                break
            before = now
    return None


def _sizes(agent: Any) -> Iterator[tuple[str, list[int], Callable[[int], Any]]]:
    """Iterate over the sizes of an agent: name, values of which each is half as large, and a function to set one."""
    features = [(part, getattr(getattr(agent, part, None), "features", None)) for part in ("counter", "bonus")]
    parts = [((), agent, ""), *(((part, "features"), one, f" of the features of the {part}") for part, one in features)]
    for path, part, of in parts:
        for name in ("games", "width", "size", "bits"):
            size = getattr(part, name, None)
            if isinstance(size, int) and is_dataclass(part):
                smaller = range(size - 1, 0, -1) if name == "bits" else [size >> k for k in range(1, size.bit_length())]
                yield f"{name}{of}", list(smaller), partial(_with, agent, (*path, name))


def _with(agent: Any, path: tuple[str, ...], size: int) -> Any:
    """Replace a size of an agent, or of a part of it."""
    name, *inner = path
    return replace(agent, **{name: _with(getattr(agent, name), tuple(inner), size) if inner else size})


def lanes_that_fit(need: Need, free: int) -> int:
    """Compute how many lanes fit on each device.

    Args:
        need: what a run with more lanes needs.
        free: number of bytes that the device has left.

    Returns:
        The number of lanes, of the same multiple.
    """
    return need.number * free // need.total // need.multiple * need.multiple


def free_bytes(devices: Sequence[Any]) -> int | None:
    """Return how much memory each device has left. CPU devices share the machine's.

    Args:
        devices: the devices.

    Returns:
        Number of bytes, or None if it is not known.
    """
    known = [device.memory_stats() for device in devices]
    if all(stats and "bytes_limit" in stats for stats in known):
        return min(int(stats["bytes_limit"]) - int(stats.get("bytes_in_use", 0)) for stats in known)
    if any(device.platform != "cpu" for device in devices):
        return None
    machine = _free_on_this_machine()
    return None if machine is None else machine // len(devices)


def _free_on_this_machine() -> int | None:
    """Return the memory that the system, and the container if there is one, still gives to this process."""
    found: list[int] = []
    try:
        rows = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        found.append(int(rows["MemAvailable"].split()[0]) * 1024)
    except (OSError, KeyError, ValueError):
        names: Any = getattr(os, "sysconf_names", {})
        if "SC_PHYS_PAGES" in names:
            found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    try:
        most, now = ((_CGROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
        statistics = dict(line.split() for line in (_CGROUP / "memory.stat").read_text().splitlines())
        found.append(int(most) - int(now) + int(statistics.get("inactive_file", 0)))  # "max" is no number
    except (OSError, ValueError):
        pass
    return min(found, default=None)


def _share_of_device(jaxpr: Jaxpr) -> Jaxpr | None:
    """Find the program that each device runs for its share of the lanes."""
    for eqn in jaxpr.eqns:
        for value in eqn.params.values():
            inner = value.jaxpr if isinstance(value, ClosedJaxpr) else value
            if not isinstance(inner, Jaxpr):
                continue
            found = inner if eqn.primitive.name == "shard_map" else _share_of_device(inner)
            if found is not None:
                return found
    return None


def _in_words(number: int) -> str:
    unit = int(np.clip(np.log10(max(number, 1)) // 3, 0, 4))
    return f"{number / 1000**unit:.3g} {('bytes', 'KB', 'MB', 'GB', 'TB')[unit]}"
