"""Reference implementation of tile coding: one environment, dense feature vectors, a plain NumPy loop.

LLL softmax with logistic E-values and Q-learning on the sparse mountain car, written like the authors' code and
without `dorax.core`.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

TILINGS, TILES, ACTIONS = 8, 8, 3
LOW, HIGH = np.array([-1.2, -0.07]), np.array([0.6, 0.07])
STRIDE = (TILES + 1) ** 2
SHIFT = np.stack([np.arange(TILINGS) * odd % TILINGS / TILINGS for odd in (1, 3)], axis=1)


def features(observation: np.ndarray) -> np.ndarray:
    """Compute the dense feature vector, with a one for each active tile.

    Args:
        observation: position and velocity.

    Returns:
        The vector.
    """
    place = np.floor((observation - LOW) / (HIGH - LOW) * TILES + SHIFT).astype(int)
    place = np.maximum(place, 0)  # float32 observations may be slightly below the bounds
    dense = np.zeros(TILINGS * STRIDE)
    dense[np.arange(TILINGS) * STRIDE + place[:, 0] * (TILES + 1) + place[:, 1]] = 1.0
    return dense


def run_dense_loop(steps: int, temperature: float = 1.0, seed: int = 0, env: Any = None) -> list[float]:
    """Train for a number of steps.

    Args:
        steps: number of steps.
        temperature: temperature of softmax.
        seed: seed of the run.
        env: a Gymnasium environment; by default the sparse mountain car.

    Returns:
        The returns of finished episodes.
    """
    env = gymnasium.make("dorax/SparseMountainCar-v0") if env is None else env
    random = np.random.default_rng(seed)
    q = 0.01 * random.standard_normal((ACTIONS, TILINGS * STRIDE))
    e = np.zeros_like(q)
    returns: list[float] = []
    state, total = features(env.reset(seed=seed)[0]), 0.0
    action = _choose(q @ state, e @ state, temperature)
    for _ in range(steps):
        observation, reward, terminated, truncated, _ = env.step(action)
        next_state = features(observation)
        values, outputs = q @ next_state, e @ next_state
        next_action = _choose(values, outputs, temperature)
        target = reward + (0.0 if terminated else 0.99 * np.max(values))
        q[action] += 0.1 / TILINGS * (target - q[action] @ state) * state
        now = _sigmoid(e[action] @ state)
        target = 0.0 if terminated else 0.99 * _sigmoid(outputs[next_action])
        e[action] += 0.5 / TILINGS * (target - now) * now * (1 - now) * state
        state, action, total = next_state, next_action, total + float(reward)
        if terminated or truncated:
            returns.append(total)
            state, total = features(env.reset()[0]), 0.0
            action = _choose(q @ state, e @ state, temperature)
    return returns


def _choose(values: np.ndarray, outputs: np.ndarray, temperature: float) -> int:
    """argmax log f - log log E."""
    logits = (values - np.max(values)) / temperature
    return int(np.argmax(logits - np.log(-np.log(_sigmoid(outputs)))))


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))
