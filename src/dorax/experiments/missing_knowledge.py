"""Figure 5: how much a pair has yet to learn, as a function of its count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from scipy.optimize import isotonic_regression

from dorax.agents.tabular import TabularAgent, TabularLearner
from dorax.core import LLL, EValues, Softmax
from dorax.mdps import MDP, bridge
from dorax.study import figures
from dorax.study.claims import Claim, Estimate
from dorax.study.experiment import Condition, Experiment, Finding, Progress, Setting, Size
from dorax.study.results import Results
from dorax.study.statistics import mean

NAME = "LLL softmax, E-values"
EAST = 1
SMALLEST_ERROR = 1e-10  # below it a value is known, and its logarithm is rounding


@dataclass(frozen=True)
class Snapshots:
    """Values, visits and generalized counts of every pair at the end of every episode."""

    agent: TabularAgent
    mdp: MDP
    episodes: int

    def __call__(self, settings: Sequence[Setting], seeds: Sequence[int], progress: Progress | None) -> xr.Dataset:
        runs = []
        for number, seed in enumerate(seeds, start=1):
            runs.append(self._run(seed))
            if progress is not None:
                progress(number / len(seeds), int(sum(run[1][-1].sum() for run in runs)))
        dims = ("setting", "seed", "episode", "state", "action")
        columns = {
            name: (dims, np.stack([run[i] for run in runs])[None]) for i, name in enumerate(("q", "visits", "count"))
        }
        return xr.Dataset(columns, coords={"setting": [""], "seed": list(seeds)})

    def _run(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        mdp = self.mdp
        learner = TabularLearner(self.agent, mdp.states, mdp.actions, seed=seed)
        visits = np.zeros((mdp.states, mdp.actions))
        snapshots = []
        for _ in range(self.episodes):
            state, is_over, length = int(np.argmax(mdp.start)), False, 0
            while not is_over:
                action = learner.act(state)
                visits[state, action] += 1
                length += 1
                arrives, reward, ends = (table[state, action, 0] for table in (mdp.successor, mdp.reward, mdp.terminal))
                learner.observe(state, action, reward, arrives, bool(ends), length >= mdp.max_steps)
                state, is_over = int(arrives), bool(ends) or length >= mdp.max_steps
            snapshots.append((learner.q_table.copy(), visits.copy(), learner.count_table.copy()))
        q, visited, counts = (np.stack(column) for column in zip(*snapshots, strict=True))
        return q, visited, counts


AGENT = TabularAgent(rule=LLL(Softmax(1.0)), counter=EValues(0.9), learning_rate=0.5, discount=0.9)
WORLD = bridge(5)


def conditions(size: Size) -> Sequence[Condition]:
    return [Condition(NAME, Snapshots(AGENT, WORLD, size.of(50, least=20)))]


def missing(data: xr.Dataset) -> np.ndarray:
    """|Q - Q*| / |Q*| of every pair at every episode's end."""
    optimal_q = WORLD.optimal_q(0.9)
    return np.abs((data.q.values - optimal_q) / optimal_q)


def explained(data: xr.Dataset, counter: str) -> np.ndarray:
    """For each run, the share of the variance of log-error that one falling function of the count explains."""
    error, counts, visits = missing(data), data[counter].values, data.visits.values
    shares = []
    for run in range(len(error)):
        is_known = (visits[run] > 0) & (error[run] > SMALLEST_ERROR)
        log_error, count = np.log(error[run][is_known]), counts[run][is_known]
        shares.append(1 - _residual(count, log_error) / np.sum((log_error - log_error.mean()) ** 2))
    return np.asarray(shares)


def _residual(count: np.ndarray, log_error: np.ndarray) -> float:
    """What the best falling function leaves over; pairs of equal count must get equal values."""
    values, place, weights = np.unique(count, return_inverse=True, return_counts=True)
    means = np.bincount(place, log_error) / weights
    fitted = isotonic_regression(means, weights=weights, increasing=False).x if len(values) > 1 else means
    return float(np.sum((log_error - fitted[place]) ** 2))


def share_explained(results: Results, counter: str) -> Estimate:
    shares = explained(results[NAME].data(), counter)
    symbol = "c" if counter == "count" else counter
    words = f"share of log-error variance that one falling function of {symbol} explains"
    return Estimate(words, mean(shares), len(shares))


def advantage(results: Results) -> Estimate:
    by_count, by_visits = (explained(results[NAME].data(), counter) for counter in ("count", "visits"))
    # The two shares are of the same runs: their difference is resampled as one number a run.
    interval = mean(by_count - by_visits)
    return Estimate("share explained by c, less share explained by visits", interval, len(by_count))


def draw(results: Results, figure: Figure) -> None:
    data = results[NAME].data().isel(seed=slice(0, 10))
    error = np.maximum(missing(data), SMALLEST_ERROR)
    panels = figure.subplots(1, 2, sharey=True)
    labels = {"visits": "visits", "count": "generalized count c"}
    for panel, (counter, label) in zip(panels, labels.items(), strict=True):
        share = explained(results[NAME].data(), counter).mean()
        for state in range(WORLD.states):
            for action in range(WORLD.actions):
                is_seen = data.visits.values[:, :, state, action] > 0
                panel.plot(
                    data[counter].values[:, :, state, action][is_seen],
                    error[:, :, state, action][is_seen],
                    linestyle="",
                    marker="^" if action == EAST else "o",
                    markersize=4 if action == EAST else 3,
                    alpha=0.35,
                    color=figures.palette(WORLD.states)[state] if action == EAST else "#999999",
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


EXPERIMENT = Experiment(
    figure="Figure 5",
    title="A generalized count tells what is not yet known",
    paper="How far the value of a pair is from its optimum is one and the same function of its generalized count, "
    "whatever the pair; it is not a function of its visits.",
    notes="Bridge of 5 cells, LLL softmax at temperature 1, γ = γ_E = 0.9, α = 0.5, 50 episodes. Triangles: "
    "crossing the bridge, which is optimal. Grey circles: the other actions, taken a few times each "
    "and mostly hidden at the upper left. The number: the share of the variance of log-error, over all visited "
    "pairs and episode ends of a run, that the best monotone function explains (isotonic regression). "
    "Errors below 1e-10 are left out as rounding. 'One function' is taken to mean more than 90 %.",
    conditions=conditions,
    claims=[
        Claim("the error is one function of c", lambda r: share_explained(r, "count"), above=0.9),
        Claim("the error is not one function of visits", lambda r: share_explained(r, "visits"), below=0.9),
        Claim("c explains the error better than visits do", advantage, above=0.0),
    ],
    draw=draw,
    order=50,
    finding=Finding(
        "Does a generalized count predict the error of Q better than visits do?",
        "c explains the error better than visits do",
        "{} more of the variance of log-error explained",
    ),
)
