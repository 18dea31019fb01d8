"""Figure 1: generalized counts on a tree whose leaves are visited in turn, and on other simple MDPs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dorax.core import next_count
from dorax.study import figures
from dorax.study.claims import Claim, Estimate
from dorax.study.experiment import Answer, Condition, Experiment, Finding, Progress, Setting, Size, Table
from dorax.study.results import Results
from dorax.study.statistics import exactly, mean

LEAVES = (1, 2, 5, 10, 20, 50)
RATES = (0.5, 0.1, 0.01)
E_DISCOUNT = 0.9
USUAL, SMALL = 0.1, 0.01  # learning rates of the figure
CYCLES = 100  # cycles that are drawn and judged
ENOUGH = 10.0  # α times the number of cycles after which the limit is nearly reached
END = -1  # pads paths; its count is infinite, like that of a terminal successor

# Pair 0 is the one whose count is shown; a cycle follows every path once.
OTHERS: dict[str, list[list[int]]] = {
    "chain of 5, then 5 leaves": [[0, 1, 2, 3, 4, 5 + leaf] for leaf in range(5)],
    "a leaf or 5 leaves, in turn": [path for leaf in range(5) for path in ([0, 1], [0, 2, 3 + leaf])],
    "loop: stay 3 times, exit": [[0, 0, 0, 1]],
}
RANDOM, RANDOM_LEAVES = "10 leaves at random", 10


def counts_at_root(paths: np.ndarray, rates: np.ndarray, e_discount: float) -> np.ndarray:
    """Follow scripted paths, with E learned by SARSA, and compute the count of pair 0.

    Args:
        paths: numbers of the pairs visited, [lanes, episodes, pairs]; padded by `END`.
        rates: learning rate of each lane.
        e_discount: the paper's gamma_E.

    Returns:
        The count after each episode, [lanes, episodes].
    """
    lanes = np.arange(len(paths))
    counts = np.zeros((len(paths), int(paths.max()) + 2))
    counts[:, END] = np.inf
    history = np.zeros(paths.shape[:2])
    for episode in range(paths.shape[1]):
        for pair, successor in itertools.pairwise([*paths[:, episode].T, np.full(len(paths), END)]):
            lane = lanes[pair != END]
            at, after = (lane, pair[lane]), (lane, successor[lane])
            counts[at] = next_count(counts[at], counts[after], rates[lane], e_discount)
        history[:, episode] = counts[:, 0]
    return history


def closed_form(cycles: int | np.ndarray, leaves: int, learning_rate: float, e_discount: float) -> np.ndarray:
    """Compute the count at the root of a tree whose leaves are visited in turn.

    With q = 1 - α, the k visits of cycle n turn E into q^k E + γ (1 - q^k) q^(n - 1). Starting from 1, this gives
    E = A q^n + (1 - A) q^(k n) with A = γ (1 - q^k) / (q - q^k) for k of 2 and more, and E = (1 + n α γ / q) q^n for
    k = 1.

    Args:
        cycles: number n of cycles.
        leaves: number k of leaves.
        learning_rate: the paper's alpha.
        e_discount: the paper's gamma_E.

    Returns:
        The count, log E / log q.
    """
    n, q = np.asarray(cycles, float), 1 - learning_rate
    if leaves == 1:
        return n + np.log1p(n * learning_rate * e_discount / q) / math.log(q)
    share = e_discount * (1 - q**leaves) / (q - q**leaves)
    return n + np.log(share + (1 - share) * q ** ((leaves - 1) * n)) / math.log(q)


@dataclass(frozen=True)
class Scripted:
    """Paths that are followed in turn, with each learning rate. Nothing is random, so there is one run.

    Args:
        paths: the paths of a cycle; all start with pair 0.
        cycles: number of cycles.
    """

    paths: Sequence[Sequence[int]]
    cycles: int

    def __call__(self, settings: Sequence[Setting], seeds: Sequence[int], progress: Progress | None) -> xr.Dataset:
        """Count; see `Condition.run`."""
        longest = max(map(len, self.paths))
        cycle = np.asarray([[*path, *[END] * (longest - len(path))] for path in self.paths])
        return _counted(np.tile(cycle, (1, self.cycles, 1)), [0], len(cycle), progress)


@dataclass(frozen=True)
class RandomLeaves:
    """A tree in which the leaf is drawn at random, with each learning rate: on average, k visits are a cycle.

    Args:
        leaves: number k of leaves.
        cycles: number of cycles.
    """

    leaves: int
    cycles: int

    def __call__(self, settings: Sequence[Setting], seeds: Sequence[int], progress: Progress | None) -> xr.Dataset:
        """Count; see `Condition.run`."""
        visits = self.leaves * self.cycles
        leaf = np.stack([np.random.default_rng(seed).integers(1, self.leaves + 1, visits) for seed in seeds])
        return _counted(np.stack([np.zeros_like(leaf), leaf], axis=2), seeds, self.leaves, progress)


def _counted(paths: np.ndarray, seeds: Sequence[int], episodes: int, progress: Progress | None) -> xr.Dataset:
    """Count with each learning rate, and keep the count after each cycle of so many episodes."""
    every_rate = np.repeat(paths, len(RATES), axis=0), np.tile(RATES, len(paths))
    counts = counts_at_root(*every_rate, E_DISCOUNT)[:, episodes - 1 :: episodes]
    if progress is not None:
        progress(1.0, every_rate[0].size)
    return xr.Dataset(
        {"count": (("setting", "seed", "rate", "cycle"), counts.reshape(1, len(seeds), len(RATES), -1))},
        coords={"setting": [""], "seed": list(seeds), "rate": list(RATES), "cycle": np.arange(counts.shape[1]) + 1},
    )


def name_of(leaves: int) -> str:
    """Return the name of a tree's condition.

    Args:
        leaves: number of leaves.
    """
    return f"k = {leaves}"


def conditions(size: Size) -> Sequence[Condition]:
    """One condition per tree, and the other MDPs."""
    del size  # quick anyway
    trees = {name_of(k): [[0, 1 + leaf] for leaf in range(k)] for k in LEAVES}
    return [
        *(Condition(name, Scripted(paths, CYCLES)) for name, paths in (trees | OTHERS).items()),
        Condition(RANDOM, RandomLeaves(RANDOM_LEAVES, CYCLES)),
    ]


def counts(results: Results, name: str, rate: float) -> np.ndarray:
    """Return the counts of a condition at a learning rate.

    Args:
        results: results of the experiment.
        name: name of the condition.
        rate: the learning rate.

    Returns:
        Seeds x cycles, starting with cycle 0.
    """
    found = results[name].data()["count"].sel(rate=rate).values
    return np.pad(found, [(0, 0), (1, 0)])


def growth(results: Results, name: str, rate: float) -> np.ndarray:
    """Compute the generalized visits added per cycle, over the second half of the first 100 cycles.

    Args:
        results: results of the experiment.
        name: name of the condition.
        rate: the learning rate.

    Returns:
        The growth for each seed.
    """
    found = counts(results, name, rate)
    return (found[:, CYCLES] - found[:, CYCLES // 2]) / (CYCLES - CYCLES // 2)


def furthest_growth(results: Results, names: Sequence[str], rate: float) -> Estimate:
    """Find the growth that is furthest from one, over the second half of the first 100 cycles.

    Args:
        results: results of the experiment.
        names: names of conditions.
        rate: the learning rate.

    Returns:
        The estimate.
    """
    found = {name: float(growth(results, name, rate)[0]) for name in names}
    furthest = max(found, key=lambda name: abs(found[name] - 1))
    words = f"generalized visits a cycle, cycles {CYCLES // 2} to {CYCLES}, α = {rate:g}, {furthest}"
    return Estimate(words + (", the furthest from 1" if len(names) > 1 else ""), exactly(found[furthest]), 1)


def random_growth(results: Results) -> Estimate:
    """Estimate the growth where the leaf is random.

    Args:
        results: results of the experiment.

    Returns:
        The estimate.
    """
    found = growth(results, RANDOM, USUAL)
    words = f"generalized visits for {RANDOM_LEAVES} visits, cycles {CYCLES // 2} to {CYCLES}, α = {USUAL:g}, {RANDOM}"
    return Estimate(words, mean(found), len(found))


def distance_from_one(results: Results, leaves: int) -> Estimate:
    """Find by the closed form the cycle whose growth is furthest from one, among those with α times cycles above 10.

    Args:
        results: not used.
        leaves: number of leaves.

    Returns:
        The estimate.
    """
    del results
    cycles = {rate: np.arange(round(ENOUGH / rate), round(2 * ENOUGH / rate)) for rate in RATES}
    growths = [np.diff(closed_form(each, leaves, rate, E_DISCOUNT)) for rate, each in cycles.items()]
    worst = max(float(np.max(np.abs(each - 1))) for each in growths)
    words = (
        f"largest |growth of the count in a cycle - 1|, k = {leaves}, cycles {ENOUGH:g}/α to {2 * ENOUGH:g}/α, all α"
    )
    return Estimate(words, exactly(worst), 1)


def distance_from_closed_form(results: Results) -> Estimate:
    """Compare the counts of all trees with the closed form.

    Args:
        results: results of the experiment.

    Returns:
        The estimate.
    """
    worst = 0.0
    for leaves in LEAVES:
        for rate in RATES:
            found = counts(results, name_of(leaves), rate)[0]
            worst = max(worst, np.max(np.abs(found - closed_form(np.arange(len(found)), leaves, rate, E_DISCOUNT))))
    return Estimate("largest |count - closed form|, over all k, α and cycles", exactly(float(worst)), 1)


IN_THE_LIMIT = "once α times cycles exceeds 10, a cycle adds one generalized visit to within 10 %, for every k and α"
USUALLY = "cycles 50 to 100 add about one generalized visit each, for α of 0.1 and more and k of 2 and more"
SMALL_RATE = "cycles 50 to 100 add about one generalized visit each at α = 0.01, for k of 2 and more"
ONE_LEAF = "cycles 50 to 100 add about one generalized visit each with a single leaf"
_FORKED = [name_of(k) for k in LEAVES[1:]]


def claims() -> list[Claim]:
    """Create the claims: the closed form, the limit, 100 cycles, and other MDPs."""

    def about_one(text: str, cases: dict[str, tuple[Sequence[str], float]]) -> Claim:
        estimates = {case: partial(furthest_growth, names=n, rate=rate) for case, (n, rate) in cases.items()}
        return Claim(text, estimates, above=0.9, below=1.1, is_mathematics=True)

    return [
        Claim("the count follows its closed form", distance_from_closed_form, below=1e-6, is_mathematics=True),
        Claim(
            IN_THE_LIMIT,
            {name_of(k): partial(distance_from_one, leaves=k) for k in LEAVES},
            below=0.1,
            is_mathematics=True,
        ),
        about_one(USUALLY, {f"α = {rate:g}": (_FORKED, rate) for rate in RATES if rate >= USUAL}),
        about_one(SMALL_RATE, {name: ([name], SMALL) for name in _FORKED}),
        about_one(ONE_LEAF, {f"α = {rate:g}": ([name_of(1)], rate) for rate in RATES}),
        about_one("a cycle through all outcomes adds about one in other MDPs", {n: ([n], USUAL) for n in OTHERS}),
        Claim("if the leaf is random, k visits add about one", random_growth, above=0.9, below=1.1),
    ]


def first_cycle_about_one(leaves: int, rate: float) -> int:
    """Find the first cycle from which on every cycle adds between 0.9 and 1.1 generalized visits.

    Args:
        leaves: number of leaves.
        rate: the learning rate.

    Returns:
        The cycle.
    """
    steps = np.diff(closed_form(np.arange(round(2 * ENOUGH / rate)), leaves, rate, E_DISCOUNT))
    return int(np.max(np.flatnonzero(np.abs(steps - 1) >= 0.1), initial=-1)) + 2


def tables(results: Results) -> list[Table]:
    """Create the tables of growth, by learning rate and number of leaves."""
    header = ["α", *map(name_of, LEAVES)]
    return [
        Table(
            f"Generalized visits a cycle, cycles {CYCLES // 2} to {CYCLES}",
            header,
            [[f"{rate:g}", *(f"{growth(results, name_of(k), rate)[0]:.3f}" for k in LEAVES)] for rate in RATES],
        ),
        Table(
            "The cycle from which on each adds between 0.9 and 1.1",
            header,
            [[f"{rate:g}", *(first_cycle_about_one(k, rate) for k in LEAVES)] for rate in RATES],
        ),
    ]


def draw(results: Results, figure: Figure) -> None:
    """Draw the count over cycles: trees at two learning rates, and other MDPs."""
    figure.set_size_inches(11, 3.9)
    panels = figure.subplots(1, 3, sharey=True)
    shades = figures.palette(len(LEAVES))
    for panel, rate in zip(panels[:2], (USUAL, SMALL), strict=True):
        for k, colour in zip(LEAVES, shades, strict=True):
            _draw_count(panel, counts(results, name_of(k), rate)[0], color=colour, label=name_of(k))
        panel.set_title(f"tree, α = {rate:g}", fontsize=10)
    for name, colour in zip(OTHERS, figures.COLOURS, strict=False):
        _draw_count(panels[2], counts(results, name, USUAL)[0], color=colour, label=name)
    at_random = counts(results, RANDOM, USUAL)
    _draw_count(panels[2], at_random.mean(axis=0), color=figures.COLOURS[3], label=f"{RANDOM}, mean")
    panels[2].set_title(f"other MDPs, α = {USUAL:g}", fontsize=10)
    panels[0].set_ylabel("generalized count of the first action")
    for panel in panels:
        panel.plot([0, CYCLES], [0, CYCLES], color="grey", linestyle=":", label="one a cycle")
        panel.set_xlabel("cycles through all outcomes")
        figures.tidy(panel)
    for panel in panels[1:]:
        panel.legend(frameon=False, fontsize=8)


def _draw_count(axes: Axes, count: np.ndarray, **style: Any) -> None:
    axes.plot(count[: CYCLES + 1], **style)


EXPERIMENT = Experiment(
    figure="Figure 1",
    title="Is a cycle through all leaves one generalized visit?",
    paper="In a tree with k leaves that are visited in turn, the generalized count of the only action at the root "
    "grows by about one for each cycle of k visits, for any k. “This and other simple MDPs” agree with the intuition "
    "that an action with many outcomes needs that many more visits.",
    notes=f"γ_E = {E_DISCOUNT}, the paper's default; it gives no α, so α is ours. With q = 1 − α, the count after n "
    "cycles is n + log_q(A + (1 − A) q^((k−1)n)), A = γ_E (1 − q^k)/(q − q^k): one a cycle plus a transient, which "
    "vanishes when α (k − 1) n is large. If α is small, the first cycles add about k (1 − γ_E) each: 0.2 for two "
    "leaves, 5 for fifty, one only for k = 1/(1 − γ_E). A single leaf is known as well as the root, so the count is "
    "n − log(1 + n α γ_E/q)/|log q|: cycle n falls short of one by about 1/(α n), and the lag grows logarithmically. "
    "So the paper's statement is exact in the limit of many cycles, and “about one” (0.9 to 1.1) is true from the "
    "cycles in the second table on. Other MDPs: a chain before the hub; a hub with a leaf and a hub of its own, whose "
    "five leaves need ten visits; an action that stays in its state and is taken three times before the exit; a leaf "
    "that is drawn at random. In the limit a pair's count grows as its visits or as the least known pair behind it, "
    "whichever is slower.",
    conditions=conditions,
    claims=claims(),
    draw=draw,
    order=10,
    tables=tables,
    finding=Finding(
        "Does a cycle through all k leaves add about one generalized visit?",
        [
            Answer(IN_THE_LIMIT, "off by {} at most (k = 1)", label="after 10/α cycles", case=name_of(1)),
            Answer(USUALLY, "{} in cycles 50 to 100, k ≥ 2", label="α = 0.1", case="α = 0.1"),
            Answer(SMALL_RATE, "{} in cycles 50 to 100, k = 2", label="α = 0.01", case=name_of(2)),
        ],
    ),
)
