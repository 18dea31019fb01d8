"""Training: an agent, an MDP and seeds become a labelled dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from dorax.core.checks import InvalidInput, check_probability
from dorax.lanes.running import Progress, by_seed_and_setting, check_whole, deal, in_chunks, seed_list
from dorax.lanes.settings import Setting, labels, setting_list, stacked
from dorax.mdps import MDP
from dorax.tabular.agent import TabularAgent
from dorax.tabular.engine import Lane, Limits, Program, new_lanes, run_blocks
from dorax.tabular.world import World, make_world

if TYPE_CHECKING:
    import xarray as xr


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
        return train(**vars(self), settings=settings, seeds=seeds, progress=progress)


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
    chosen = seed_list(seeds)
    check_whole("episodes", episodes)
    if max_steps is not None:
        check_whole("max_steps", max_steps)
    if until is not None:
        check_probability("until", until)
    variants = setting_list(settings)
    agents = stacked(agent, variants)
    world = make_world(mdp, _shared_discount(agents), states)
    limits = Limits(
        episodes=jnp.asarray(episodes, jnp.int32),
        steps=jnp.asarray(2**31 - 1 if max_steps is None else max_steps, jnp.int32),
        q_error_share=jnp.asarray(-1.0 if until is None else until, float),
    )
    ended = _run(agents, world, limits, len(variants), chosen, _capacity(episodes), lanes, progress)
    ended = ended._replace(records=ended.records[:, :episodes])
    if not tables:  # they may be large: leave them where they are
        ended = ended._replace(tables={}, counts=ended.steps)
    ended = by_seed_and_setting(ended, len(chosen), len(variants))
    data = _dataset(ended, variants, chosen, mdp, tables)
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
    dealt = deal(agents, settings, seeds, least)
    program = Program(dealt.agents, world, limits, dealt.keys)
    lanes = jax.device_put(new_lanes(dealt.agents, world, capacity, dealt.is_wanted), dealt.sharding)

    def advance(lanes: Lane, first: int, blocks: int) -> Lane:
        return run_blocks(
            program, lanes, jnp.asarray(first, jnp.int32), jnp.asarray(blocks, jnp.int32), mesh=dealt.mesh
        )

    for ran in in_chunks(advance, lanes, lambda lanes: lanes.is_running):
        lanes = ran
        if progress is not None:
            share = _share_done(lanes, limits, settings * len(seeds))
            progress(share, int(np.sum(np.asarray(lanes.steps), dtype=np.int64)))
    return lanes


def _capacity(episodes: int) -> int:
    """Room for so many episodes, and often for more: runs of similar length then share one compiled program."""
    return max(1024, 1 << (episodes - 1).bit_length())


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
            "setting": labels(settings),
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
