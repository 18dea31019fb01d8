"""Finite MDPs from Gymnasium environments that have a transition table."""

from __future__ import annotations

from typing import Any

import numpy as np

from dorax.core.checks import InvalidInput
from dorax.mdps.mdp import MDP

_WITHOUT_LIMIT = 1000  # max_steps for environments without a time limit


def from_gymnasium(env: Any) -> MDP:
    """Convert an environment with a transition table `P` (FrozenLake, Taxi, CliffWalking, ...) to an MDP.

    Args:
        env: a Gymnasium environment or its id.

    Returns:
        The MDP. Its `max_steps` is the environment's time limit, or 1000 if it has none.

    Raises:
        InvalidInput: if the environment has no transition table.
    """
    if isinstance(env, str):
        import gymnasium

        env = gymnasium.make(env)
    own = getattr(env.unwrapped, "mdp", None)
    if isinstance(own, MDP):  # an environment of dorax has its MDP
        return own
    name = env.spec.id if env.spec else type(env.unwrapped).__name__
    table = getattr(env.unwrapped, "P", None)
    start = getattr(env.unwrapped, "initial_state_distrib", None)
    if table is None or start is None:
        raise InvalidInput(
            f"{name} has no transition table; allowed: environments with P and initial_state_distrib, such as Taxi"
        )

    states, actions = len(table), len(table[0])
    width = max(len(_merged(table[s][a])) for s in range(states) for a in range(actions))
    shape = (states, actions, width)
    successor, terminal = np.zeros(shape, np.int32), np.zeros(shape, bool)
    probability, reward = np.zeros(shape), np.zeros(shape)
    for s in range(states):
        for a in range(actions):
            for k, ((target, gain, ends), chance) in enumerate(_merged(table[s][a]).items()):
                at = (s, a, k)
                successor[at], reward[at], terminal[at], probability[at] = target, gain, ends, chance
    return MDP(
        name=name,
        successor=successor,
        probability=probability,
        reward=reward,
        terminal=terminal,
        start=np.asarray(start, np.float64),
        max_steps=(env.spec and env.spec.max_episode_steps) or _WITHOUT_LIMIT,
        available=np.ones((states, actions), bool),
    )


def _merged(outcomes: list[tuple[float, int, float, bool]]) -> dict[tuple[int, float, bool], float]:
    """Add up the probabilities of outcomes that are otherwise equal."""
    merged: dict[tuple[int, float, bool], float] = {}
    for chance, target, gain, ends in outcomes:
        outcome = (int(target), float(gain), bool(ends))
        merged[outcome] = merged.get(outcome, 0.0) + float(chance)
    return merged
