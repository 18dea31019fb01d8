"""Figure 3: a bonus of 1/c on a short bridge, for several exploration discounts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import rankdata

from dorax import mdps
from dorax.agents.tabular import TabularAgent
from dorax.core import EpsilonGreedy, EValues, InverseCount, Sample, Visits, next_count
from dorax.engine.training import Training
from dorax.study import figures
from dorax.study.claims import Claim, Estimate, by_axes, faster, together
from dorax.study.experiment import AXES, Answer, Axis, Condition, Experiment, Finding, Size, Table
from dorax.study.measures import times_to_threshold
from dorax.study.results import Results
from dorax.study.statistics import mean, median

EPSILON, LEARNING_RATE = 0.6, 0.35
DISCOUNTS = (0.0, 0.3, 0.5, 0.7, 0.9)
NO_BONUS, NO_BONUS_FITTED = "no bonus", "no bonus, ε fitted"
FIXED, SCALED, TUNED = "scale 1", "scale fitted", "scale and ε fitted"  # how the bonus gets its numbers
EPSILONS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)


def scales(number: int) -> Sequence[float]:
    """Return scales of the bonus to choose from, evenly spaced on a logarithmic axis.

    Args:
        number: how many.

    Returns:
        The scales.
    """
    return tuple(float(f"{scale:.2g}") for scale in np.geomspace(0.1, 20.0, number))


GRIDS: Mapping[str, Mapping[str, Sequence[float]]] = {
    FIXED: {},
    SCALED: {"scale": scales(24)},
    TUNED: {"epsilon": EPSILONS, "scale": scales(12)},
}
# As many settings for the agent without a bonus as for those with one.
NO_BONUS_GRID = {"epsilon": tuple(float(epsilon) for epsilon in np.linspace(0.04, 0.96, 84).round(3))}


def name_of(discount: float, scaling: str = FIXED) -> str:
    """Return the name of a condition.

    Args:
        discount: the paper's gamma_E.
        scaling: how the bonus gets its scale.

    Returns:
        The name.
    """
    return f"γ_E = {discount:g}, {scaling}"


def conditions(size: Size) -> Sequence[Condition]:
    """No bonus, and a bonus of scale/c for each exploration discount: at scale 1, and with fitted numbers."""

    def condition(name: str, agent: TabularAgent, grid: Mapping[str, Sequence[float]]) -> Condition:
        # Fitted agents with a bonus need hundreds of steps, the one without needs thousands.
        is_short = bool(grid) and agent.bonus is not None
        steps = size.of(5000 if is_short else 20_000, least=1000) if grid else None
        run = Training(agent, mdps.bridge(5), episodes=size.of(5000 if is_short else 10_000), steps=steps)
        return Condition(name, run, grid)

    def agent(discount: float | None) -> TabularAgent:
        counter = Visits() if discount is None else EValues(discount)
        bonus = None if discount is None else InverseCount(1.0)
        rule = Sample(EpsilonGreedy(EPSILON))
        return TabularAgent(rule=rule, counter=counter, bonus=bonus, learning_rate=LEARNING_RATE, discount=0.9)

    return [
        condition(NO_BONUS, agent(None), {}),
        condition(NO_BONUS_FITTED, agent(None), NO_BONUS_GRID),
        *(condition(name_of(each, how), agent(each), grid) for how, grid in GRIDS.items() for each in DISCOUNTS),
    ]


def any_bonus_helps(scaling: str, rival: str) -> Claim:
    """Claim that a bonus beats no bonus, whatever γ_E, on both axes.

    Args:
        scaling: how the bonus gets its scale.
        rival: the condition without a bonus.

    Returns:
        The claim.
    """
    return together(
        f"{scaling}: a bonus beats no bonus",
        {
            f"γ_E = {discount:g}, by {axis}": faster(name_of(discount, scaling), rival, axis)
            for discount in DISCOUNTS
            for axis in AXES
        },
    )


def trend(scaling: str) -> Claim:
    """Claim that the time to the threshold falls as γ_E rises, over all runs with γ_E > 0, on both axes.

    Args:
        scaling: how the bonus gets its scale.

    Returns:
        The claim.
    """

    def by(axis: Axis) -> Claim:
        def estimate(results: Results) -> Estimate:
            discounts = [discount for discount in DISCOUNTS if discount > 0]
            names = [name_of(discount, scaling) for discount in discounts]
            times = np.stack([times_to_threshold(results[name].data(axis), axis).latest for name in names])
            order = rankdata(times, axis=None).reshape(times.shape) / times.size
            slopes = np.polyfit(discounts, order, 1)[0]  # one fit per seed, to its ranks
            words = f"change of rank (0 to 1) in {axis}s to the threshold as γ_E rises by 1"
            return Estimate(words, mean(slopes), times.shape[1])

        return Claim("", estimate, below=0.0)

    return by_axes(by, f"{scaling}: among γ_E > 0, the larger the faster")


def look_ahead_helps(scaling: str) -> Claim:
    """Claim that generalized counts beat plain visits, on both axes.

    Args:
        scaling: how the bonus gets its scale.

    Returns:
        The claim.
    """
    most, none = name_of(max(DISCOUNTS), scaling), name_of(0.0, scaling)
    text = f"{scaling}: generalized counts (γ_E = 0.9) beat plain visits"
    return by_axes(lambda axis: faster(most, none, axis), text)


def draw(results: Results, figure: Figure) -> None:
    """Draw the error of Q, with one row for each way to get the scale."""
    figure.set_size_inches(9, 9)
    rows = figure.subplots(len(GRIDS), 2, sharex="col", sharey=True)
    colours = figures.palette(len(DISCOUNTS))
    for row, scaling in zip(rows, GRIDS, strict=True):
        none = NO_BONUS_FITTED if scaling == TUNED else NO_BONUS
        names = [none, *(name_of(discount, scaling) for discount in DISCOUNTS)]
        styles = {name: {"color": colour} for name, colour in zip(names, ["#000000", *colours], strict=True)}
        figures.draw_q_error_by_both_axes(row, results, names, styles)
        row[0].set_title(f"{scaling}; black: {none}", loc="left", fontsize=9)
    legend = figure.legend(
        rows[0][0].lines[1 : len(DISCOUNTS) + 1],
        [f"γ_E = {discount:g}" for discount in DISCOUNTS],
        loc="outside lower center",
        ncols=len(DISCOUNTS),
        fontsize=8,
    )
    legend.set_frame_on(False)


def tables(results: Results) -> Sequence[Table]:
    """Create tables of the median times, and of the size of the first bonus at the fitted scales."""
    rows = []
    for name in results.conditions:
        times = [float(median(times_to_threshold(results[name].data(axis), axis).latest)) for axis in AXES]
        rows.append((name, *("never" if np.isinf(time) else f"{time:.0f}" for time in times)))
    header = ("agent", "episodes", "steps")
    return [Table("Median times until the error of Q is below 1 % of that of Q = 0", header, rows), _bonuses(results)]


def first_count(discount: float) -> float:
    """Compute the count of a pair after its first visit, if its successor is new as well.

    Args:
        discount: the paper's gamma_E.

    Returns:
        The count; 1 at γ_E = 0.
    """
    return float(next_count(np.float64(0.0), 0.0, LEARNING_RATE, discount))


def _bonuses(results: Results) -> Table:
    """Create a table of the first bonus of a new pair with a new successor."""
    rows = []
    for discount in DISCOUNTS:
        choices = results[name_of(discount, SCALED)].choices
        fitted = [choices[axis].setting["scale"] for axis in AXES]
        bonuses = [scale / first_count(discount) for scale in (1.0, *fitted)]
        rows.append((f"{discount:g}", *(f"{scale:g}" for scale in fitted), *(f"{bonus:.2g}" for bonus in bonuses)))
    header = (
        "γ_E",
        *(f"scale fitted by {axis}" for axis in AXES),
        "first bonus at scale 1",
        *(f"at the scale fitted by {axis}" for axis in AXES),
    )
    return Table(f"The first bonus of a new pair whose successor is new, at ε = {EPSILON:g}", header, rows)


EXPERIMENT = Experiment(
    figure="Figure 3",
    title="A bonus of 1/c: fixed scale and fitted scale",
    paper="On a bridge of five cells, an ε-greedy agent with a bonus of 1/c learns faster than one without a bonus, "
    "and a larger γ_E learns faster, so that generalized counters outperform standard counters.",
    notes="ε = 0.6 and α = 0.35 come from the reproducibility-challenge replication that the authors forked; at most "
    "100 steps per episode. Judged by the time until the error of Q falls below 1 % of that of Q = 0. The paper has a "
    "scale of 1 for every γ_E. But c grows more slowly the larger γ_E is, so at a fixed scale a larger γ_E simply pays "
    "a larger bonus. Therefore the scale is also fitted for each γ_E by itself: alone, at the paper's ε (24 values), "
    "and together with ε (12 × 7 values). The agent without a bonus has one number, ε, and gets as many values of it, "
    "84. Then the first bonus has nearly the same size for every γ_E (table). At scale 1 the order reverses at the end "
    "of the run, because a bonus that has not vanished is itself an error. The trend over all γ_E above 0 is judged "
    "instead of neighbouring values, which differ too little for the number of runs. A run is timed when its error is "
    "below the threshold for the first time; with fitted scales it may rise again while the bonus fades, and at "
    "γ_E = 0.9 it does so least (figure).",
    conditions=conditions,
    claims=[
        any_bonus_helps(FIXED, NO_BONUS),
        any_bonus_helps(TUNED, NO_BONUS_FITTED),
        *(trend(scaling) for scaling in GRIDS),
        *(look_ahead_helps(scaling) for scaling in GRIDS),
    ],
    draw=draw,
    order=20,
    size=Size(seeds=200, tuning_seeds=32),
    tables=tables,
    finding=Finding(
        "In a bonus of 1/c, do generalized counts (γ_E = 0.9) learn faster than visits?",
        [
            Answer(
                look_ahead_helps(scaling).text,
                "{} times as fast, by step",
                label=label,
                case="by step",
            )
            for scaling, label in (
                (FIXED, "at the paper's scale"),
                (SCALED, "each scale fitted"),
                (TUNED, "each scale and ε fitted"),
            )
        ],
    ),
)
