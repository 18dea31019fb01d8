"""How fast agents learn from the screen, held against the emulator alone and against a known implementation."""

from __future__ import annotations

import time
from collections.abc import Callable

import jax
import numpy as np

from dorax.agents.atari.agent import PixelAgent
from dorax.agents.atari.training import PixelTraining, ScreenRun
from dorax.bench.yardsticks import Yardstick, by_turns, yardstick

CLEANRL = 334.0  # agent steps a second of CleanRL's dqn_atari, as measured on an H200 with 16 cores
_STEPS = 20_000  # a turn


def measure() -> list[Yardstick]:
    """Steps a second once learning goes on, at 8 replayed samples a step; on a CPU, of few steps and a small replay."""
    is_cpu = jax.default_backend() == "cpu"
    steps, games = (200, 16) if is_cpu else (_STEPS, 128)
    starts = 16 * games
    capacity = 2_000 if is_cpu else 1_000_000
    agents = {
        bonus: PixelAgent(bonus=bonus, capacity=max(capacity, starts), learning_starts=starts)
        for bonus in ("none", "e-values", "density")
    }
    runs = {bonus: _learning(agent, games) for bonus, agent in agents.items()}
    work = {bonus: _rate_of(run, steps) for bonus, run in runs.items()}
    rates = by_turns({**work, "emulator": lambda: _emulator_rate(runs["none"], steps)})
    for run in runs.values():
        run.close()
    found = rates["e-values"]
    return [
        yardstick("E-values over CleanRL's dqn_atari, 334 steps/s", found, np.full(len(found), CLEANRL), at_least=20),
        yardstick("cost of a step, E-values over DQN", found, rates["none"], at_most=1.15),
        yardstick("cost of a step, density model over DQN", rates["density"], rates["none"], at_most=3.0),
        yardstick("cost of a step, E-values over the emulator alone", found, rates["emulator"], at_most=2.0),
    ]


def _learning(agent: PixelAgent, games: int) -> ScreenRun:
    run = ScreenRun(PixelTraining(agent, games=games))
    run.begin()
    while run.step <= agent.learning_starts + games:
        run.advance()
    return run


def _rate_of(run: ScreenRun, steps: int) -> Callable[[], float]:
    def rate() -> float:
        began, first = time.perf_counter(), run.step
        while run.step - first < steps:
            run.advance()
        jax.block_until_ready(run.learner)
        return (run.step - first) / (time.perf_counter() - began)

    return rate


def _emulator_rate(run: ScreenRun, steps: int) -> float:
    """The same games with nobody to look at them, all at once."""
    began, done = time.perf_counter(), 0
    while done < steps:
        for group in run.groups:
            group.arrive()
            group.act(np.ones(group.games.number, np.int32))
            done += group.games.number
    return done / (time.perf_counter() - began)
