"""The yardsticks: speed as ratios between things timed by turns in the same run."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

from dorax import mdps
from dorax.agents.linear import LinearAgent
from dorax.agents.tabular import TabularAgent
from dorax.bench.dense_loop import run_dense_loop
from dorax.bench.numpy_loop import LoopAgent, run_loop
from dorax.core import LLL, EpsilonGreedy, EValues, Sample, Softmax, Visits
from dorax.engine.training import train
from dorax.envs import SparseMountainCar

_TURNS = 7


@dataclass(frozen=True)
class Yardstick:
    """A ratio with the range of the turns, what it is held against, and the rates behind it."""

    name: str
    ratio: float
    lowest: float
    highest: float
    aim: str
    is_met: bool
    steps_per_second: float
    reference_steps_per_second: float


def measure() -> list[Yardstick]:
    """Each pair is timed by turns, so that a busy machine slows both; the ratio is the median over turns."""
    e_values = TabularAgent(rule=LLL(Softmax(1.0)), counter=EValues(0.9), learning_rate=0.5, discount=0.9)
    # Drawn actions do not depend on the counts: with either counter a lane lives through the same steps.
    drawing, plain = (TabularAgent(rule=Sample(Softmax(3.0)), counter=each) for each in (EValues(0.9), Visits()))
    # A walk at random from anywhere has the same episodes on a bridge of any length, and uses all of its table.
    walking = TabularAgent(rule=Sample(EpsilonGreedy(1.0)), counter=EValues(0.9))
    long_bridge = mdps.bridge(15_000)
    short, long = (_started_anywhere(mdp) for mdp in (mdps.bridge(15), long_bridge))
    rates = by_turns(
        {
            "numpy": _numpy_rate,
            "50": lambda: _engine_rate(e_values, 50, steps=40_000),
            "1000": lambda: _engine_rate(e_values, 1000, steps=6_000),
            "long": lambda: _engine_rate(e_values, 50, steps=40_000, mdp=long_bridge),
            "e-values": lambda: _engine_rate(drawing, 50, steps=40_000),
            "visits": lambda: _engine_rate(plain, 50, steps=40_000),
            "15": lambda: _engine_rate(walking, 50, steps=160_000, mdp=short),
            "15000": lambda: _engine_rate(walking, 50, steps=160_000, mdp=long),
            "dense": _dense_rate,
            "tiles": lambda: _tile_rate(50, steps=60_000),
        }
    )
    return [
        yardstick("engine over NumPy loop, 50 lanes", rates["50"], rates["numpy"], at_least=100),
        yardstick("engine over NumPy loop, 1000 lanes", rates["1000"], rates["numpy"], at_least=250),
        yardstick("cost of a step, 15 000 states over 15", rates["long"], rates["50"], at_most=2.0),
        yardstick("the same, a random walk from anywhere", rates["15000"], rates["15"], at_most=2.0),
        yardstick("cost of a step, E-values over visits", rates["e-values"], rates["visits"], at_most=1.5),
        yardstick("tiles over dense features in a loop, 50 lanes", rates["tiles"], rates["dense"], at_least=250),
    ]


def print_yardsticks(found: list[Yardstick], console: Console, as_json: bool) -> None:
    devices = [f"{device.device_kind} {device.id}" for device in jax.devices()]
    if as_json:
        print(
            json.dumps(
                {"devices": devices, "yardsticks": [asdict(each) for each in found]}, indent=1, ensure_ascii=False
            )
        )
        return
    table = Table(box=None, pad_edge=False, title=f"Ratios, on {', '.join(devices)}")
    for heading in ("yardstick", "ratio", "range", "aim", "met", "steps/s", "reference"):
        table.add_column(heading)
    for each in found:
        table.add_row(
            each.name,
            f"{each.ratio:.3g}",
            f"{each.lowest:.3g} – {each.highest:.3g}",
            each.aim,
            "yes" if each.is_met else "no",
            f"{each.steps_per_second:.2e}",
            f"{each.reference_steps_per_second:.2e}",
        )
    console.print(table)


def _started_anywhere(mdp: mdps.MDP) -> mdps.MDP:
    return replace(mdp, start=np.full(mdp.states, 1 / mdp.states))


def _engine_rate(agent: TabularAgent, lanes: int, steps: int, mdp: mdps.MDP | None = None) -> float:
    """Steps of all lanes per second, a whole call of `train` with its records and its dataset.

    A lane ends by its steps or, if its episodes are very short, by their number.
    """
    mdp = mdps.bridge(15) if mdp is None else mdp
    began = time.perf_counter()
    data = train(agent, mdp, episodes=steps // 4, seeds=lanes, steps=steps, learners=[]).data
    return float(data.total_steps.sum()) / (time.perf_counter() - began)


def _numpy_rate() -> float:
    uniforms = itertools.cycle(np.random.default_rng(0).random((100_000, 2)))
    began = time.perf_counter()
    result = run_loop(LoopAgent(), mdps.bridge(15), 1000, uniforms)
    return sum(result.lengths) / (time.perf_counter() - began)


def _tile_rate(lanes: int, steps: int) -> float:
    """The mountain car by tile coding: steps of all lanes per second, a whole call with its dataset."""
    agent = LinearAgent(rule=LLL(Softmax(1.0)), counter=EValues(0.99, form="logistic"))
    began = time.perf_counter()
    data = train(agent, SparseMountainCar(), episodes=steps // 50, seeds=lanes, steps=steps, learners=[]).data
    return float(data.total_steps.sum()) / (time.perf_counter() - began)


def _dense_rate(steps: int = 6000) -> float:
    began = time.perf_counter()
    run_dense_loop(steps)
    return steps / (time.perf_counter() - began)


def by_turns(work: dict[str, Callable[[], float]]) -> dict[str, np.ndarray]:
    for each in work.values():  # the turn that compiles does not count
        each()
    return {name: np.asarray(rates) for name, rates in zip(work, _turns(work), strict=True)}


def _turns(work: dict[str, Callable[[], float]]) -> list[tuple[float, ...]]:
    turns = [tuple(each() for each in work.values()) for _ in range(_TURNS)]
    return list(zip(*turns, strict=True))


def yardstick(
    name: str, rate: np.ndarray, reference: np.ndarray, *, at_least: float | None = None, at_most: float | None = None
) -> Yardstick:
    """A speed-up if it has to be at least something, a cost (its inverse) if at most."""
    ratios = rate / reference if at_least is not None else reference / rate
    ratio = float(np.median(ratios))
    is_met = ratio >= at_least if at_least is not None else ratio <= (at_most or 0.0)
    aim = f"≥ {at_least:g}" if at_least is not None else f"≤ {at_most:g}"
    ends = float(ratios.min()), float(ratios.max())
    return Yardstick(name, ratio, *ends, aim, bool(is_met), float(np.median(rate)), float(np.median(reference)))
