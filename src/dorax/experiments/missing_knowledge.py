"""Figure 5: the error of Q as a function of the count."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import isotonic_regression

from dorax.agents.tabular import TabularAgent
from dorax.core import LLL, EValues, Softmax, next_count
from dorax.engine.protocols import Change, Step, View
from dorax.engine.training import train
from dorax.mdps import bridge
from dorax.study import figures
from dorax.study.claims import Claim, Estimate
from dorax.study.experiment import Answer, Condition, Experiment, Finding, Progress, Setting, Size, Table
from dorax.study.results import Results
from dorax.study.statistics import exactly, from_draws, mean

NAME = "LLL softmax, E-values"
EAST = 1
SMALLEST_ERROR = 1e-10  # smaller errors are rounding
DISCOUNT = 0.9
AGENT = TabularAgent(rule=LLL(Softmax(1.0)), counter=EValues(0.9), learning_rate=0.5, discount=DISCOUNT)
BRIDGE = bridge(5)

TEMPERATURES, RATES, E_DISCOUNTS = (1.0, 3.0, 10.0, 30.0), (0.1, 0.5, 0.9), (0.5, 0.9, 0.99)
CELLS = list(itertools.product(TEMPERATURES, RATES, E_DISCOUNTS))
SWEEPS = (50, 200)  # episodes
SNAPSHOTS, SWEEP_SEEDS = 50, 20  # all runs have as many lanes as a sweep, to share one compiled program
RESAMPLES = 20_000


class PairProbe(eqx.Module):
    """Probe that records the values, visits and counts of every pair.

    Attributes:
        marks: episodes after which a snapshot is taken.
        columns: empty, because the probe adds nothing to the record of an episode.
    """

    marks: Sequence[int] = eqx.field(static=True)
    columns: tuple[str, ...] = eqx.field(default=(), static=True)

    def init(self, algorithm: Any, memory: Any) -> jax.Array:
        return jnp.zeros(algorithm.available.shape, jnp.int32)

    def watch(self, state: jax.Array, step: Step, change: Change | None, observation: Any) -> jax.Array:
        return state.at[step.features[0], step.action[0]].add(step.learns[0].astype(jnp.int32))

    def record(self, state: jax.Array) -> tuple[jax.Array, ...]:
        return ()

    def enough(self, state: jax.Array) -> jax.Array:
        return jnp.zeros((), bool)

    def summary(self, state: Any) -> Mapping[str, Any]:
        return {}

    def dims(self, name: str) -> tuple[str, ...]:
        return ("state", "action")

    def snapshot(self, state: Any, views: Callable[[Any], View]) -> Mapping[str, np.ndarray]:
        seen = views(jnp.arange(BRIDGE.states))
        return {
            "q": np.asarray(seen.values),
            "visits": np.asarray(state)[:, : BRIDGE.states],
            "count": np.asarray(seen.counts),
        }


def snapshots(
    settings: Sequence[Setting], seeds: Sequence[int], progress: Progress | None, *, episodes: int, every: int = 1
) -> xr.Dataset:
    """Train in float64, since the error of Q becomes tiny, and record every pair.

    Args:
        settings: numbers to replace in the agent.
        seeds: the seeds.
        progress: progress callback.
        episodes: number of episodes.
        every: episodes between snapshots.

    Returns:
        `q`, `visits` and `count` over setting, seed, snapshot, state and action.
    """
    probe = PairProbe(tuple(range(every, episodes + 1, every)))
    with jax.enable_x64(True):
        run = train(
            AGENT, BRIDGE, episodes, seeds, settings=settings, probes=[probe], learners=[], progress=progress,
            lanes=len(CELLS) * SWEEP_SEEDS,
        )  # fmt: skip
    return run.data[["q", "visits", "count"]].transpose("setting", "seed", "snapshot", "state", "action")


@dataclass(frozen=True)
class Sweep:
    """Runs at many temperatures, learning rates and exploration discounts, reduced to the shares explained.

    Args:
        episodes: number of episodes.
    """

    episodes: int

    def __call__(self, settings: Sequence[Setting], seeds: Sequence[int], progress: Progress | None) -> xr.Dataset:
        """Run every cell; see `Condition.run`."""
        cells: list[Setting] = [
            {"temperature": temperature, "learning_rate": rate, "counter.discount": e_discount}
            for temperature, rate, e_discount in CELLS
        ]
        chosen = list(seeds)[:SWEEP_SEEDS]
        every = max(1, self.episodes // SNAPSHOTS)
        data = snapshots(cells, chosen, progress, episodes=self.episodes, every=every)
        data = data.assign(rounded=np.round(data["count"]))
        shares = {
            counter: (
                ("setting", "seed", "cell"),
                np.stack([explained(data.isel(setting=i), counter) for i in range(len(CELLS))], axis=1)[None],
            )
            for counter in ("count", "visits", "rounded")
        }
        return xr.Dataset(shares, coords={"setting": [""], "seed": chosen})


def sweep_name(episodes: int) -> str:
    """Return the name of a sweep's condition.

    Args:
        episodes: number of episodes at full size.
    """
    return f"sweep, {episodes} episodes"


def conditions(size: Size) -> Sequence[Condition]:
    """The paper's setting, and two sweeps."""
    return [
        Condition(NAME, partial(snapshots, episodes=size.of(50, least=20))),
        *(Condition(sweep_name(n), Sweep(size.of(n, least=20))) for n in SWEEPS),
    ]


