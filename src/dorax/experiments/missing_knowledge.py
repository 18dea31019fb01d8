"""Figure 5: the error of Q as a function of the count."""

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
from dorax.study.experiment import Answer, Condition, Experiment, Finding, Progress, Setting, Size
from dorax.study.results import Results
from dorax.study.statistics import mean

NAME = "LLL softmax, E-values"
EAST = 1
SMALLEST_ERROR = 1e-10  # smaller errors are rounding


@dataclass(frozen=True)
class Snapshots:
    """A training run that records values, visits and generalized counts of every pair after every episode.

    Args:
        agent: the agent.
        mdp: the MDP.
        episodes: number of episodes.
    """

    agent: TabularAgent
    mdp: MDP
    episodes: int

    def __call__(self, settings: Sequence[Setting], seeds: Sequence[int], progress: Progress | None) -> xr.Dataset:
        """Run all seeds; see `Condition.run`."""
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
BRIDGE = bridge(5)


def conditions(size: Size) -> Sequence[Condition]:
    """A single condition, LLL softmax with E-values."""
    return [Condition(NAME, Snapshots(AGENT, BRIDGE, size.of(50, least=20)))]


def missing(data: xr.Dataset) -> np.ndarray:
    """Compute |Q - Q*| / |Q*| of every pair after every episode.

    Args:
        data: the runs.

    Returns:
        Seeds x episodes x states x actions.
    """
    optimal_q = BRIDGE.optimal_q(0.9)
    return np.abs((data.q.values - optimal_q) / optimal_q)


def explained(data: xr.Dataset, counter: str) -> np.ndarray:
    """Compute the share of the variance of log-error that one decreasing function of the count explains.

    Args:
        data: the runs.
        counter: `"count"` or `"visits"`.

    Returns:
        The share for each seed.
    """
    error, counts, visits = missing(data), data[counter].values, data.visits.values
    shares = []
    for run in range(len(error)):
        is_known = (visits[run] > 0) & (error[run] > SMALLEST_ERROR)
        log_error, count = np.log(error[run][is_known]), counts[run][is_known]
        shares.append(1 - _residual(count, log_error) / np.sum((log_error - log_error.mean()) ** 2))
    return np.asarray(shares)


def _residual(count: np.ndarray, log_error: np.ndarray) -> float:
    """Return the residual of the best decreasing function; pairs with equal counts get equal values."""
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


def draw(results: Results, figure: Figure) -> None:
    """Draw the error of each pair over visits and over generalized counts."""
    data = results[NAME].data().isel(seed=slice(0, 10))
    error = np.maximum(missing(data), SMALLEST_ERROR)
    panels = figure.subplots(1, 2, sharey=True)
    labels = {"visits": "visits", "count": "generalized count c"}
    for panel, (counter, label) in zip(panels, labels.items(), strict=True):
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


EXPERIMENT = Experiment(
    figure="Figure 5",
    title="Generalized counts predict the error of Q",
    paper="The error of a pair's value is the same function of its generalized count for all pairs; it is not a "
    "function of its visits.",
    notes="Bridge of 5 cells, LLL softmax, γ = γ_E = 0.9. Temperature 1, α = 0.5 and 50 episodes come from the "
    "reproducibility-challenge replication that the authors forked. Triangles: crossing the bridge, which is optimal. "
    "Grey circles: the other actions, taken a few times each and mostly hidden at the upper left. The number is the "
    "share of the variance of log-error, over all visited pairs and all episodes of a run, that the best monotone "
    "function explains (isotonic regression). Errors below 1e-10 are left out as rounding. 'One function' means more "
    "than 90 %.",
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
        [Answer("c explains the error better than visits do", "{} more of the variance of log-error explained")],
    ),
)
