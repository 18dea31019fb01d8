"""Training: an agent, an MDP and seeds become a labelled dataset."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dorax.core.checks import InvalidInput, check_probability
from dorax.mdps import MDP
from dorax.tabular.agent import TabularAgent
from dorax.tabular.engine import Lane, Limits, Program, lane_sharding, new_lanes, run_blocks
from dorax.tabular.settings import Setting, stacked
from dorax.tabular.world import World, make_world

if TYPE_CHECKING:
    import xarray as xr

Progress = Callable[[float, int], None]  # the share that is done, and steps so far

_LANES_PER_DEVICE = 16  # a multiple of this, so that every lane runs in the same vector code on any CPU
_CHUNK_SECONDS = 0.5


@dataclass(frozen=True)
class Training:
    """What `train` does, as data: call it with settings and seeds."""

    agent: TabularAgent
    mdp: MDP
    episodes: int
    max_steps: int | None = None
    until: float | None = None
    tables: bool = False
    lanes: int = 1
    states: int = 1

    def __call__(
        self, settings: Sequence[Setting], seeds: Sequence[int], progress: Progress | None = None
    ) -> xr.Dataset:
        return train(
            self.agent,
            self.mdp,
            self.episodes,
            seeds,
            settings=settings,
            max_steps=self.max_steps,
            until=self.until,
            tables=self.tables,
            lanes=self.lanes,
            states=self.states,
            progress=progress,
        )


def train(
    agent: TabularAgent,
    mdp: MDP,
    episodes: int,
    seeds: int | Sequence[int] = 1,
    *,
    settings: Sequence[Setting] | None = None,
    max_steps: int | None = None,
    until: float | None = None,
    tables: bool = False,
    lanes: int = 1,
    states: int = 1,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Train one learner for every seed, and for every setting if there are any, all side by side.

    `seeds` is a number of seeds (0, 1, ...) or their list. `settings` is a list of
    numbers to replace in the agent, such as `dorax.grid(temperature=(1, 3, 10))`. A run
    ends after `episodes` episodes; before that, once it has made `max_steps` steps or
    ended an episode with q_error at or below the share `until` of its start.

    The result has the dimensions seed and episode, preceded by setting where there are
    settings, and the variables `return`, `length`, `q_error` (after the episode) and
    `steps` (made since the start of the run); what a run did not reach is NaN. Beside them
    stand `q_error_at_start` and `q_error_of_zero`, the error of knowing nothing. `tables`
    adds the learned `q` and `count`, states x actions. The tables hold at least `states`
    states, and at least `lanes` learners run side by side, idle ones among them: calls of
    different sizes then share one compiled program. The same seed gives the same numbers
    bit for bit, whatever runs beside it.
    """
    seed_list = _seed_list(seeds)
    _check_whole("episodes", episodes)
    if max_steps is not None:
        _check_whole("max_steps", max_steps)
    if until is not None:
        check_probability("until", until)
    if settings is not None and not settings:
        raise InvalidInput("settings is []; allowed: at least one setting, or None")
    setting_list: list[Setting] = [{}] if settings is None else list(settings)
    agents = stacked(agent, setting_list)
    world = make_world(mdp, _shared_discount(agents), states)
    limits = Limits(
        episodes=jnp.asarray(episodes, jnp.int32),
        steps=jnp.asarray(2**31 - 1 if max_steps is None else max_steps, jnp.int32),
        q_error_share=jnp.asarray(-1.0 if until is None else until, float),
    )
    ended = _run(agents, world, limits, len(setting_list), seed_list, episodes, lanes, progress)
    if not tables:  # they may be large: leave them where they are
        ended = ended._replace(tables={}, counts=ended.steps)
    ended = _by_seed_and_setting(ended, len(seed_list), len(setting_list))
    data = _dataset(ended, setting_list, seed_list, mdp, tables)
    mean, variance = np.asarray(world.answer_moments, np.float64)
    data["q_error_of_zero"] = mean**2 + variance
    return data if settings is not None else data.isel(setting=0, drop=True)


