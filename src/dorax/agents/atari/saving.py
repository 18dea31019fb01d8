"""Runs that save everything to a folder: checkpoints, event files and, at the end, the network."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import jax

from dorax.agents.atari import checkpoints
from dorax.agents.atari.agent import PixelAgent
from dorax.agents.atari.events import Events
from dorax.agents.atari.network import Network, new_network
from dorax.agents.atari.training import PixelTraining, train_on_screen
from dorax.archive import read_archive, write_archive
from dorax.core.checks import InvalidInput
from dorax.engine.running import Progress
from dorax.files import claiming

if TYPE_CHECKING:
    import xarray as xr


KIND = "network"


class SavedNetwork(NamedTuple):
    """A network, and what it was trained for."""

    training: PixelTraining
    network: Network


def train_and_save(
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
        save_network(folder / "network.npz", SavedNetwork(training, network))
    return data


def save_network(path: Path, saved: SavedNetwork) -> None:
    """Write a network and what it was trained for to one file."""
    facts = {**asdict(saved.training), "actions": int(saved.network.q.out_bias.shape[0])}
    write_archive(path, KIND, facts, checkpoints.flat("network", saved.network))


def load_network(path: Path) -> SavedNetwork:
    """The network that `save_network` wrote."""
    facts, arrays = read_archive(path, KIND)
    try:
        actions, agent = facts.pop("actions"), PixelAgent(**facts.pop("agent"))
        like = jax.eval_shape(
            lambda key: new_network(key, actions, agent.hidden, has_e=agent.counter is not None), jax.random.key(0)
        )
        return SavedNetwork(PixelTraining(agent, **facts), checkpoints.unflat("network", like, arrays))
    except (KeyError, TypeError):
        raise InvalidInput(f"{path} holds no network; allowed: the network.npz of a training run") from None
