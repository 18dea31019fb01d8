"""Which counters see through noise: deep seas through a random map, with noise as large as the signal.

python examples/counters_under_noise.py 10 20

A line has the size of the sea, the counter's features, how many seeds have a greedy return of at least 0.95 for the
last tenth of the run, and the step from which on each of them has it.
"""

import sys
import time

import numpy as np

import dorax

NOISE, SEEDS = 2.0, 3
STEPS = {10: 100_000, 20: 200_000}
FEATURES = [
    dorax.LearnedPrototypes(),
    dorax.Prototypes(),
    dorax.HashedCodes(),
    dorax.RandomStart(),
    dorax.CountNetwork(),
]

for size in map(int, sys.argv[1:] or ["10"]):
    seas = [dorax.envs.DenseView(dorax.mdps.deep_sea(size, seed), seed, noise=NOISE) for seed in range(SEEDS)]
    for features in FEATURES:
        agent = dorax.ParallelAgent(
            rule=dorax.LLL(dorax.Softmax(0.05)), counter=dorax.EValues(0.99, features=features), games=32
        )
        start = time.time()
        result = dorax.train(agent, seas, steps=STEPS.get(size, 400_000), seeds=SEEDS, learners=[])
        greedy = np.atleast_2d(result.data.greedy_return.values)
        step = np.linspace(0, STEPS.get(size, 400_000), greedy.shape[1] + 1)[1:]
        is_solved = np.nan_to_num(greedy, nan=1.0) >= 0.95
        since = [np.flatnonzero(~row)[-1] + 1 if not row.all() else 0 for row in is_solved]
        kept = [f"{step[i]:.0f}" for i in since if i <= 0.9 * len(step)]
        name = type(features).__name__
        print(f"{size} {name}: {len(kept)} of {SEEDS} {kept}, {time.time() - start:.0f} s", flush=True)
