"""The speed of agents that play many games, on the deep sea of 20, and what it costs to act by counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import numpy as np

from dorax import mdps
from dorax.agents.explorers.presets import preset
from dorax.agents.parallel import ParallelAgent
from dorax.bench.yardsticks import Yardstick, by_turns, yardstick
from dorax.engine.training import train

TARGET = 2e6  # steps per second of all seeds on an H200
_ROWS = 20
_EXPLORERS = ("e-values", "rnd", "epsilon-greedy")


def measure(seeds: int | None = None, steps: int | None = None, **sizes: Any) -> list[Yardstick]:
    """Time whole calls of `train`, and how much longer the first one takes.

    Args:
        seeds: number of seeds side by side; by default 32, or two for each device of a CPU.
        steps: number of steps of each seed; by default such that a call takes some seconds.
        **sizes: sizes of the agent, such as `games`, in place of its own.

    Returns:
        The results.
    """
    is_cpu = jax.default_backend() == "cpu"
    number = (2 * jax.device_count() if is_cpu else 32) if seeds is None else seeds
    length = (40_000 if is_cpu else 500_000) if steps is None else steps
    seas = [mdps.deep_sea(_ROWS, seed) for seed in range(number)]
    work = {name: partial(_rate, ParallelAgent(**preset(name), **sizes), seas, length) for name in _EXPLORERS}
    seconds = _compile_seconds(work["e-values"])
    return judged(by_turns(work), seconds)


def judged(rates: Mapping[str, np.ndarray], compile_seconds: float) -> list[Yardstick]:
    """Hold what was timed against the targets.

    Args:
        rates: steps per second in each turn, by explorer.
        compile_seconds: how long it took to compile the program of E-values.

    Returns:
        The results.
    """
    e_values, rnd, plain = (rates[name] for name in _EXPLORERS)
    compiled = np.array([1 / compile_seconds])  # programs per second
    return [
        yardstick(
            f"E-values over {TARGET:.0e} steps/s", e_values, np.full(len(e_values), TARGET), at_least=1, needs_gpu=True
        ),
        yardstick("cost of a step, E-values over ε-greedy", e_values, plain, at_most=1.25),
        yardstick("cost of a step, RND over ε-greedy", rnd, plain),
        yardstick("seconds to compile, E-values", compiled, np.ones(1), at_most=30),
    ]


def _rate(agent: ParallelAgent, seas: list[mdps.MDP], steps: int) -> float:
    began = time.perf_counter()
    data = train(agent, seas, steps=steps, seeds=len(seas), learners=[]).data
    return float(data.total_steps.sum()) / (time.perf_counter() - began)


def _compile_seconds(work: Callable[[], Any]) -> float:
    """Return how much longer the first call takes than the second."""
    times: list[float] = []
    for _ in range(2):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return max(times[0] - times[1], 1e-3)
