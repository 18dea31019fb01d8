"""A finite MDP laid out for the engine: on the device, with its exact answers beside it."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dorax.mdps import MDP


class World(NamedTuple):
    """Arrays over states x actions (x successors), and alias tables of the start distribution.

    `successor` is -1 where the episode ends. `answer` holds Q* and the weight of each
    pair in q_error, `answer_moments` the weighted mean and variance of Q*.
    """

    successor: jax.Array
    cumulative: jax.Array
    reward: jax.Array
    available: jax.Array
    answer: jax.Array
    answer_moments: jax.Array
    start_accept: jax.Array
    start_alias: jax.Array
    start_state: jax.Array
    max_steps: jax.Array

    def move(self, state: jax.Array, action: jax.Array, uniform: jax.Array):
        """Successor, reward and end of one step."""
        k = 0
        if self.successor.shape[2] > 1:
            k = jnp.sum(uniform >= self.cumulative[state, action, :-1])
        successor = self.successor[state, action, k]
        return jnp.maximum(successor, 0), self.reward[state, action, k], successor < 0

    def start(self, uniform: jax.Array) -> jax.Array:
        """A start state, by Walker's alias method: constant time whatever their number."""
        scaled = uniform * self.start_accept.shape[0]
        index = jnp.minimum(scaled.astype(jnp.int32), self.start_accept.shape[0] - 1)
        is_kept = scaled - index < self.start_accept[index]
        return jnp.where(is_kept, self.start_state[index], self.start_alias[index])


def make_world(mdp: MDP, discount: float, least_states: int = 1) -> World:
    """Padded with unreachable states, so that MDPs of similar size share one compiled program."""
    padding = _padded_size(max(mdp.states, least_states)) - mdp.states

    def padded(array: np.ndarray, dtype: type) -> jax.Array:
        return jnp.asarray(np.pad(array, [(0, padding)] + [(0, 0)] * (array.ndim - 1)), dtype)

    optimal_q = np.where(mdp.available, mdp.optimal_q(discount), 0.0)
    occupancy = mdp.optimal_occupancy(discount)
    mean = np.sum(occupancy * optimal_q)
    variance = np.sum(occupancy * (optimal_q - mean) ** 2)
    accept, alias = _alias_table(mdp.start)
    state = np.flatnonzero(mdp.start)
    return World(
        successor=padded(np.where(mdp.terminal, -1, mdp.successor), jnp.int32),
        cumulative=padded(np.cumsum(mdp.probability, axis=2), float),
        reward=padded(mdp.reward, float),
        available=padded(mdp.available, bool),
        answer=padded(np.stack([optimal_q, occupancy], axis=-1), float),
        answer_moments=jnp.asarray([mean, variance], float),
        start_accept=jnp.asarray(accept, float),
        start_alias=jnp.asarray(state[alias], jnp.int32),
        start_state=jnp.asarray(state, jnp.int32),
        max_steps=jnp.asarray(mdp.max_steps, jnp.int32),
    )


def _padded_size(states: int) -> int:
    """The next power of 4, and a few: memory is cheap, a compilation is a second.

    The few keep the tables of neighbouring lanes from falling on the same cache lines.
    """
    size = 16
    while size < states:
        size *= 4
    return size + 8


def _alias_table(probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Walker's alias method: keep index i with probability accept[i], else take alias[i]."""
    weight = probability[probability > 0] * np.count_nonzero(probability)
    accept, alias = np.ones(len(weight)), np.arange(len(weight))
    small = [i for i, w in enumerate(weight) if w < 1]
    large = [i for i, w in enumerate(weight) if w >= 1]
    while small and large:
        i, j = small.pop(), large[-1]
        accept[i], alias[i] = weight[i], j
        weight[j] -= 1 - weight[i]
        if weight[j] < 1:
            small.append(large.pop())
    return accept, alias
