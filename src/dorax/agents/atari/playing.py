"""A game as a trained network plays it, with what it thinks of each action beside it."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from dorax.agents.atari.learning import choose_actions, with_frames
from dorax.agents.atari.network import PIXELS, STACK, in_blocks, outputs
from dorax.agents.atari.saving import SavedNetwork
from dorax.agents.atari.testing import EPSILON
from dorax.core.checks import check_whole
from dorax.envs.atari import AtariGames, Screen, check_seed
from dorax.envs.films import Moment


def play(saved: SavedNetwork, steps: int, seed: int = 0, epsilon: float = EPSILON) -> Iterator[Moment]:
    """The moments of a game, one a step, until it ends or so many are played."""
    check_whole("steps", steps)
    check_seed(seed)
    training, agent = saved.training, saved.training.agent
    games = AtariGames(training.game, 1, training.sticky)
    screen = Screen(training.game, training.sticky)
    arrival = games.begin([seed])
    picture = screen.begin(seed)
    stacks, score = jnp.zeros((1, STACK, PIXELS), jnp.uint8), 0.0
    outputs_of = jax.jit(outputs)
    for step in range(steps):
        stacks = with_frames(stacks, in_blocks(jnp.asarray(arrival.frame)), jnp.asarray(arrival.is_first))
        out = outputs_of(saved.network, stacks)
        key = jax.random.fold_in(jax.random.key(seed), step)
        action = int(choose_actions(agent, out, jnp.asarray(epsilon), key)[0])
        counts = None if agent.counter is None else np.asarray(agent.counter.count(out.e))[0]
        yield Moment(picture, np.asarray(out.values)[0], counts, action, score)
        games.act(np.asarray([action]))
        arrival = games.arrive()
        picture = screen.step(action)
        score += float(arrival.reward[0])
        if arrival.is_terminal[0] or arrival.is_truncated[0]:
            break
    games.close()
