"""Beyond the paper: how the time to solve a problem grows with its size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from dorax import mdps
from dorax.agents.tabular import QLearning, TabularAgent
from dorax.core import LLL, UCB, EpsilonGreedy, EValues, Sample, Softmax, Visits
from dorax.engine.training import Training
from dorax.mdps import MDP
from dorax.study import figures
from dorax.study.claims import Claim, Estimate, time_ratio
from dorax.study.experiment import AXES, Answer, Axis, Condition, Experiment, Finding, Size, Table
from dorax.study.measures import THRESHOLD, times_to_threshold
from dorax.study.results import LeftOut, Results
from dorax.study.statistics import Interval, Times, bootstrap, median

LEARNING_RATE = 0.5
RESAMPLES = 2000
RULES = ("LLL softmax", "UCB")
LIMITS = {"epsilon": (1.0,)}
QUICK_AGENTS = ("ε-greedy", "LLL softmax, visits", "LLL softmax, E-values", "optimistic Q-learning")  # of a quick run


@dataclass(frozen=True)
class Family:
    """Problems of one kind in several sizes. The discount of a problem is 1 - 1/size.

    Attributes:
        name: name of the problem.
        symbol: symbol of the size.
        sizes: the sizes.
        make: creates the MDP of a size.
        optimistic_value: initial value for optimistic Q-learning.
        temperatures: grid of temperatures.
        scales: grid of UCB's scale.
    """

    name: str
    symbol: str
    sizes: Sequence[int]
    make: Callable[[int], MDP]
    optimistic_value: float
    temperatures: Sequence[float]
    scales: Sequence[float]


BRIDGE = Family(
    name="bridge",
    symbol="k",
    sizes=(4, 6, 9, 14, 21, 32),
    make=mdps.bridge,
    optimistic_value=10.0,
    temperatures=(0.3, 1.0, 3.0, 10.0, 30.0),
    scales=(0.1, 1.0, 10.0, 30.0, 100.0),
)
DEEP_SEA = Family(
    name="deep sea",
    symbol="N",
    sizes=(4, 6, 8, 12, 18, 26),
    make=mdps.deep_sea,
    optimistic_value=1.0,
    temperatures=(0.003, 0.01, 0.1, 1.0, 10.0),
    scales=(0.01, 0.1, 1.0, 10.0, 100.0),
)
FAMILIES = (BRIDGE, DEEP_SEA)

STYLES: dict[str, dict[str, Any]] = {
    "ε-greedy": {"color": figures.COLOURS[1], "linestyle": ":"},
    "softmax": {"color": figures.COLOURS[0], "linestyle": ":"},
    "LLL softmax, visits": {"color": figures.COLOURS[0], "linestyle": "--"},
    "LLL softmax, E-values": {"color": figures.COLOURS[0], "linestyle": "-"},
    "UCB, visits": {"color": figures.COLOURS[2], "linestyle": "--", "marker": "s", "fillstyle": "none"},
    "UCB, E-values": {"color": figures.COLOURS[2], "linestyle": "-", "marker": "s", "fillstyle": "none"},
    "optimistic Q-learning": {"color": figures.COLOURS[3], "linestyle": "-."},
}


def agents(family: Family, size: int) -> dict[str, tuple[TabularAgent, dict[str, Sequence[float]]]]:
    """Create the agents for one problem.

    Args:
        family: kind of problem.
        size: its size.

    Returns:
        For each agent by name, the agent and its grid.
    """
    discount = 1 - 1 / size

    def agent(rule: Any, counter: Any, initial_value: float = 0.0) -> TabularAgent:
        learner = QLearning(initial_value)
        return TabularAgent(rule, counter, None, learner, learning_rate=LEARNING_RATE, discount=discount)

    temperatures, scales = {"temperature": family.temperatures}, {"scale": family.scales}
    return {
        "ε-greedy": (agent(Sample(EpsilonGreedy(0.1)), Visits()), {"epsilon": (0.01, 0.1, 0.3, 0.6, 1.0)}),
        "softmax": (agent(Sample(Softmax(1.0)), Visits()), temperatures),
        "LLL softmax, visits": (agent(LLL(Softmax(1.0)), Visits()), temperatures),
        "LLL softmax, E-values": (agent(LLL(Softmax(1.0)), EValues(discount)), temperatures),
        "UCB, visits": (agent(UCB(1.0), Visits()), scales),
        "UCB, E-values": (agent(UCB(1.0), EValues(discount)), scales),
        "optimistic Q-learning": (agent(Sample(EpsilonGreedy(0.0)), Visits(), family.optimistic_value), {}),
    }


def name_of(agent: str, family: Family, size: int) -> str:
    """Return the name of a condition.

    Args:
        agent: name of the agent.
        family: kind of problem.
        size: its size.

    Returns:
        The name.
    """
    return f"{agent}, {family.name} {family.symbol} = {size}"


def conditions(size: Size) -> Sequence[Condition]:
    """One condition per problem, size and agent."""
    found: list[Condition] = []
    for family in FAMILIES:
        for problem in family.sizes if size.is_full else family.sizes[:3]:
            for name, (agent, grid) in agents(family, problem).items():
                if not size.is_full and name not in QUICK_AGENTS:
                    continue
                training = Training(
                    agent,
                    family.make(problem),
                    episodes=size.of(10_000),
                    steps=size.of(50_000),
                    until=THRESHOLD,
                    lanes=64,
                    states=1024,
                )
                found.append(Condition(name_of(name, family, problem), training, grid, LIMITS))
    return found


@dataclass(frozen=True)
class Growth:
    """Solution times of one agent over the sizes of a problem.

    Attributes:
        sizes: the sizes that were run.
        times: the times for each size.
        is_solved: whether more than half of the runs of each size solved the problem.
    """

    sizes: np.ndarray
    times: list[Times]
    is_solved: np.ndarray

    def slopes(self, sizes: np.ndarray) -> tuple[float, np.ndarray]:
        """Fit the slope of log median time against log size.

        Args:
            sizes: the sizes to use.

        Returns:
            The slope, and the slopes of bootstrap resamples.
        """
        # A censored run counts with the time when it ended: the median is then too low instead of infinite.
        chosen = [time.earliest for size, time in zip(self.sizes, self.times, strict=True) if size in sizes]
        rng = np.random.default_rng(0)
        draws = np.stack([median(time[rng.integers(0, len(time), (RESAMPLES, len(time)))]) for time in chosen])
        medians = np.asarray([median(time) for time in chosen])
        return float(np.polyfit(np.log(sizes), np.log(medians), 1)[0]), np.polyfit(np.log(sizes), np.log(draws), 1)[0]


def growth(results: Results, agent: str, family: Family, axis: Axis) -> Growth:
    """Collect the times of one agent over all sizes.

    Args:
        results: results of the experiment.
        agent: name of the agent.
        family: kind of problem.
        axis: whether time is counted in episodes or in steps.

    Returns:
        The times.
    """
    present = [problem for problem in family.sizes if name_of(agent, family, problem) in results.conditions]
    if not present:
        raise LeftOut(agent)
    times = [times_to_threshold(results[name_of(agent, family, p)].data(axis), axis) for p in present]
    is_solved = np.asarray([np.isfinite(median(time.latest)) for time in times])
    return Growth(np.asarray(present, float), times, is_solved)


def exponent(found: Growth) -> Interval:
    """Estimate the exponent over all solved sizes.

    Args:
        found: the times.

    Returns:
        The exponent; NaN if fewer than three sizes are solved.
    """
    solved = found.sizes[found.is_solved]
    if len(solved) < 3:
        return Interval(np.nan, np.nan, np.nan)
    value, draws = found.slopes(solved)
    return Interval(value, *(float(end) for end in np.quantile(draws, (0.025, 0.975))))


def largest_solved(results: Results, agent: str, family: Family, axis: Axis) -> float:
    """Find the largest size that an agent solves.

    Args:
        results: results of the experiment.
        agent: name of the agent.
        family: kind of problem.
        axis: whether time is counted in episodes or in steps.

    Returns:
        The size; 0 if it solves none.
    """
    found = growth(results, agent, family, axis)
    return float(found.sizes[found.is_solved].max()) if found.is_solved.any() else 0.0


def exponent_claim(family: Family, rule: str, axis: Axis) -> Claim:
    """Claim that E-values lower the exponent relative to visits, over the sizes that both solve.

    Args:
        family: kind of problem.
        rule: action rule.
        axis: whether time is counted in episodes or in steps.

    Returns:
        The claim.
    """
    ours, theirs = f"{rule}, E-values", f"{rule}, visits"

    def estimate(results: Results) -> Estimate:
        a, b = (growth(results, name, family, axis) for name in (ours, theirs))
        common = a.sizes[a.is_solved & b.is_solved]
        sizes = ", ".join(f"{size:g}" for size in common)
        words = f"exponent of {family.symbol} in {axis}s to solve, {theirs} less {ours}, over {family.symbol} = {sizes}"
        if len(common) < 3:
            return Estimate(f"{words}: too few", Interval(np.nan, np.nan, np.nan), results.size.seeds)
        (our_value, our_draws), (their_value, their_draws) = a.slopes(common), b.slopes(common)
        low, high = np.quantile(their_draws - np.random.default_rng(1).permutation(our_draws), (0.025, 0.975))
        return Estimate(words, Interval(their_value - our_value, float(low), float(high)), results.size.seeds)

    text = f"on {family.name}, time grows more slowly with {ours} than with visits (by {axis})"
    return Claim(text, estimate, above=0.0)


def larger_claim(family: Family, rule: str) -> Claim:
    """Claim that a rule solves larger problems with E-values than with visits.

    Args:
        family: kind of problem.
        rule: action rule.

    Returns:
        The claim.
    """
    ours, theirs = f"{rule}, E-values", f"{rule}, visits"

    def estimate(results: Results) -> Estimate:
        a, b = (largest_solved(results, name, family, "step") for name in (ours, theirs))
        words = f"largest {family.symbol} solved by {ours} ({a:g}) over {theirs} ({b:g}), of those tried; no interval"
        ratio = a / b if b else np.inf
        # An agent that solves the largest size tried might solve larger ones.
        high = np.inf if a == max(growth(results, ours, family, "step").sizes) else ratio
        return Estimate(words, Interval(ratio, ratio, high), results.size.seeds)

    return Claim(f"on {family.name}, {ours} solves larger problems than visits", estimate, above=1.0)


def keeps_pace_claim(family: Family, axis: Axis) -> Claim:
    """Claim that E-values take at most twice the time of optimistic Q-learning, which knows the largest reward.

    Args:
        family: kind of problem.
        axis: whether time is counted in episodes or in steps.

    Returns:
        The claim.
    """
    ours, theirs, largest = "LLL softmax, E-values", "optimistic Q-learning", family.sizes[-1]

    def estimate(results: Results) -> Estimate:
        size = largest if name_of(ours, family, largest) in results.conditions else family.sizes[0]
        slow, fast = (name_of(name, family, size) for name in (ours, theirs))
        return time_ratio("", slow, fast, axis).estimate(results)

    text = f"on {family.name} of {largest}, {ours} keeps pace with {theirs}: at most twice its time (by {axis})"
    return Claim(text, estimate, below=2.0)


def names_in(results: Results) -> list[str]:
    """Return the agents that were run.

    Args:
        results: results of the experiment.

    Returns:
        Their names.
    """
    return list(STYLES) if results.size.is_full else list(QUICK_AGENTS)


def draw(results: Results, figure: Figure) -> None:
    """Draw the time to solve each problem by its size."""
    figure.set_size_inches(9, 7.5)
    rows = figure.subplots(2, 2)
    for row, family in zip(rows, FAMILIES, strict=True):
        for panel, axis in zip(row, AXES, strict=True):
            for name in names_in(results):
                _draw_growth(panel, growth(results, name, family, axis), name, STYLES[name])
            panel.set_xscale("log")
            panel.set_yscale("log")
            panel.set_xticks(family.sizes, [str(size) for size in family.sizes])
            panel.minorticks_off()
            panel.set_xlabel(f"size of the {family.name}, {family.symbol}")
            panel.set_ylabel(f"{axis}s to solve")
            figures.tidy(panel)
    figures.legend_below(figure, rows[0][0])


def _draw_growth(panel: Any, found: Growth, name: str, style: dict[str, Any]) -> None:
    """Draw solved sizes as a line with intervals, and unsolved ones as open triangles at the time limit."""
    at_least = np.asarray([median(time.earliest) for time in found.times])
    solved = found.is_solved
    if solved.any():
        stacked = np.stack([time.latest for time, ok in zip(found.times, solved, strict=True) if ok])
        middle, low, high = bootstrap(stacked)
        high = np.where(np.isfinite(high), high, middle)
        bars = (middle - low, high - middle)
        line = {"marker": "o", "markersize": 4, "linewidth": 1.4} | style
        panel.errorbar(found.sizes[solved], middle, bars, label=name, **line)
    else:
        panel.plot([], [], label=name, **style)
    panel.plot(
        found.sizes[~solved], at_least[~solved], linestyle="", marker="^", fillstyle="none", color=style["color"]
    )


def tables(results: Results) -> Sequence[Table]:
    """Create a table of the exponents, with the number of sizes they are fitted to."""
    rows = []
    for family in FAMILIES:
        for name in names_in(results):
            row: list[Any] = [family.name, name]
            for axis in AXES:
                found = growth(results, name, family, axis)
                interval = exponent(found)
                row.append(
                    f"{interval.value:.2f} [{interval.low:.2f}, {interval.high:.2f}]"
                    if np.isfinite(interval.value)
                    else "–"
                )
                row.append(f"{int(found.is_solved.sum())} of {len(found.sizes)}")
            rows.append(row)
    header = ("problem", "agent", "exponent by episode", "sizes solved", "exponent by step", "sizes solved")
    return [Table("Fitted exponents", header, rows)]


EXPERIMENT = Experiment(
    figure="beyond the paper",
    title="How the time to solve a problem grows with its size",
    paper="Not in the paper. If counts that propagate let an agent plan its exploration, the time to solve a problem "
    "should grow more slowly with its size.",
    notes="Bridges of k cells; deep seas of N × N cells, where one of 2^N action sequences is rewarded. α = 0.5, γ = "
    "γ_E = 1 − 1/size; ε, temperature and scale are fitted at each size on separate seeds. Solved means that the error "
    "of Q is below 1 % of that of Q = 0. A size counts as solved if more than half of the runs solve it within 50 000 "
    "steps and 10 000 episodes; open triangles mark unsolved sizes, at the time when the runs ended. Exponents are "
    "fitted to solved sizes only, so an agent that fails early has few points: read them with the figure.",
    conditions=conditions,
    claims=[
        # On a deep sea every episode has N steps, so the two axes are equivalent.
        *(exponent_claim(BRIDGE, rule, axis) for rule in RULES for axis in AXES),
        *(exponent_claim(DEEP_SEA, rule, "episode") for rule in RULES),
        *(larger_claim(family, rule) for family in FAMILIES for rule in RULES),
        *(keeps_pace_claim(BRIDGE, axis) for axis in AXES),
        keeps_pace_claim(DEEP_SEA, "episode"),
    ],
    draw=draw,
    order=70,
    finding=Finding(
        "As a deep sea grows, does the time to solve it grow more slowly with E-values than with visits?",
        [
            Answer(
                "on deep sea, time grows more slowly with LLL softmax, E-values than with visits (by episode)",
                "exponent smaller by {}",
            )
        ],
    ),
    size=Size(seeds=24, tuning_seeds=12),
    tables=tables,
)