def missing(data: xr.Dataset) -> np.ndarray:
    """Compute |Q - Q*| / |Q*| of every pair at every snapshot.

    Args:
        data: the runs.

    Returns:
        Seeds x snapshots x states x actions.
    """
    optimal_q = BRIDGE.optimal_q(DISCOUNT)
    return np.abs((data.q.values - optimal_q) / optimal_q)


def explained(data: xr.Dataset, counter: str) -> np.ndarray:
    """Compute the share of the variance of log-error that one decreasing function of the count explains.

    Args:
        data: the runs.
        counter: name of the variable with the counts.

    Returns:
        The share for each seed.
    """
    error, counts, visits = missing(data), data[counter].values, data.visits.values
    shares = []
    for run in range(len(error)):
        is_known = (visits[run] > 0) & (error[run] > SMALLEST_ERROR)
        log_error, count = np.log(error[run][is_known]), counts[run][is_known]
        shares.append(1 - residual(count, log_error) / np.sum((log_error - log_error.mean()) ** 2))
    return np.asarray(shares)


def residual(count: np.ndarray, log_error: np.ndarray) -> float:
    """Compute how much the best decreasing function of the count leaves unexplained.

    Args:
        count: count of each pair; pairs with equal counts get equal values.
        log_error: logarithm of the error of each pair.

    Returns:
        The sum of squared residuals.
    """
    values, place, weights = np.unique(count, return_inverse=True, return_counts=True)
    means = np.bincount(place, log_error) / weights
    fitted = isotonic_regression(means, weights=weights, increasing=False).x if len(values) > 1 else means
    return float(np.sum((log_error - fitted[place]) ** 2))


def share_explained(results: Results, counter: str) -> Estimate:
    """Estimate the mean share explained.

    Args:
        results: results of the experiment.
        counter: `"count"` or `"visits"`.

    Returns:
        The estimate.
    """
    shares = explained(results[NAME].data(), counter)
    symbol = "c" if counter == "count" else counter
    words = f"share of log-error variance that one falling function of {symbol} explains"
    return Estimate(words, mean(shares), len(shares))


def advantage(results: Results) -> Estimate:
    """Estimate how much more of the variance counts explain than visits do.

    Args:
        results: results of the experiment.

    Returns:
        The estimate.
    """
    by_count, by_visits = (explained(results[NAME].data(), counter) for counter in ("count", "visits"))
    # Both shares come from the same runs, so their difference is resampled as one number per run.
    interval = mean(by_count - by_visits)
    return Estimate("share explained by c, less share explained by visits", interval, len(by_count))


