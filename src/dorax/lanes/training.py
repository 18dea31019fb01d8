"""Training in simulated environments: an agent, an environment and seeds become a labelled dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from dorax.core.checks import InvalidInput
from dorax.envs.functional import check_spaces
from dorax.lanes.blocks import Program, counts_at, new_lanes, run_blocks
from dorax.lanes.episodes import Lane, Limits, Scene
from dorax.lanes.running import Dealt, Progress, by_seed_and_setting, check_whole, deal, in_chunks, seed_list
from dorax.lanes.settings import Setting, labels, setting_list, stacked

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Maps:
    """Visits and counts over the observation space, recorded every so many episodes in equal bins a dimension."""

    bins: tuple[int, ...]
    every: int


@dataclass(frozen=True)
class EpisodeTraining:
    """What `train` does in simulated environments, as data: call it with settings and seeds."""

    agent: Any
    env: Any
    episodes: int
    max_steps: int | None = None
    test_every: int | None = None
    maps: Maps | None = None
    lanes: int = 1

    def __call__(
        self, settings: Sequence[Setting], seeds: Sequence[int], progress: Progress | None = None
    ) -> xr.Dataset:
        return train_in_environment(**vars(self), settings=settings, seeds=seeds, progress=progress)


def train_in_environment(
    agent: Any,
    env: Any,
    episodes: int,
    seeds: int | Sequence[int] = 1,
    *,
    params: Any = None,
    settings: Sequence[Setting] | None = None,
    max_steps: int | None = None,
    test_every: int | None = None,
    maps: Maps | None = None,
    lanes: int = 1,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Train one learner for every seed, and for every setting if there are any, all side by side.

    `env` is a functional environment: ours, or any with gymnax's interface. A run ends
    after `episodes` training episodes or `max_steps` steps. After every `test_every`-th of
    them one greedy episode is played, from which nothing is learned.

    The result has the dimensions seed and episode, preceded by setting where there are
    settings, and the variables `return`, `length` and `steps` (made since the start of
    the run), and for the tests `test_return` and `test_length` over the dimension test,
    whose coordinate is the number of episodes trained; what a run did not reach is NaN.
    `maps` adds, over the dimension snapshot, `visits` of each bin so far and the `count`
    at its centre, summed over actions. At least `lanes` learners run side by side, idle
    ones among them: calls of different sizes then share one compiled program. The same
    seed gives the same numbers bit for bit, whatever runs beside it.
    """
    chosen, variants = seed_list(seeds), setting_list(settings)
    _check_interface(env)
    params = env.default_params if params is None else params
    scene, actions = _scene(env, params, episodes, test_every, maps)
    if max_steps is not None:
        check_whole("max_steps", max_steps)
    dealt = deal(stacked(agent, variants), len(variants), chosen, lanes)
    program = Program(
        learner=dealt.agents.learner(scene.low, scene.high, actions),
        params=jax.tree.map(jnp.asarray, params),
        limits=Limits(
            episodes=jnp.asarray(episodes, jnp.int32),
            steps=jnp.asarray(2**31 - 1 if max_steps is None else max_steps, jnp.int32),
        ),
        keys=dealt.keys,
    )
    ended = new_lanes(program.learner, program.params, dealt.keys, dealt.is_wanted, scene)
    ended = jax.device_put(ended, dealt.sharding)
    marks = [episodes] if maps is None else [*range(maps.every, episodes, maps.every), episodes]
    snapshots = []
    for mark in marks:
        ended = _run_to(mark, program, ended, scene, dealt, progress)
        if maps is not None:
            snapshots.append(_snapshot(program.learner, ended, scene))
    if progress is not None:  # not before all tests are played
        progress(1.0, _steps(ended, dealt.is_wanted))
    shape = len(chosen), len(variants)
    # What a learner remembers may be large: it stays where it is.
    kept = by_seed_and_setting(ended._replace(memory=None, arrival=None, visits=None), *shape)
    data = _dataset(kept, variants, chosen, scene)
    data.attrs["parameters"] = program.learner.parameters
    if snapshots:
        visits, counts = by_seed_and_setting(
            tuple(np.stack(part, axis=1) for part in zip(*snapshots, strict=True)), *shape
        )
        dims = ("seed", "setting", "snapshot", *(f"bin_{i}" for i in range(len(scene.low))))
        data = data.assign(visits=(dims, visits), count=(dims, counts)).assign_coords(snapshot=marks)
    data = data.transpose("setting", "seed", ...)
    return data if settings is not None else data.isel(setting=0, drop=True)


def _check_interface(env: Any) -> None:
    if not hasattr(env, "is_truncated"):
        raise InvalidInput(f"{type(env).__name__} has no is_truncated; allowed: an environment as of gymnax 1.0")


