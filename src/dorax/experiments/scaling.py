"""Beyond the paper: how the time to solve a problem grows with its size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from dorax import mdps
from dorax.agents.tabular import HoeffdingQLearning, NoveltyQLearning, QLearning, TabularAgent
from dorax.core import LLL, UCB, EpsilonGreedy, EValues, InverseCount, Sample, Softmax, Visits
from dorax.engine.training import Training
from dorax.experiments._table_agents import NOVELTY, OPTIMISTIC, UCB_H
from dorax.mdps import MDP
from dorax.study import figures
from dorax.study.claims import Claim, Estimate, Estimator, faster
from dorax.study.experiment import AXES, Answer, Axis, Condition, Experiment, Finding, Size, Table
from dorax.study.measures import THRESHOLD, times_to_threshold
from dorax.study.results import LeftOut, Results
from dorax.study.statistics import UNKNOWN, Interval, Times, bootstrap, difference_of_shares, from_draws, median

LEARNING_RATE = 0.5
RESAMPLES = 2000
RULES = ("LLL softmax", "UCB")
OURS = "LLL softmax, E-values"
WIDTHS = (0.0, 1e-6, 1e-5, 1e-4, 1e-3)  # grid of UCB-H
LIMITS = {"epsilon": (1.0,), "update.scale": (0.0,)}
QUICK_AGENTS = ("ε-greedy", "LLL softmax, visits", OURS, OPTIMISTIC)  # of a quick run
BEFORE_OPTIMISM = f"LLL softmax on E-values solves the largest problems before {OPTIMISTIC}"


@dataclass(frozen=True)
class Family:
    """Problems of one kind in several sizes. The discount of a problem is 1 - 1/size.

    Attributes:
        name: name of the problem.
        symbol: symbol of the size.
        sizes: the sizes.
        make: creates the MDP of a size.
        largest_return: largest possible return.
        temperatures: grid of temperatures.
        scales: grid of UCB's scale.
        novelty_scales: grid of the scale of the bonus of novelty Q-learning.
    """

    name: str
    symbol: str
    sizes: Sequence[int]
    make: Callable[[int], MDP]
    largest_return: float
    temperatures: Sequence[float]
    scales: Sequence[float]
    novelty_scales: Sequence[float]

    @property
    def initial_values(self) -> Sequence[float]:
        """Grid of the initial values of optimistic Q-learning."""
        return [share * self.largest_return for share in (0.5, 0.8, 0.9, 1.0, 2.0)]


BRIDGE = Family(
    name="bridge",
    symbol="k",
    sizes=(4, 6, 9, 14, 21, 32),
    make=mdps.bridge,
    largest_return=10.0,
    temperatures=(0.3, 1.0, 3.0, 10.0, 30.0),
    scales=(0.1, 1.0, 10.0, 30.0, 100.0),
    novelty_scales=(0.03, 0.1, 0.3, 1.0, 3.0),
)
DEEP_SEA = Family(
    name="deep sea",
    symbol="N",
    sizes=(4, 6, 8, 12, 18, 26),
    make=mdps.deep_sea,
    largest_return=1.0,
    temperatures=(0.003, 0.01, 0.1, 1.0, 10.0),
    scales=(0.01, 0.1, 1.0, 10.0, 100.0),
    novelty_scales=(0.001, 0.003, 0.01, 0.03, 0.1),
)
FAMILIES = (BRIDGE, DEEP_SEA)

STYLES: dict[str, dict[str, Any]] = {
    "ε-greedy": {"color": figures.COLOURS[1], "linestyle": ":"},
    "softmax": {"color": figures.COLOURS[0], "linestyle": ":"},
    "LLL softmax, visits": {"color": figures.COLOURS[0], "linestyle": "--"},
    OURS: {"color": figures.COLOURS[0], "linestyle": "-"},
    "UCB, visits": {"color": figures.COLOURS[2], "linestyle": "--", "marker": "s", "fillstyle": "none"},
    "UCB, E-values": {"color": figures.COLOURS[2], "linestyle": "-", "marker": "s", "fillstyle": "none"},
    OPTIMISTIC: {"color": figures.COLOURS[3], "linestyle": "-."},
    NOVELTY: {"color": figures.COLOURS[4], "linestyle": "-."},
    UCB_H: {"color": figures.COLOURS[6], "linestyle": "-."},
}
TOLD = {
    OPTIMISTIC: "the largest return, fitted around it",
    UCB_H: "the largest return and the horizon, 1/(1 − γ) steps",
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

    plain, greedy = QLearning(), Sample(EpsilonGreedy(0.0))

    def agent(rule: Any, counter: Any, bonus: Any = None, update: Any = plain) -> TabularAgent:
        return TabularAgent(rule, counter, bonus, update, LEARNING_RATE, discount)

    optimistic = agent(greedy, Visits(), update=QLearning(family.largest_return))
    novelty = agent(greedy, Visits(), InverseCount(1.0), NoveltyQLearning(discount))
    hoeffding = agent(greedy, Visits(), update=HoeffdingQLearning(float(size), family.largest_return, 0.01))
    temperatures, scales = {"temperature": family.temperatures}, {"scale": family.scales}
    return {
        "ε-greedy": (agent(Sample(EpsilonGreedy(0.1)), Visits()), {"epsilon": (0.01, 0.1, 0.3, 0.6, 1.0)}),
        "softmax": (agent(Sample(Softmax(1.0)), Visits()), temperatures),
        "LLL softmax, visits": (agent(LLL(Softmax(1.0)), Visits()), temperatures),
        OURS: (agent(LLL(Softmax(1.0)), EValues(discount)), temperatures),
        "UCB, visits": (agent(UCB(1.0), Visits()), scales),
        "UCB, E-values": (agent(UCB(1.0), EValues(discount)), scales),
        OPTIMISTIC: (optimistic, {"initial_value": family.initial_values}),
        NOVELTY: (novelty, {"bonus.scale": family.novelty_scales}),
        UCB_H: (hoeffding, {"update.scale": WIDTHS}),
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
        return UNKNOWN
    return from_draws(*found.slopes(solved))


def exponents_differ(family: Family, rule: str, axis: Axis) -> Estimator:
    """Estimate by how much E-values lower the exponent relative to visits, over the sizes that both solve.

    Args:
        family: kind of problem.
        rule: action rule.
        axis: whether time is counted in episodes or in steps.

    Returns:
        The estimator.
    """
    ours, theirs = f"{rule}, E-values", f"{rule}, visits"

    def estimate(results: Results) -> Estimate:
        a, b = (growth(results, name, family, axis) for name in (ours, theirs))
        common = a.sizes[a.is_solved & b.is_solved]
        sizes = ", ".join(f"{size:g}" for size in common)
        words = f"exponent of {family.symbol} in {axis}s to solve, {theirs} less {ours}, over {family.symbol} = {sizes}"
        if len(common) < 3:
            return Estimate(f"{words}: too few", UNKNOWN, results.size.seeds)
        (our_value, our_draws), (their_value, their_draws) = a.slopes(common), b.slopes(common)
        # Independent runs: the draws must not be paired, but both were drawn from the same random numbers.
        draws = their_draws - np.random.default_rng(1).permutation(our_draws)
        return Estimate(words, from_draws(their_value - our_value, draws), results.size.seeds)

    return estimate


def exponent_claim(family: Family, axes: Sequence[Axis]) -> Claim:
    """Claim that E-values lower the exponent relative to visits.

    Args:
        family: kind of problem.
        axes: the axes that are cases of the claim.

    Returns:
        The claim.
    """
    cases = {f"{rule}, by {axis}": exponents_differ(family, rule, axis) for rule in RULES for axis in axes}
    return Claim(f"on a {family.name}, time grows more slowly with size on E-values than on visits", cases, above=0.0)


def largest(results: Results, family: Family, agent: str) -> int:
    """Find the largest size that was run.

    Args:
        results: results of the experiment.
        family: kind of problem.
        agent: name of the agent.

    Returns:
        The size; that of a full run is the family's largest.
    """
    return int(max(growth(results, agent, family, "step").sizes))


def solves_more_claim(family: Family) -> Claim:
    """Claim that more runs solve the largest problem on E-values than on visits.

    Args:
        family: kind of problem.

    Returns:
        The claim.
    """

    def share_difference(rule: str) -> Estimator:
        def estimate(results: Results) -> Estimate:
            names = [f"{rule}, {counter}" for counter in ("E-values", "visits")]
            solved = [growth(results, name, family, "step").times[-1].is_reached for name in names]
            size = largest(results, family, names[0])
            words = f"share of runs that solve a {family.name} of {size}, {names[0]} less {names[1]}"
            shares = [(int(each.sum()), len(each)) for each in solved]
            return Estimate(words, difference_of_shares(shares[0], shares[1]), results.size.seeds)

        return estimate

    text = f"on the largest {family.name}, more runs are solved on E-values than on visits"
    return Claim(text, {rule: share_difference(rule) for rule in RULES}, above=0.0)


def rival_claim(rival: str, text: str) -> Claim:
    """Claim that LLL softmax on E-values solves the largest problems before a rival.

    Args:
        rival: name of the rival.
        text: the claim in words.

    Returns:
        The claim.
    """

    def ratio(family: Family, axis: Axis) -> Estimator:
        def estimate(results: Results) -> Estimate:
            fast, slow = (name_of(name, family, largest(results, family, OURS)) for name in (OURS, rival))
            return faster(fast, slow, axis).cases[""](results)

        return estimate

    cases = {f"{BRIDGE.name} of {BRIDGE.sizes[-1]}, by {axis}": ratio(BRIDGE, axis) for axis in AXES}
    cases[f"{DEEP_SEA.name} of {DEEP_SEA.sizes[-1]}"] = ratio(DEEP_SEA, "episode")
    return Claim(text, cases, above=1.0)


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
    told = [(name, TOLD.get(name, "nothing")) for name in names_in(results)]
    return [Table("Fitted exponents", header, rows), Table("What each agent is told", ("agent", "told"), told)]


EXPERIMENT = Experiment(
    figure="beyond the paper",
    title="How the time to solve a problem grows with its size",
    paper="Not in the paper. If counts that propagate let an agent plan its exploration, the time to solve a problem "
    "should grow more slowly with its size.",
    notes="Bridges of k cells; deep seas of N × N cells, where one of 2^N action sequences is rewarded. α = 0.5, γ = "
    "γ_E = 1 − 1/size; ε, temperature and scale are fitted at each size on separate seeds. Solved means that the error "
    "of Q is below 1 % of that of Q = 0. A size counts as solved if more than half of the runs solve it within 50 000 "
    "steps and 10 000 episodes; open triangles mark unsolved sizes, at the time when the runs ended. Exponents are "
    "fitted to solved sizes only, so an agent that fails early has few points: read them with the figure. Optimistic "
    "Q-learning fits its initial value around the largest return. Novelty Q-learning, which has a second table of the "
    "values of a count bonus, discounts it by γ and fits its scale. UCB-H is the algorithm of Jin et al. (2018) with a "
    "discount; on a deep sea, where the row is the step, nothing else differs. Each fits five settings.",
    conditions=conditions,
    claims=[
        # On a deep sea every episode has N steps, so the two axes are equivalent.
        exponent_claim(BRIDGE, AXES),
        exponent_claim(DEEP_SEA, ["episode"]),
        *(solves_more_claim(family) for family in FAMILIES),
        rival_claim(OPTIMISTIC, BEFORE_OPTIMISM),
        *(rival_claim(r, f"LLL softmax on E-values solves the largest problems before {r}") for r in (NOVELTY, UCB_H)),
    ],
    draw=draw,
    order=70,
    finding=Finding(
        "Does LLL softmax on E-values learn faster than optimistic Q-learning, which is told the largest return?",
        [
            Answer(
                f"LLL softmax on E-values converges before {OPTIMISTIC}",
                "{} times as fast, by step",
                label="bridge of 15",
                case="α = 0.5, by step",
                experiment="bridge_agents",
            ),
            Answer(
                BEFORE_OPTIMISM,
                "{} times as fast on the deep sea",
                label="largest bridge and deep sea",
                case=f"{DEEP_SEA.name} of {DEEP_SEA.sizes[-1]}",
            ),
        ],
    ),
    size=Size(seeds=24, tuning_seeds=12),
    tables=tables,
)