def worst_cell(results: Results, episodes: int, shares: Callable[[xr.Dataset], np.ndarray], words: str) -> Estimate:
    """Estimate the smallest mean over the cells of a sweep.

    Seeds are resampled for all cells at once. Resampling makes a minimum smaller rather than larger, so an interval
    above a bound is on the safe side.

    Args:
        results: results of the experiment.
        episodes: episodes of the sweep.
        shares: from the runs, seeds x cells.
        words: what is estimated.

    Returns:
        The estimate.
    """
    found = shares(results[sweep_name(episodes)].data())
    drawn = np.random.default_rng(0).multinomial(len(found), np.full(len(found), 1 / len(found)), RESAMPLES)
    draws = (drawn @ found / len(found)).min(axis=1)
    worst = int(found.mean(axis=0).argmin())
    temperature, rate, e_discount = CELLS[worst]
    where = f"worst of {len(CELLS)} settings: temperature {temperature:g}, α = {rate:g}, γ_E = {e_discount:g}"
    return Estimate(f"{words}, {episodes} episodes, {where}", from_draws(found[:, worst].mean(), draws), len(found))


def repeated_path(e_discount: float, learning_rate: float = 0.5, episodes: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Cross the bridge again and again, and record how the error and E of each cell fall.

    Args:
        e_discount: the paper's gamma_E.
        learning_rate: the paper's alpha.
        episodes: number of crossings.

    Returns:
        The logarithms of |Q - Q*| / |Q*| and of E after each crossing, [crossings, cells].
    """
    best = BRIDGE.optimal_q(DISCOUNT)[:, EAST]
    q, counts, cells = np.zeros(len(best)), np.zeros(len(best)), len(best)
    log_errors, log_es = np.zeros((2, episodes, cells))
    for episode in range(episodes):
        for cell in range(cells):
            is_last = cell == cells - 1
            target = best[cell] if is_last else DISCOUNT * q[cell + 1]
            q[cell] += learning_rate * (target - q[cell])
            counts[cell] = next_count(counts[cell], None if is_last else counts[cell + 1], learning_rate, e_discount)
        log_errors[episode] = np.log(1 - q / best)
        log_es[episode] = counts * math.log1p(-learning_rate)
    return log_errors, log_es


def distance_from_e(results: Results, e_discount: float) -> Estimate:
    """Compare the error with E on a repeated path, relative to the largest possible difference.

    Args:
        results: not used.
        e_discount: the paper's gamma_E.

    Returns:
        The estimate.
    """
    del results
    log_errors, log_es = repeated_path(e_discount)
    steps = np.arange(log_es.shape[1])[::-1]
    ratio = np.abs(log_errors - log_es)[:, :-1] / (steps[:-1] * -math.log(e_discount))
    words = f"largest |log error - log E| over d |log γ_E|, d steps from the end of a repeated path, γ_E = {e_discount}"
    return Estimate(words, exactly(float(ratio.max())), 1)


def draw(results: Results, figure: Figure) -> None:
    """Draw the error of each pair over visits and over counts, and the shares explained in the sweep."""
    figure.set_size_inches(10, 7)
    upper, lower = np.asarray(figure.subfigures(2, 1, height_ratios=(1.25, 1)))
    _draw_errors(results, upper)
    panels = lower.subplots(1, 2, sharey=True)
    data = results[sweep_name(SWEEPS[0])].data()
    images = [
        _draw_shares(panel, data[counter].values.mean(axis=0)) for panel, counter in zip(panels, LABELS, strict=True)
    ]
    for panel, label in zip(panels, LABELS.values(), strict=True):
        panel.set_title(f"share explained by {label}, {SWEEPS[0]} episodes", fontsize=10)
    panels[0].set_ylabel("temperature")
    lower.colorbar(images[0], ax=panels, shrink=0.9)


LABELS = {"visits": "visits", "count": "generalized count c"}


def _draw_errors(results: Results, figure: Any) -> None:
    data = results[NAME].data().isel(seed=slice(0, 10))
    error = np.maximum(missing(data), SMALLEST_ERROR)
    panels = figure.subplots(1, 2, sharey=True)
    for panel, (counter, label) in zip(panels, LABELS.items(), strict=True):
        share = explained(results[NAME].data(), counter).mean()
        for state in range(BRIDGE.states):
            for action in range(BRIDGE.actions):
                is_seen = data.visits.values[:, :, state, action] > 0
                panel.plot(
                    data[counter].values[:, :, state, action][is_seen],
                    error[:, :, state, action][is_seen],
                    linestyle="",
                    marker="^" if action == EAST else "o",
                    markersize=4 if action == EAST else 3,
                    alpha=0.35,
                    color=figures.palette(BRIDGE.states)[state] if action == EAST else "#999999",
                    markeredgewidth=0,
                    rasterized=True,
                    label=f"east from cell {state}" if action == EAST else None,
                    zorder=2 if action == EAST else 1,
                )
        panel.set_yscale("log")
        panel.set_xlabel(label)
        panel.set_title(f"one function explains {share:.2%}", fontsize=10)
        figures.tidy(panel)
    panels[0].set_ylabel("|Q − Q*| / |Q*|")
    panels[0].set_ylim(SMALLEST_ERROR, None)
    figures.legend_below(figure, panels[0], columns=5)


def _draw_shares(axes: Axes, shares: np.ndarray) -> Any:
    grid = shares.reshape(len(TEMPERATURES), -1)
    image = axes.imshow(grid, vmin=0, vmax=1, cmap="viridis", aspect="auto")
    for row, column in np.ndindex(*grid.shape):
        share = grid[row, column]
        colour = "white" if share < 0.6 else "black"
        axes.text(column, row, f"{share:.2f}", ha="center", va="center", fontsize=7, color=colour)
    axes.set_yticks(range(len(TEMPERATURES)), [f"{t:g}" for t in TEMPERATURES])
    columns = list(itertools.product(RATES, E_DISCOUNTS))
    axes.set_xticks(range(len(columns)), [f"{rate:g}\n{e:g}" for rate, e in columns], fontsize=8)
    axes.set_xlabel("α (above) and γ_E (below)")
    return image


def tables(results: Results) -> list[Table]:
    """Create a table of the shares explained for each sweep."""
    header = ["temperature", "α", *(f"γ_E = {e:g}: c / visits" for e in E_DISCOUNTS)]
    found: list[Table] = []
    for episodes in SWEEPS:
        data = results[sweep_name(episodes)].data()
        by_count, by_visits, by_rounded = (data[each].values.mean(axis=0) for each in ("count", "visits", "rounded"))
        shares = [f"{c:.2f} / {v:.2f}" for c, v in zip(by_count, by_visits, strict=True)]
        width = len(E_DISCOUNTS)
        rows = [
            [f"{temperature:g}", f"{rate:g}", *shares[width * i : width * (i + 1)]]
            for i, (temperature, rate) in enumerate(itertools.product(TEMPERATURES, RATES))
        ]
        high, high_by_visits, better, better_rounded = (
            int(np.sum(each))
            for each in (by_count > 0.9, by_visits > 0.9, by_count > by_visits, by_rounded > by_visits)
        )
        caption = (
            f"Share of the variance of log-error explained, {episodes} episodes. Of {len(CELLS)} settings, c explains "
            f"more than 90 % in {high}, visits in {high_by_visits}; c explains more than visits in {better}, and "
            f"rounded to whole numbers in {better_rounded}"
        )
        found.append(Table(caption, header, rows))
    return found


BETTER = "c explains the error better than visits do"
EVERYWHERE = "the error is one function of c in every setting of the sweep"


def claims() -> list[Claim]:
    """Create the claims about the paper's setting, about a repeated path and about the sweep."""

    def in_sweeps(shares: Callable[[xr.Dataset], np.ndarray], words: str) -> dict[str, Any]:
        return {f"{n} episodes": partial(worst_cell, episodes=n, shares=shares, words=words) for n in SWEEPS}

    def gain(data: xr.Dataset) -> np.ndarray:
        return (data["count"] - data["visits"]).values

    def gain_of_rounded(data: xr.Dataset) -> np.ndarray:
        return (data["rounded"] - data["visits"]).values

    def by_count(data: xr.Dataset) -> np.ndarray:
        return data["count"].values

    words = "share explained by c, less share explained by visits"
    return [
        Claim(BETTER, {"as in the paper": advantage, **in_sweeps(gain, words)}, above=0.0),
        Claim(
            "rounded to whole numbers, as visits are, c still explains the error better in every setting of the sweep",
            in_sweeps(gain_of_rounded, words.replace("c,", "rounded c,")),
            above=0.0,
        ),
        Claim(
            "in the paper's setting the error is one function of c", lambda r: share_explained(r, "count"), above=0.9
        ),
        Claim(
            "in the paper's setting the error is not one function of visits",
            lambda r: share_explained(r, "visits"),
            below=0.9,
        ),
        Claim(EVERYWHERE, in_sweeps(by_count, "share of log-error variance explained by c"), above=0.9),
        Claim(
            "on a repeated path the error lies within a factor γ_E^d of E, d steps from its end",
            {f"γ_E = {e:g}": partial(distance_from_e, e_discount=e) for e in E_DISCOUNTS},
            below=1.0,
            is_mathematics=True,
        ),
    ]


EXPERIMENT = Experiment(
    figure="Figure 5",
    title="Do generalized counts predict the error of Q?",
    paper="The error of a pair's value is the same function of its generalized count for all pairs; it is not a "
    "function of its visits.",
    notes="Bridge of 5 cells, LLL softmax, γ = 0.9. Above: γ_E = 0.9, the paper's; temperature 1, α = 0.5 and 50 "
    "episodes, from the reproducibility-challenge replication. Triangles: crossing the bridge, which is optimal. Grey "
    "circles: the other actions, taken a few times each and mostly hidden at the upper left. The number is the share "
    "of the variance of log-error, over all visited pairs and all snapshots of a run, that the best monotone function "
    "explains (isotonic regression). Errors below 1e-10 are left out as rounding; “one function” means more than "
    "90 %. At temperature 1 the agent is nearly greedy and soon repeats one path. There the statement is close to an "
    "identity: |Q − Q*|/|Q*| of a pair follows the same recursion as E would at γ_E = 1, from the same start; for γ_E "
    "< 1 it lies between E and E/γ_E^d, d steps from the end of the path, which is up to d log γ_E/log(1 − α) visits "
    "apart: half a visit in the paper's setting, 26 at α = 0.1 and γ_E = 0.5. Below: temperature, α (of Q and of E) "
    f"and γ_E swept, {SWEEP_SEEDS} seeds, {SNAPSHOTS} snapshots over {SWEEPS[0]} episodes (in the tables also over "
    f"{SWEEPS[1]}); all ours. A function of c can be finer than one of visits, which are whole numbers, so c is also "
    "judged rounded.",
    conditions=conditions,
    claims=claims(),
    draw=draw,
    order=50,
    tables=tables,
    finding=Finding(
        "Does a generalized count predict the error of Q better than visits do?",
        [
            Answer(
                BETTER,
                "{} more of the variance of log-error explained in the worst of 36 settings",
                label="better than visits",
                case="200 episodes",
            ),
            Answer(EVERYWHERE, "{} of the variance in the worst setting", label="one function of c"),
        ],
    ),
)