def _run(
    agents: TabularAgent,
    world: World,
    limits: Limits,
    settings: int,
    seeds: list[int],
    capacity: int,
    least: int,
    progress: Progress | None,
) -> Lane:
    """All lanes to their end."""
    sharding = lane_sharding()
    lanes_wanted = settings * len(seeds)
    multiple = _LANES_PER_DEVICE * sharding.mesh.size
    count = -(-max(lanes_wanted, least) // multiple) * multiple
    # Settings vary fastest, so that a slow one is spread over all devices.
    setting_of_lane = np.arange(count) % settings
    seed_of_lane = np.asarray(seeds, np.uint32)[np.minimum(np.arange(count) // settings, len(seeds) - 1)]
    numbers, structure = eqx.partition(agents, eqx.is_array)
    numbers = jax.tree.map(lambda leaf: np.asarray(leaf)[setting_of_lane], numbers)
    keys = jax.vmap(jax.random.key)(jnp.asarray(seed_of_lane))
    is_running = np.arange(count) < lanes_wanted
    numbers, keys, is_running = jax.device_put((numbers, keys, is_running), sharding)
    agents = eqx.combine(numbers, structure)

    lanes = jax.device_put(new_lanes(agents, world, capacity, is_running), sharding)
    program = Program(agents, world, limits, keys)
    for ran in _chunks(program, lanes, sharding.mesh):
        lanes = ran
        if progress is not None:
            progress(_share_done(lanes, limits, lanes_wanted), int(np.sum(np.asarray(lanes.steps), dtype=np.int64)))
    return lanes


def _chunks(program: Program, lanes: Lane, mesh: Any) -> Iterator[Lane]:
    """The lanes after each chunk of about half a second, until none is running."""
    block, blocks, is_compiled = 0, 16, False
    while np.any(lanes.is_running):
        began = time.perf_counter()
        lanes = run_blocks(program, lanes, jnp.asarray(block, jnp.int32), jnp.asarray(blocks, jnp.int32), mesh=mesh)
        jax.block_until_ready(lanes)
        block += blocks
        if is_compiled:
            pace = _CHUNK_SECONDS / max(time.perf_counter() - began, 1e-3)
            blocks = int(np.clip(blocks * min(pace, 8.0), 1, 1 << 16))
        is_compiled = True
        yield lanes


def _by_seed_and_setting(lanes: Lane, seeds: int, settings: int) -> Lane:
    """The lanes as NumPy arrays with the axes seed and setting in front, without the idle ones."""
    return jax.tree.map(
        lambda leaf: np.asarray(leaf)[: seeds * settings].reshape(seeds, settings, *leaf.shape[1:]), lanes
    )


def _share_done(lanes: Lane, limits: Limits, lanes_wanted: int) -> float:
    """The mean over the lanes that somebody waits for."""
    by_episode = np.asarray(lanes.episode) / int(limits.episodes)
    by_step = np.asarray(lanes.steps) / int(limits.steps)
    share = np.where(lanes.is_running, np.maximum(by_episode, by_step), 1.0)
    return float(np.mean(share[:lanes_wanted]))


def _dataset(lanes: Lane, settings: list[Setting], seeds: list[int], mdp: MDP, tables: bool) -> xr.Dataset:
    import xarray as xr

    episode = np.arange(1, lanes.records.shape[2] + 1)
    is_recorded = episode <= lanes.episode[..., None]
    returns, lengths, q_errors = np.moveaxis(np.where(is_recorded[..., None], lanes.records, np.nan), -1, 0)
    dims = ("seed", "setting", "episode")
    data = xr.Dataset(
        {
            "return": (dims, returns),
            "length": (dims, lengths),
            "q_error": (dims, q_errors),
            "steps": (dims, np.cumsum(lengths, axis=-1, dtype=np.float64)),
            "q_error_at_start": (dims[:2], lanes.q_error_at_start),
            "total_steps": (dims[:2], lanes.steps),
        },
        coords={
            "seed": seeds,
            "setting": [", ".join(f"{name}={value:.12g}" for name, value in point.items()) for point in settings],
            "episode": episode,
        },
        attrs={"mdp": mdp.name},
    )
    if tables:
        pairs = (*dims[:2], "state", "action")
        data["q"] = (pairs, lanes.tables["q"][:, :, : mdp.states])
        data["count"] = (pairs, lanes.counts[:, :, : mdp.states])
    return data.transpose("setting", "seed", ...)


def _shared_discount(agents: TabularAgent) -> float:
    discounts = np.unique(np.asarray(agents.discount))
    if len(discounts) > 1:
        raise InvalidInput(
            f"discount is {discounts[0]:g} and {discounts[1]:g} in one call; allowed: one discount a call"
        )
    return float(np.asarray(agents.discount).flat[0])


def _check_whole(name: str, value: int) -> None:
    if not isinstance(value, int | np.integer) or not 1 <= value < 2**31:
        raise InvalidInput(f"{name} is {value}; allowed: a whole number from 1 to {2**31 - 1}")


def _seed_list(seeds: int | Sequence[int]) -> list[int]:
    if isinstance(seeds, int | np.integer):
        chosen = list(range(seeds))
    else:
        chosen = [int(seed) for seed in seeds] if isinstance(seeds, Iterable) else []
    if not chosen or min(chosen) < 0 or max(chosen) >= 2**32:
        raise InvalidInput(f"seeds is {seeds!r}; allowed: a number of seeds, or a list of numbers from 0 to 2**32 - 1")
    return chosen