def _scene(env: Any, params: Any, episodes: int, test_every: int | None, maps: Maps | None) -> tuple[Scene, int]:
    """What is played and recorded, and the number of actions; bad input is refused here, before any training."""
    check_whole("episodes", episodes)
    if test_every is not None:
        check_whole("test_every", test_every)
        if test_every > episodes:
            raise InvalidInput(f"test_every is {test_every}; allowed: up to the {episodes} episodes")
    low, high, actions = check_spaces(env, params)
    if maps is not None:
        _check_maps(maps, low, high)
    return Scene(env, tuple(low.tolist()), tuple(high.tolist()), episodes, test_every, maps and maps.bins), actions


def _check_maps(maps: Maps, low: np.ndarray, high: np.ndarray) -> None:
    check_whole("maps.every", maps.every)
    if len(maps.bins) != len(low):
        raise InvalidInput(f"maps.bins is {maps.bins}; allowed: one number for each of {len(low)} dimensions")
    for bins in maps.bins:
        check_whole("a number of maps.bins", bins)
    if not np.all(np.isfinite(low) & np.isfinite(high)):
        raise InvalidInput(f"maps of observations from {low} to {high}; allowed: finite bounds")


def _run_to(mark: int, program: Program, lanes: Lane, scene: Scene, dealt: Dealt, progress: Progress | None) -> Lane:
    """All lanes until they have finished so many episodes, or their steps."""
    program = program._replace(limits=program.limits._replace(episodes=jnp.asarray(mark, jnp.int32)))
    wanted = np.asarray(dealt.is_wanted)
    is_open = wanted & (np.asarray(lanes.episode) < mark) & (np.asarray(lanes.steps) < int(program.limits.steps))
    lanes = lanes._replace(is_running=jax.device_put(is_open, dealt.sharding))

    def advance(lanes: Lane, first: int, blocks: int) -> Lane:
        del first
        return run_blocks(program, lanes, jnp.asarray(blocks, jnp.int32), scene=scene, mesh=dealt.mesh)

    for ran in in_chunks(advance, lanes, lambda lanes: lanes.is_running):
        lanes = ran
        _check_unbroken(lanes)
        if progress is not None:
            by_step = np.asarray(lanes.steps) / int(program.limits.steps)
            share = np.maximum(np.asarray(lanes.episode) / scene.episodes, by_step)[wanted]
            progress(float(np.minimum(share, 0.999).mean()), _steps(lanes, wanted))
    return lanes


def _steps(lanes: Lane, is_wanted: Any) -> int:
    return int(np.asarray(lanes.steps, np.int64)[np.asarray(is_wanted)].sum())


def _check_unbroken(lanes: Lane) -> None:
    broken = np.flatnonzero(lanes.is_broken)
    if broken.size:
        *observation, reward = np.asarray(lanes.offence)[broken[0]].tolist()
        raise InvalidInput(
            f"after {int(lanes.steps[broken[0]])} steps the observation is {[float(f'{x:g}') for x in observation]} "
            f"and the reward {reward:g}; allowed: numbers, within the bounds that the environment declares"
        )


def _snapshot(learner: Any, lanes: Lane, scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Visits so far and the counts at the centre of each bin, lane by lane."""
    bins = scene.bins or ()
    edges = [
        low + (high - low) * (np.arange(n) + 0.5) / n for low, high, n in zip(scene.low, scene.high, bins, strict=True)
    ]
    centres = np.stack(np.meshgrid(*edges, indexing="ij"), axis=-1).reshape(-1, len(bins))
    counts = np.asarray(counts_at(learner, lanes.memory, jnp.asarray(centres, float))).sum(axis=-1)
    return np.asarray(lanes.visits), counts.reshape(-1, *bins)


def _dataset(lanes: Lane, settings: list[Setting], seeds: list[int], scene: Scene) -> xr.Dataset:
    import xarray as xr

    episode = np.arange(1, scene.episodes + 1)
    is_recorded = episode <= lanes.episode[..., None]
    returns, lengths = np.moveaxis(np.where(is_recorded[..., None], lanes.records, np.nan), -1, 0)
    dims = ("seed", "setting", "episode")
    data = xr.Dataset(
        {
            "return": (dims, returns),
            "length": (dims, lengths),
            "steps": (dims, np.cumsum(lengths, axis=-1, dtype=np.float64)),
            "total_steps": (dims[:2], lanes.steps),
        },
        coords={"seed": seeds, "setting": labels(settings), "episode": episode},
        attrs={"environment": str(getattr(scene.env, "name", type(scene.env).__name__))},
    )
    if scene.test_every is not None:
        test = scene.test_every * np.arange(1, scene.tests + 1)
        is_tested = test <= lanes.episode[..., None]
        assert lanes.tests is not None
        returns, lengths = np.moveaxis(np.where(is_tested[..., None], lanes.tests, np.nan), -1, 0)
        data = data.assign_coords(test=test)
        data["test_return"] = ((*dims[:2], "test"), returns)
        data["test_length"] = ((*dims[:2], "test"), lengths)
    return data
