"""Lanes: many learners side by side, dealt out over all devices and run in chunks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from dorax.core.checks import InvalidInput

Progress = Callable[[float, int], None]  # the share that is done, and steps so far
Lanes = TypeVar("Lanes")

LANES_PER_DEVICE = 16  # a multiple of this, so that every lane runs in the same vector code on any CPU
CHUNK_SECONDS = 0.5


class Dealt(NamedTuple):
    """Lanes laid out over the devices: the numbers and the key of each, and whether somebody waits for it."""

    agents: Any
    keys: jax.Array
    is_wanted: jax.Array
    mesh: Mesh

    @property
    def sharding(self) -> NamedSharding:
        return lane_sharding(self.mesh)


def deal(agents: Any, settings: int, seeds: Sequence[int], least: int) -> Dealt:
    """A lane for every seed and setting of an agent with stacked numbers, at least so many in all."""
    mesh = lane_mesh()
    wanted = settings * len(seeds)
    multiple = LANES_PER_DEVICE * mesh.size
    count = -(-max(wanted, least) // multiple) * multiple
    # Settings vary fastest, so that a slow one is spread over all devices.
    setting_of_lane = np.arange(count) % settings
    seed_of_lane = np.asarray(seeds, np.uint32)[np.minimum(np.arange(count) // settings, len(seeds) - 1)]
    numbers, structure = eqx.partition(agents, eqx.is_array)
    numbers = jax.tree.map(lambda leaf: np.asarray(leaf)[setting_of_lane], numbers)
    keys = jax.vmap(jax.random.key)(jnp.asarray(seed_of_lane))
    numbers, keys, is_wanted = jax.device_put((numbers, keys, np.arange(count) < wanted), lane_sharding(mesh))
    return Dealt(eqx.combine(numbers, structure), keys, is_wanted, mesh)


def in_chunks(
    advance: Callable[[Lanes, int, int], Lanes], lanes: Lanes, is_running: Callable[[Lanes], Any]
) -> Iterator[Lanes]:
    """The lanes after each chunk of about half a second, until none is running.

    `advance` runs so many blocks, given the number of those before. Between chunks there
    is time for progress, for records and for an interruption.
    """
    block, blocks, is_compiled = 0, 16, False
    while np.any(is_running(lanes)):
        began = time.perf_counter()
        lanes = jax.block_until_ready(advance(lanes, block, blocks))
        block += blocks
        if is_compiled:
            pace = CHUNK_SECONDS / max(time.perf_counter() - began, 1e-3)
            blocks = int(np.clip(blocks * min(pace, 8.0), 1, 1 << 16))
        is_compiled = True
        yield lanes


def by_seed_and_setting(lanes: Lanes, seeds: int, settings: int) -> Lanes:
    """The lanes as NumPy arrays with the axes seed and setting in front, without the idle ones."""
    return jax.tree.map(
        lambda leaf: np.asarray(leaf)[: seeds * settings].reshape(seeds, settings, *leaf.shape[1:]), lanes
    )


def lane_mesh() -> Mesh:
    """Lanes are dealt out over all devices."""
    return Mesh(np.array(jax.devices()), ("lane",))


def lane_sharding(mesh: Mesh) -> NamedSharding:
    return NamedSharding(mesh, P("lane"))


def check_whole(name: str, value: int) -> None:
    if not isinstance(value, int | np.integer) or not 1 <= value < 2**31:
        raise InvalidInput(f"{name} is {value}; allowed: a whole number from 1 to {2**31 - 1}")


def seed_list(seeds: int | Sequence[int]) -> list[int]:
    if isinstance(seeds, int | np.integer):
        chosen = list(range(seeds))
    else:
        chosen = [int(seed) for seed in seeds] if isinstance(seeds, Iterable) else []
    if not chosen or min(chosen) < 0 or max(chosen) >= 2**32:
        raise InvalidInput(f"seeds is {seeds!r}; allowed: a number of seeds, or a list of numbers from 0 to 2**32 - 1")
    return chosen
