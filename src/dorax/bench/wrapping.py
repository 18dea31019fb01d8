"""The time that wrappers add to a step of an environment, and that importing dorax adds to importing JAX."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from dorax.bench.yardsticks import Yardstick, by_turns, yardstick
from dorax.wrappers import EValueBonus

_STEPS = 4_000  # per turn


class _Images(gymnasium.Env[np.ndarray, int]):
    """Random images, drawn in advance, so that a step of the environment itself takes no time."""

    observation_space = spaces.Box(0, 255, (84, 84, 4), np.uint8)
    action_space = spaces.Discrete(4)

    def __init__(self) -> None:
        self._images = np.random.default_rng(0).integers(256, size=(64, 84, 84, 4), dtype=np.uint8)
        self._at = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        del seed, options
        return self._images[0], {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        del action
        self._at = (self._at + 1) % 64
        return self._images[self._at], 0.0, False, False, {}


def measure() -> list[Yardstick]:
    """Measure the microseconds that `EValueBonus` adds to a step with tables, tiles and random codes."""
    makers: dict[str, tuple[Callable[[], Any], int, float]] = {
        "table": (lambda: gymnasium.make("FrozenLake-v1"), _STEPS, 40.0),
        "tiles": (lambda: gymnasium.make("MountainCar-v0"), _STEPS, 250.0),
        "network, pictures of 84 x 84 x 4": (_Images, _STEPS // 20, 2_500.0),
    }
    work: dict[str, Callable[[], float]] = {"jax": lambda: _import_rate("jax"), "dorax": lambda: _import_rate("dorax")}
    for name, (make, steps, _) in makers.items():
        work |= {f"{name}, bare": _rate_of(make(), steps), name: _rate_of(EValueBonus(make()), steps)}
    rates = by_turns(work)
    added = [_added(name, rates[name], rates[f"{name}, bare"], most) for name, (_, _, most) in makers.items()]
    return [
        *added,
        yardstick("time to import dorax, over that to import jax", rates["dorax"], rates["jax"], at_most=1.1),
    ]


def _rate_of(env: gymnasium.Env[Any, Any], steps: int) -> Callable[[], float]:
    random = np.random.default_rng(0)
    actions = random.integers(env.action_space.n, size=steps).tolist()  # type: ignore[attr-defined]

    def rate() -> float:
        env.reset(seed=0)
        began = time.perf_counter()
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return steps / (time.perf_counter() - began)

    return rate


def _added(name: str, rate: np.ndarray, bare: np.ndarray, most: float) -> Yardstick:
    added = 1e6 / rate - 1e6 / bare
    middle = float(np.median(added))
    words = f"microseconds that a bonus adds to a step: {name}"
    ends = float(added.min()), float(added.max())
    return Yardstick(
        words, middle, *ends, f"≤ {most:g}", middle <= most, float(np.median(rate)), float(np.median(bare))
    )


def _import_rate(module: str) -> float:
    """Return imports per second, each in a new Python process."""
    code = f"import time; began = time.perf_counter(); import {module}; print(time.perf_counter() - began)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return 1 / float(printed.stdout)
