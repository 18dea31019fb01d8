"""Runs that leave everything in a folder: checkpoints, event files and, at the end, the network."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import jax

from dorax.core.checks import InvalidInput
from dorax.deep.pixels import checkpoints
from dorax.deep.pixels.agent import PixelAgent
from dorax.deep.pixels.events import Events
from dorax.deep.pixels.network import Network, new_network
from dorax.deep.pixels.training import PixelTraining, train_on_screen
from dorax.files import claiming
from dorax.lanes.running import Progress

if TYPE_CHECKING:
    import xarray as xr


class Kept(NamedTuple):
    """A network, and what it was trained for."""

    training: PixelTraining
    network: Network


def train_and_keep(
    training: PixelTraining,
    folder: Path,
    keeps_replay: bool = False,
    progress: Progress | None = None,
    *,
    fresh: bool = False,
) -> xr.Dataset:
    """The curves of a run; what was interrupted goes on from its last checkpoint, unless it is to begin afresh."""
    with claiming(folder) as is_ours:
        if not is_ours:
            raise InvalidInput(f"another process trains in {folder}; allowed: another folder, or when that is done")
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        events = Events(folder / "events")
        try:
            data, network = train_on_screen(
                training, folder, keeps_replay=keeps_replay, progress=progress, watch=events.follow
            )
        finally:
            events.close()
        keep(folder / "network.npz", Kept(training, network))
    return data


def keep(path: Path, kept: Kept) -> None:
    what = {**asdict(kept.training), "actions": int(kept.network.q.out_bias.shape[0])}
    checkpoints.write(path, what, checkpoints.flat("network", kept.network))


def kept(path: Path) -> Kept:
    what, arrays = checkpoints.read(path)
    try:
        actions, agent = what.pop("actions"), PixelAgent(**what.pop("agent"))
        like = jax.eval_shape(
            lambda key: new_network(key, actions, agent.hidden, has_e=agent.e_values is not None), jax.random.key(0)
        )
        return Kept(PixelTraining(agent, **what), checkpoints.unflat("network", like, arrays))
    except (KeyError, TypeError):
        raise InvalidInput(f"{path} holds no network; allowed: the network.npz of a training run") from None
