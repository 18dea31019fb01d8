"""Layout of lanes over all devices, and running them in chunks."""

# JAX and Equinox: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

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

Progress = Callable[[float, int], None]  # called with the fraction done and the number of steps so far
Lanes = TypeVar("Lanes")

LANES_PER_DEVICE = 16  # the number of lanes is a multiple, so that all lanes run the same vectorized code
CHUNK_SECONDS = 0.5
CACHE = 1 << 23  # bytes of a core's cache for the networks of its lanes
_BYTES_PER_WEIGHT = 12  # with the two averages of Adam
FIRST_BLOCKS = 16  # of the first chunk; then the number follows the clock


class Layout(NamedTuple):
    """Lanes laid out over the devices.

    Attributes:
        agents: agents, whose numbers have a leading axis over lanes.
        own_env: numbers of the environments that differ between lanes, with a leading axis over lanes.
        keys: random key of each lane.
        is_wanted: whether a lane was requested; the others are padding and never run.
        mesh: the devices.
        at_once: number of lanes that a device runs side by side, while its others wait; None for all of them.
    """

    agents: Any
    own_env: Any
    keys: PRNGKeyArray
    is_wanted: Bool[Array, " lanes"]
    mesh: Mesh
    at_once: int | None = None

    @property
    def sharding(self) -> NamedSharding:
        """Sharding of arrays with a leading axis over lanes."""
        return NamedSharding(self.mesh, P("lane"))


def lay_out(
    agents: Any,
    own_env: Any,
    settings: int,
    seeds: Sequence[int],
    least: int,
    is_padded: bool = True,
    weights: int = 0,
) -> Layout:
    """Lay out one lane for every seed and setting. The number of lanes is padded; padding lanes never run.

    Args:
        agents: agent whose numbers have a leading axis over settings.
        own_env: numbers of environments with a leading axis over seeds, or None.
        settings: number of settings.
        seeds: the seeds.
        least: minimum number of lanes.
        is_padded: whether each device gets a multiple of `LANES_PER_DEVICE`; otherwise all get the same number, and
            CPUs run only as many side by side as fit into their caches.
        weights: number of weights of a lane's network.

    Returns:
        The layout.
    """
    mesh = Mesh(np.array(jax.devices()), ("lane",))
    wanted = settings * len(seeds)
    is_cpu = mesh.devices.flat[0].platform == "cpu"
    at_once = _at_once(-(-wanted // mesh.size), weights) if is_cpu and not is_padded else None
    multiple = (LANES_PER_DEVICE if is_padded else at_once or 1) * mesh.size
    lane = np.arange(-(-max(wanted, least) // multiple) * multiple)
    # Settings vary fastest, so that the lanes of a slow setting are spread over all devices.
    setting_of_lane, seed_of_lane = lane % settings, np.minimum(lane // settings, len(seeds) - 1)
    numbers, structure = eqx.partition(agents, eqx.is_array)
    numbers = jax.tree.map(lambda leaf: np.asarray(leaf)[setting_of_lane], numbers)
    own, own_structure = eqx.partition(own_env, eqx.is_array)
    own = jax.tree.map(lambda leaf: np.asarray(leaf)[seed_of_lane], own)
    keys = jax.vmap(jax.random.key)(jnp.asarray(np.asarray(seeds, np.uint32)[seed_of_lane]))
    sharding = NamedSharding(mesh, P("lane"))
    numbers, own, keys, is_wanted = jax.device_put((numbers, own, keys, lane < wanted), sharding)
    return Layout(eqx.combine(numbers, structure), eqx.combine(own, own_structure), keys, is_wanted, mesh, at_once)


def _at_once(lanes: int, weights: int) -> int:
    """Return how many lanes of a CPU should run side by side, so that their networks stay in its cache."""
    fitting = max(2, CACHE // max(1, weights * _BYTES_PER_WEIGHT))
    return -(-lanes // max(1, round(lanes / fitting)))


def in_chunks(
    advance: Callable[[Lanes, int], Lanes], lanes: Lanes, is_running: Callable[[Lanes], bool]
) -> Iterator[Lanes]:
    """Run lanes until none has work left, and yield them after each chunk of about half a second.

    Between chunks the caller can report progress, and the user can interrupt.

    Args:
        advance: runs the lanes for a number of blocks.
        lanes: lanes to run.
        is_running: whether any lane has work left.
    """
    blocks, is_compiled = FIRST_BLOCKS, False
    while is_running(lanes):
        began = time.perf_counter()
        lanes = jax.block_until_ready(advance(lanes, blocks))
        if is_compiled:
            pace = CHUNK_SECONDS / max(time.perf_counter() - began, 1e-3)
            blocks = int(np.clip(blocks * min(pace, 8.0), 1, 1 << 16))
        is_compiled = True
        yield lanes


def by_seed_and_setting(lanes: Lanes, seeds: int, settings: int) -> Lanes:
    """Convert the requested lanes to NumPy arrays with leading axes over seeds and settings.

    Args:
        lanes: all lanes, including padding.
        seeds: number of seeds.
        settings: number of settings.

    Returns:
        The same tree, without padding.
    """
    return jax.tree.map(
        lambda leaf: np.asarray(leaf)[: seeds * settings].reshape(seeds, settings, *leaf.shape[1:]), lanes
    )


def seed_list(seeds: int | Sequence[int]) -> list[int]:
    """Return the seeds as a list.

    Args:
        seeds: a number of seeds, which are then 0, 1, ..., or a list.

    Raises:
        InvalidInput: if there is no seed, or one out of range.
    """
    if isinstance(seeds, int | np.integer):
        chosen = list(range(seeds))
    else:
        chosen = [int(seed) for seed in seeds] if isinstance(seeds, Iterable) else []  # pyright: ignore[reportUnnecessaryIsInstance]
    if not chosen or min(chosen) < 0 or max(chosen) >= 2**32:
        raise InvalidInput(f"seeds is {seeds!r}; allowed: a number of seeds, or a list of numbers from 0 to 2**32 - 1")
    return chosen
