"""Test games: networks as they stood, acting almost greedily, from which nothing is learned."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from dorax.agents.atari.agent import PixelAgent
from dorax.agents.atari.learning import choose_actions, with_frames
from dorax.agents.atari.network import PIXELS, STACK, Network, in_blocks, outputs
from dorax.envs.atari import AtariGames

EPSILON = 0.01


def returns_of_tests(
    agent: PixelAgent, networks: Sequence[Network], games: AtariGames, seed: Sequence[int], max_steps: int
) -> np.ndarray:
    """The return of one episode in each game, or of its first steps, networks x games; games are dealt out evenly.

    Networks are tested together: an emulator is busy with many games, and idle with few.
    """
    stacked: Network = jax.tree.map(lambda *leaves: jnp.stack(leaves), *networks)
    seeds = np.random.SeedSequence(seed)
    arrival = games.begin(game_seeds(seeds, games.number))
    key = jax.random.key(int(seeds.generate_state(1)[0]))
    stacks = jnp.zeros((games.number, STACK, PIXELS), jnp.uint8)
    total, is_playing, tick = np.zeros(games.number), np.ones(games.number, bool), 0
    while is_playing.any() and tick < max_steps:
        stacks, actions = _act(agent, stacked, stacks, arrival.frame, arrival.is_first, key, np.int32(tick))
        games.act(np.asarray(actions))
        arrival = games.arrive()
        total += np.where(is_playing, arrival.reward, 0)
        is_playing &= ~(arrival.is_terminal | arrival.is_truncated)
        tick += 1
    return total.reshape(len(networks), -1)


def game_seeds(seeds: np.random.SeedSequence, number: int) -> np.ndarray:
    """A seed for each game, which the emulator takes as 31 bits."""
    return seeds.generate_state(number).astype(np.int64) % 2**31


@partial(jax.jit, static_argnames="agent", donate_argnames="stacks")
def _act(agent: PixelAgent, networks, stacks, frames, is_first, key, tick):
    stacks = with_frames(stacks, in_blocks(frames), is_first)
    number = jax.tree.leaves(networks)[0].shape[0]
    by_network = stacks.reshape(number, -1, *stacks.shape[1:])
    keys = jax.random.split(jax.random.fold_in(key, tick), number)

    def act(own):
        network, stacks, key = own
        return choose_actions(agent, outputs(network, stacks), jnp.asarray(EPSILON), key)

    return stacks, jax.lax.map(act, (networks, by_network, keys)).reshape(-1)
