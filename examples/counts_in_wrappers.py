"""Which features count well in the wrappers, and how the counts of several entries should become one.

python examples/counts_in_wrappers.py

Deep seas of 15 rows, seen through a random map to 64 numbers or as pictures of a diver in front of a background, with
and without noise that is new in every observation. For every kind of features it prints medians over 5 seeds of:

- after 4000 steps of random actions, counting visits: the rank correlation of counts with true visits over all pairs of
  states and actions, and the share of the pairs never visited that has a count of 1 or more;
- after 4000 steps that always take the action with the smallest count of E-values: the share of all pairs visited;
- the time of a step in microseconds, environment included.
"""

import time
from typing import Any

import gymnasium
import numpy as np
from scipy.stats import spearmanr

import dorax

SIZE, STEPS, SEEDS = 15, 4000, 5
STATES = [row * SIZE + column for row in range(SIZE) for column in range(row + 1)]  # those that can be reached
FEATURES = {
    "Table()": dorax.Table(),
    "KWinners(counts='sum')": dorax.KWinners(counts="sum"),
    "KWinners(counts='smallest')": dorax.KWinners(counts="smallest"),
    "HashedCodes()": dorax.HashedCodes(),
    "Prototypes()": dorax.Prototypes(),
}


def vectors(seed: int) -> np.ndarray:
    """Return the vector of every state."""
    return np.random.default_rng(seed).standard_normal((SIZE**2, 64)).astype(np.float32)


def pictures(seed: int) -> np.ndarray:
    """Return the picture of every state: a bright square of 4 x 4 pixels in front of random grey."""
    random = np.random.default_rng(seed)
    drawn = np.repeat(random.integers(0, 100, (1, 4 * SIZE, 4 * SIZE)), SIZE**2, axis=0).astype(np.uint8)
    for state, picture in enumerate(drawn):
        row, column = divmod(state, SIZE)
        picture[4 * row : 4 * row + 4, 4 * column : 4 * column + 4] = 255
    return drawn


def seen(view: np.ndarray, noise: float, random: np.random.Generator) -> np.ndarray:
    """Return an observation: a vector with 16 inputs of noise, or a picture with noise in every pixel."""
    if view.ndim == 1:
        return np.concatenate([view, noise * random.standard_normal(16)]).astype(np.float32)
    return np.clip(view + noise * random.standard_normal(view.shape), 0, 255).astype(np.uint8) if noise else view


def played(
    features: Any, views: np.ndarray, noise: float, seed: int, is_directed: bool
) -> tuple[np.ndarray, np.ndarray, float]:
    """Play; return the counts and the visits of all pairs, and the seconds of a step."""
    space = gymnasium.spaces.Box(-np.inf, np.inf, (80,), np.float32)
    if views.ndim == 3:
        space = gymnasium.spaces.Box(0, 255, views.shape[1:], np.uint8)
    env = gymnasium.make("dorax/DeepSea-v0", size=SIZE, seed=seed)
    counter = dorax.EValues(0.99) if is_directed else dorax.Visits()
    exploration = dorax.Exploration(space, env.action_space, counter=counter, features=features, seed=seed)
    random, visits = np.random.default_rng(seed), np.zeros((SIZE**2, 2))
    state, _ = env.reset(seed=seed)
    observation = seen(views[state], noise, random)
    exploration.begin(observation)
    start = time.perf_counter()
    for _ in range(STEPS):
        action = int(random.integers(2))
        if is_directed:
            counts = exploration.counts.of([observation])[0]
            action = action if counts[0] == counts[1] else int(np.argmin(counts))
        visits[state, action] += 1
        state, reward, terminated, truncated, _ = env.step(action)
        observation = seen(views[state], noise, random)
        exploration.visit(action, float(reward), observation, terminated, truncated)
        if terminated or truncated:
            state, _ = env.reset()
            observation = seen(views[state], noise, random)
            exploration.begin(observation)
    seconds = (time.perf_counter() - start) / STEPS
    counts = exploration.counts.of([seen(views[one], noise, random) for one in STATES])
    return counts, visits[STATES], seconds


if __name__ == "__main__":
    for drawn, noise in ((vectors, 0.0), (pictures, 0.0), (vectors, 1.0), (pictures, 20.0)):
        print(f"{drawn.__name__}, noise {noise}: rank correlation, unvisited that look known, visited, microseconds")
        for name, features in FEATURES.items():
            rows = []
            for seed in range(SEEDS):
                views = drawn(seed)
                counts, visits, seconds = played(features, views, noise, seed, is_directed=False)
                _, directed, _ = played(features, views, noise, seed, is_directed=True)
                known = np.mean(counts[visits == 0] >= 1)
                order = spearmanr(counts.ravel(), visits.ravel())[0] if np.ptp(counts) else 0.0
                rows.append((order, known, np.mean(directed > 0), 1e6 * seconds))
            print("| `{}` | {:.2f} | {:.2f} | {:.2f} | {:.0f} |".format(name, *np.median(rows, axis=0)), flush=True)
