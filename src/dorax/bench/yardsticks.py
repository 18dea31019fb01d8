"""Benchmarks of speed, as ratios between programs that are timed alternately in the same run."""

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
    """A benchmark's result.

    Attributes:
        name: what was compared.
        ratio: median ratio over the turns.
        lowest: lowest ratio of a turn.
        highest: highest ratio of a turn.
        aim: the target.
        is_met: whether the ratio meets it; None without a target, or with one that is for other devices.
        steps_per_second: median speed.
        reference_steps_per_second: median speed of the reference.
    """

    name: str
    ratio: float
    lowest: float
    highest: float
    aim: str
    is_met: bool | None
    steps_per_second: float
    reference_steps_per_second: float


def measure() -> list[Yardstick]:
    """Run all benchmarks.

    Each pair is timed alternately, so that other load slows both down; the ratio is the median over turns.

    Returns:
        The results.
    """
    e_values = TabularAgent(rule=LLL(Softmax(1.0)), counter=EValues(0.9), learning_rate=0.5, discount=0.9)
    # Sampled actions do not depend on the counts: with either counter a lane takes the same steps.
    drawing, plain = (TabularAgent(rule=Sample(Softmax(3.0)), counter=each) for each in (EValues(0.9), Visits()))
    # A random walk from a random start has similar episodes on a bridge of any length, and visits the whole table.
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
    """Print the results.

    Args:
        found: the results.
        console: where to print a table.
        as_json: print JSON to the standard output instead.
    """
    devices = [f"{device.device_kind} {device.id}" for device in jax.devices()]
    if as_json:
        print(
            json.dumps(
                {"devices": devices, "yardsticks": [asdict(each) for each in found]}, indent=1, ensure_ascii=False
            )
        )
        return
    table = Table(box=None, pad_edge=False, title=f"Ratios, on {', '.join(devices)}")
    for heading in ("benchmark", "ratio", "range", "target", "met", "steps/s", "reference"):
        table.add_column(heading)
    for each in found:
        table.add_row(
            each.name,
            f"{each.ratio:.3g}",
            f"{each.lowest:.3g} – {each.highest:.3g}",
            each.aim,
            {True: "yes", False: "no", None: "–"}[each.is_met],
            f"{each.steps_per_second:.2e}",
            f"{each.reference_steps_per_second:.2e}",
        )
    console.print(table)


def _started_anywhere(mdp: mdps.MDP) -> mdps.MDP:
    return replace(mdp, start=np.full(mdp.states, 1 / mdp.states))


def _engine_rate(agent: TabularAgent, lanes: int, steps: int, mdp: mdps.MDP | None = None) -> float:
    """Measure the steps per second of all lanes together, over a whole call of `train`.

    A lane ends by its number of steps or, if its episodes are very short, of episodes.
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
    """Measure the steps per second on the mountain car with tile coding, over a whole call of `train`."""
    agent = LinearAgent(rule=LLL(Softmax(1.0)), counter=EValues(0.99, form="logistic"))
    began = time.perf_counter()
    data = train(agent, SparseMountainCar(), episodes=steps // 50, seeds=lanes, steps=steps, learners=[]).data
    return float(data.total_steps.sum()) / (time.perf_counter() - began)


def _dense_rate(steps: int = 6000) -> float:
    began = time.perf_counter()
    run_dense_loop(steps)
    return steps / (time.perf_counter() - began)


def by_turns(work: dict[str, Callable[[], float]]) -> dict[str, np.ndarray]:
    """Time functions alternately, after one call each that compiles.

    Args:
        work: functions by name; each returns its speed.

    Returns:
        The speeds of all turns by name.
    """
    for each in work.values():  # compile first
        each()
    return {name: np.asarray(rates) for name, rates in zip(work, _turns(work), strict=True)}


def _turns(work: dict[str, Callable[[], float]]) -> list[tuple[float, ...]]:
    turns = [tuple(each() for each in work.values()) for _ in range(_TURNS)]
    return list(zip(*turns, strict=True))


def yardstick(
    name: str,
    rate: np.ndarray,
    reference: np.ndarray,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    needs_gpu: bool = False,
) -> Yardstick:
    """Compare two series of speeds.

    Args:
        name: what is compared.
        rate: speed in each turn.
        reference: speed of the reference in each turn.
        at_least: target for the speed-up `rate / reference`.
        at_most: target for the cost `reference / rate`; without either, this cost is only shown.
        needs_gpu: whether the target is for a GPU. On a CPU it is then not judged.

    Returns:
        The result.
    """
    ratios = rate / reference if at_least is not None else reference / rate
    ratio, is_met, aim = float(np.median(ratios)), None, "–"
    if at_least is not None:
        is_met, aim = ratio >= at_least, f"≥ {at_least:g}"
    elif at_most is not None:
        is_met, aim = ratio <= at_most, f"≤ {at_most:g}"
    if needs_gpu:
        is_met, aim = None if jax.default_backend() == "cpu" else is_met, f"{aim}, on a GPU"
    ends = float(ratios.min()), float(ratios.max())
    return Yardstick(name, ratio, *ends, aim, is_met, float(np.median(rate)), float(np.median(reference)))
