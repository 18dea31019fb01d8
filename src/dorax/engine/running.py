"""Lanes laid out over all devices, and run in chunks."""

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
from jaxtyping import Array, Bool, PRNGKeyArray

from dorax.core.checks import InvalidInput

Progress = Callable[[float, int], None]  # the share that is done, and steps so far
Lanes = TypeVar("Lanes")

LANES_PER_DEVICE = 16  # a multiple of this, so that every lane runs in the same vector code on any CPU
CHUNK_SECONDS = 0.5


class Layout(NamedTuple):
    """Lanes over the devices: the numbers of each lane's agent and environment, its key, and whether it is wanted."""

    agents: Any
    own_env: Any
    keys: PRNGKeyArray
    is_wanted: Bool[Array, " lanes"]
    mesh: Mesh

    @property
    def sharding(self) -> NamedSharding:
        return NamedSharding(self.mesh, P("lane"))


def lay_out(agents: Any, own_env: Any, settings: int, seeds: Sequence[int], least: int) -> Layout:
    """A lane for every seed and setting, at least so many in all; those that nobody wants never run.

    Args:
        agents: an agent whose numbers have a leading axis over settings.
        own_env: numbers of environments with a leading axis over seeds, or None.
        settings: the number of settings.
        seeds: the seeds.
        least: the smallest number of lanes.
    """
    mesh = Mesh(np.array(jax.devices()), ("lane",))
    wanted = settings * len(seeds)
    multiple = LANES_PER_DEVICE * mesh.size
    lane = np.arange(-(-max(wanted, least) // multiple) * multiple)
    # Settings vary fastest, so that a slow one is spread over all devices.
    setting_of_lane, seed_of_lane = lane % settings, np.minimum(lane // settings, len(seeds) - 1)
    numbers, structure = eqx.partition(agents, eqx.is_array)
    numbers = jax.tree.map(lambda leaf: np.asarray(leaf)[setting_of_lane], numbers)
    own, own_structure = eqx.partition(own_env, eqx.is_array)
    own = jax.tree.map(lambda leaf: np.asarray(leaf)[seed_of_lane], own)
    keys = jax.vmap(jax.random.key)(jnp.asarray(np.asarray(seeds, np.uint32)[seed_of_lane]))
    sharding = NamedSharding(mesh, P("lane"))
    numbers, own, keys, is_wanted = jax.device_put((numbers, own, keys, lane < wanted), sharding)
    return Layout(eqx.combine(numbers, structure), eqx.combine(own, own_structure), keys, is_wanted, mesh)


def in_chunks(
    advance: Callable[[Lanes, int], Lanes], lanes: Lanes, is_running: Callable[[Lanes], bool]
) -> Iterator[Lanes]:
    """Run lanes until none has work, and yield them after each chunk of about half a second.

    Between chunks there is time for progress, for records and for an interruption.

    Args:
        advance: runs the lanes for so many blocks.
        lanes: the lanes to run.
        is_running: whether any lane has work left.
    """
    blocks, is_compiled = 16, False
    while is_running(lanes):
        began = time.perf_counter()
        lanes = jax.block_until_ready(advance(lanes, blocks))
        if is_compiled:
            pace = CHUNK_SECONDS / max(time.perf_counter() - began, 1e-3)
            blocks = int(np.clip(blocks * min(pace, 8.0), 1, 1 << 16))
        is_compiled = True
        yield lanes


def by_seed_and_setting(lanes: Lanes, seeds: int, settings: int) -> Lanes:
    """The wanted lanes as NumPy arrays with the axes seed and setting in front."""
    return jax.tree.map(
        lambda leaf: np.asarray(leaf)[: seeds * settings].reshape(seeds, settings, *leaf.shape[1:]), lanes
    )


def seed_list(seeds: int | Sequence[int]) -> list[int]:
    """The seeds 0, 1, ... of a number of seeds, or the list itself."""
    if isinstance(seeds, int | np.integer):
        chosen = list(range(seeds))
    else:
        chosen = [int(seed) for seed in seeds] if isinstance(seeds, Iterable) else []
    if not chosen or min(chosen) < 0 or max(chosen) >= 2**32:
        raise InvalidInput(f"seeds is {seeds!r}; allowed: a number of seeds, or a list of numbers from 0 to 2**32 - 1")
    return chosen
