"""How fast agents learn from the screen, held against the emulator alone and against a known implementation."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import jax
import numpy as np

from dorax.agents.atari import AtariAgent, DensityModel
from dorax.bench.yardsticks import Yardstick, by_turns, yardstick
from dorax.core import EValues, InverseRootCount, InverseRootLogE
from dorax.engine.host import HostRun, HostTraining
from dorax.envs import Atari

CLEANRL = 334.0  # agent steps a second of CleanRL's dqn_atari, as measured on an H200 with 16 cores
_STEPS = 20_000  # a turn


def measure() -> list[Yardstick]:
    """Steps a second once learning goes on, at 8 replayed samples a step; on a CPU, of few steps and a small replay."""
    is_cpu = jax.default_backend() == "cpu"
    steps, games = (200, 16) if is_cpu else (_STEPS, 128)
    starts = 16 * games
    capacity = 2_000 if is_cpu else 1_000_000
    plain = AtariAgent(capacity=max(capacity, starts), learning_starts=starts, games=games)
    agents = {
        "none": plain,
        "e-values": replace(plain, counter=EValues(0.99, form="logistic"), bonus=InverseRootLogE(0.05, floor=0.01)),
        "density": replace(plain, counter=DensityModel(), bonus=InverseRootCount(0.05, floor=0.01)),
    }
    runs = {name: _learning(agent) for name, agent in agents.items()}
    work = {name: _rate_of(run, steps) for name, run in runs.items()}
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


def _learning(agent: AtariAgent) -> HostRun:
    run = HostRun(HostTraining(agent, Atari("freeway"), steps=2**31 - 1))
    run.begin()
    while run.step <= agent.learning_starts + agent.games:
        run.advance()
    return run


def _rate_of(run: HostRun, steps: int) -> Callable[[], float]:
    def rate() -> float:
        began, first = time.perf_counter(), run.step
        while run.step - first < steps:
            run.advance()
        jax.block_until_ready(run.memory)
        return (run.step - first) / (time.perf_counter() - began)

    return rate


def _emulator_rate(run: HostRun, steps: int) -> float:
    """The same games with nobody to look at them, all at once."""
    began, done = time.perf_counter(), 0
    while done < steps:
        for group in run.groups:
            group.arrive()
            group.act(np.ones(group.games.number, np.int32))
            done += group.games.number
    return done / (time.perf_counter() - began)
