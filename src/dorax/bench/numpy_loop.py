"""Reference implementation for tables: one learner in a plain NumPy loop.

LLL softmax with E-values and Q-learning, written without `dorax.core`. It is the baseline of `dorax bench` and an
oracle for the engine's tests, so it uses random numbers in the same order as the engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dorax.mdps import MDP


class LoopAgent(NamedTuple):
    """Parameters of the agent.

    Attributes:
        temperature: temperature of softmax.
        learning_rate: the paper's alpha.
        discount: the paper's gamma.
        e_discount: the paper's gamma_E.
    """

    temperature: float = 1.0
    learning_rate: float = 0.5
    discount: float = 0.9
    e_discount: float = 0.9


class LoopResult(NamedTuple):
    """Results of a run.

    Attributes:
        q: values, states x actions.
        counts: generalized counts, states x actions.
        returns: return of each episode.
        lengths: steps of each episode.
        q_errors: error of Q after each episode.
    """

    q: np.ndarray
    counts: np.ndarray
    returns: list[float]
    lengths: list[int]
    q_errors: list[float]


def run_loop(agent: LoopAgent, mdp: MDP, episodes: int, uniforms: Iterator[np.ndarray]) -> LoopResult:
    """Train on a deterministic MDP with a single start state.

    Args:
        agent: parameters of the agent.
        mdp: the MDP.
        episodes: number of episodes.
        uniforms: yields two uniform random numbers per step.

    Returns:
        The results.
    """
    q = np.zeros((mdp.states, mdp.actions))
    counts = np.zeros((mdp.states, mdp.actions))
    optimal_q, weight = mdp.optimal_q(agent.discount), mdp.optimal_occupancy(agent.discount)
    successor, reward, terminal = mdp.successor[..., 0], mdp.reward[..., 0], mdp.terminal[..., 0]
    start = int(np.argmax(mdp.start))
    log_decay = np.log(1 - agent.learning_rate)
    log_weight = np.log(agent.learning_rate * agent.e_discount) if agent.e_discount > 0 else -np.inf
    q_error = np.sum(weight * (q - optimal_q) ** 2)
    result = LoopResult(q, counts, [], [], [])

    for _ in range(episodes):
        s, total, length, is_over = start, 0.0, 0, False
        a = a_next = _choose(q[s], counts[s], agent.temperature, next(uniforms)[1])
        while not is_over:
            uniform = next(uniforms)[1]
            r, ends, s_next = reward[s, a], terminal[s, a], successor[s, a]
            total, length = total + r, length + 1
            before = weight[s, a] * (q[s, a] - optimal_q[s, a]) ** 2
            if ends:
                counts[s, a] += 1
                target = r
            else:
                a_next = _choose(q[s_next], counts[s_next], agent.temperature, uniform)
                kept, bootstrapped = log_decay * (counts[s, a] + 1), log_weight + log_decay * counts[s_next, a_next]
                counts[s, a] = np.logaddexp(kept, bootstrapped) / log_decay
                target = r + agent.discount * np.max(q[s_next])
            q[s, a] += agent.learning_rate * (target - q[s, a])
            q_error += weight[s, a] * (q[s, a] - optimal_q[s, a]) ** 2 - before
            is_over = ends or length >= mdp.max_steps
            if not is_over:
                s, a = s_next, a_next
        result.returns.append(total)
        result.lengths.append(length)
        result.q_errors.append(q_error)
    return result


def _choose(values: np.ndarray, counts: np.ndarray, temperature: float, uniform: float) -> int:
    """Return argmax log f - log C, untried actions first, with ties broken by `uniform`."""
    logits = (values - np.max(values)) / temperature
    log_f = logits - np.log(np.sum(np.exp(logits)))
    untried = counts == 0
    score = np.where(untried, log_f, -np.inf) if untried.any() else log_f - np.log(counts)
    best = np.flatnonzero(score == np.max(score))
    return int(best[int(uniform * len(best))])
