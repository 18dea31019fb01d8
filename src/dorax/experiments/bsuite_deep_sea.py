"""Tabular agents on the deep seas of bsuite, logged and scored by bsuite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dorax.agents.tabular import QLearning, TabularAgent, TabularLearner
from dorax.core import LLL, EpsilonGreedy, EValues, Sample, Softmax, Visits
from dorax.core.extras import needing
from dorax.study import figures
from dorax.study.claims import Claim, Estimate, Estimator
from dorax.study.experiment import Condition, Experiment, Job, Measure, Progress, RecordedTogether, Setting, Size, Table
from dorax.study.identity import key_of
from dorax.study.results import Results
from dorax.study.statistics import Times, difference_of_shares, median_of_ratios
from dorax.study.store import Store

DETERMINISTIC, STOCHASTIC = FAMILIES = ("deep_sea", "deep_sea_stochastic")
SIZES = range(10, 51, 2)  # of the ids 0, 1, ... of each family
MAPPING_SEED = 42  # of all ids
EPISODES = 10_000
FIRST_SEEDS = {DETERMINISTIC: 0, STOCHASTIC: 100}  # the seed of a reported run is this plus the number of its id
DISCOUNT = 0.99  # of Q and of E-values
TUNED_ON = [(family, size) for family in FAMILIES for size in (10, 20)]
RUNS_PER_SETTING = 3  # on each of them
TUNING_EPISODES = {10: 5000, 20: 1500}
UNSOLVED_AT = 1.2 * EPISODES  # where the figure shows runs that were not solved

E_VALUES, VISITS = "LLL softmax, E-values", "LLL softmax, visits"
OPTIMISTIC, GREEDY = "optimistic Q-learning", "ε-greedy"
_RATES = (0.1, 0.3, 0.6, 0.9)
_TEMPERATURES = (0.01, 0.03, 0.1, 0.3, 1.0)
GRIDS: dict[str, dict[str, Sequence[float]]] = {
    E_VALUES: {"temperature": _TEMPERATURES, "learning_rate": _RATES},
    VISITS: {"temperature": _TEMPERATURES, "learning_rate": _RATES},
    OPTIMISTIC: {"initial_value": (0.5, 1.0, 2.0, 4.0, 8.0), "learning_rate": _RATES},
    GREEDY: {"epsilon": (0.01, 0.03, 0.1, 0.3, 0.9), "learning_rate": _RATES},
}
STYLES: dict[str, dict[str, Any]] = {
    E_VALUES: {"color": figures.COLOURS[0], "marker": "o"},
    VISITS: {"color": figures.COLOURS[0], "marker": "o", "fillstyle": "none"},
    OPTIMISTIC: {"color": figures.COLOURS[3], "marker": "D"},
    GREEDY: {"color": figures.COLOURS[1], "marker": "^", "fillstyle": "none"},
}
# Osband et al. (2020), arXiv 1908.03568: heights of the bars of the report template in bsuite's repository
# (reports/standalone/images/bar_plot.png), read off to the pixel; all are within 0.01 of a number of ids out of 21.
PUBLISHED = {
    "bootstrapped DQN": {DETERMINISTIC: 1.0, STOCHASTIC: 0.86},
    "DQN": {DETERMINISTIC: 0.0, STOCHASTIC: 0.0},
    "actor-critic (recurrent)": {DETERMINISTIC: 0.0, STOCHASTIC: 0.05},
    "random": {DETERMINISTIC: 0.0, STOCHASTIC: 0.14},
}


@dataclass(frozen=True)
class Problem:
    """A deep sea.

    Attributes:
        family: `deep_sea` or `deep_sea_stochastic`.
        size: N.
        mapping_seed: seed of the mapping of actions.
        episodes: largest number of episodes.
    """

    family: str
    size: int
    mapping_seed: int
    episodes: int


def problem_of(seed: int) -> Problem:
    """Return the problem of a run: for reported seeds a bsuite id, for tuning seeds a small sea with another mapping.

    Args:
        seed: seed of the run.
    """
    for family, first in FIRST_SEEDS.items():
        if first <= seed < first + len(SIZES):
            return Problem(family, SIZES[seed - first], MAPPING_SEED, EPISODES)
    family, size = TUNED_ON[seed % len(TUNED_ON)]
    return Problem(family, size, seed, TUNING_EPISODES[size])


def short_problem_of(seed: int) -> Problem:
    """Return a sea of four or six rows, for quick runs.

    Args:
        seed: seed of the run.
    """
    return Problem(FAMILIES[seed >= FIRST_SEEDS[STOCHASTIC]], (4, 6)[seed % 2], MAPPING_SEED, 300)


def agent_of(name: str, setting: Setting) -> TabularAgent:
    """Create an agent.

    Args:
        name: name of the agent.
        setting: its settings.
    """
    initial_value, counter = 0.0, Visits()
    if name in (E_VALUES, VISITS):
        rule: Any = LLL(Softmax(setting["temperature"]))
        counter = EValues(DISCOUNT) if name == E_VALUES else counter
    elif name == OPTIMISTIC:
        rule, initial_value = Sample(EpsilonGreedy(0.0)), setting["initial_value"]
    else:
        rule = Sample(EpsilonGreedy(setting["epsilon"]))
    rate = setting["learning_rate"]
    return TabularAgent(rule, counter, None, QLearning(initial_value), learning_rate=rate, discount=DISCOUNT)


def conditions(size: Size) -> list[Condition]:
    """Return one condition per agent. Its seeds are the ids of both families."""
    if not size.is_full:
        grids = {name: {key: values[1:2] for key, values in grid.items()} for name, grid in GRIDS.items()}
        seeds = [first + number for first in FIRST_SEEDS.values() for number in range(2)]
        return [_condition(name, grid, seeds, short=True) for name, grid in grids.items()]
    seeds = [first + number for first in FIRST_SEEDS.values() for number in range(len(SIZES))]
    return [_condition(name, grid, seeds) for name, grid in GRIDS.items()]


def _condition(name: str, grid: dict[str, Sequence[float]], seeds: Sequence[int], short: bool = False) -> Condition:
    recorded = RecordedTogether(partial(fingerprint, name), seeds, check_machine=check_installed)
    return Condition(name, partial(train, name, short), grid, {}, UNSOLVED, recorded)


def train(name: str, short: bool, settings: Sequence[Setting], seeds: Sequence[int], job: Job) -> xr.Dataset:
    """Run one agent on one problem after the other. After an interruption only the rest is run.

    Args:
        name: name of the agent.
        short: whether it is a quick run.
        settings: settings of the agent.
        seeds: the seeds, each of which gives a problem.
        job: progress callback, and folder of the runs that are done.

    Returns:
        The dataset.
    """
    done, number, by_setting = Store(job.folder), len(settings) * len(seeds), []
    for setting in settings:
        found: list[xr.Dataset] = []
        for seed in seeds:
            at = len(by_setting) * len(seeds) + len(found)
            problem = short_problem_of(seed) if short else problem_of(seed)
            path = done.folder / f"{key_of((dict(setting), seed, problem))}.nc"
            data = done.load(path)
            if data is None:
                data = _run(name, setting, seed, problem, partial(_progress, job, at / number, 1 / number))
                done.save(path, data)
            found.append(data.assign_coords(seed=seed, record=range(data.sizes["record"])))
        by_setting.append(xr.concat(found, "seed", join="outer"))
    return xr.concat(by_setting, "setting", join="outer").assign_coords(setting=range(len(settings)))


def _run(name: str, setting: Setting, seed: int, problem: Problem, progress: Progress) -> xr.Dataset:
    from dorax.experiments import _bsuite_runs as runs

    env = runs.sea(problem.family, problem.size, problem.mapping_seed, seed)
    learner = TabularLearner(agent_of(name, setting), problem.size**2, 2, seed=seed)
    return runs.run(problem.family, env, learner, problem.episodes, progress)


def _progress(job: Job, done: float, share: float, of_run: float, steps: int) -> None:
    """Report the progress of one run of many."""
    job.progress(min(done + share * of_run, 0.999), steps)


def unsolved(data: xr.Dataset) -> xr.DataArray:
    """Compute whether a problem is not solved yet, at each of bsuite's records, which are evenly spaced in log time.

    Among runs that are never solved, those with fewer bad episodes are a little better.

    Args:
        data: results of one condition.

    Returns:
        0 when it is solved; before, 0.99 plus 0.01 times the share of bad episodes so far, by record.
    """
    is_solved = (data.record_episode >= data.solved_at) | (data.record_episode.isnull() & data.solved_at.notnull())
    share = data.record_bad_episodes / data.record_episode
    return (0.99 + 0.01 * share).where(~is_solved, 0.0).transpose(..., "record")


UNSOLVED = Measure("bsuite counts it as solved", unsolved, 0.0, fitted_by="area")


def fingerprint(name: str, setting: Setting) -> dict[str, Any]:
    """Return the outcome of a short run on a stochastic sea.

    Args:
        name: name of the agent.
        setting: its settings.
    """
    check_installed()
    from dorax.experiments import _bsuite_runs as runs

    learner = TabularLearner(agent_of(name, setting), 100, 2, seed=1)
    return runs.fingerprint(runs.sea(STOCHASTIC, 10, MAPPING_SEED, 1), learner, episodes=100)


def check_installed() -> None:
    """Raise `InvalidInput` unless bsuite is installed."""
    with needing("bsuite"):
        import_module("bsuite")


def runs_of(results: Results, name: str, family: str) -> xr.Dataset:
    """Select the runs of one agent on one family.

    Args:
        results: results of the experiment.
        name: name of the agent.
        family: the family.

    Returns:
        The runs, in the order of their size.
    """
    data, first = results[name].data(), FIRST_SEEDS[family]
    return data.sel(seed=[seed for seed in data.seed.values if first <= seed < first + len(SIZES)])


def pairs_of(results: Results, names: Sequence[str], family: str) -> list[xr.Dataset]:
    """Select the runs of several agents on the ids that all of them ran on.

    Args:
        results: results of the experiment.
        names: names of the agents.
        family: the family.

    Returns:
        The runs of each agent.
    """
    return list(xr.align(*(runs_of(results, name, family) for name in names), join="inner"))


def times_of(data: xr.Dataset) -> Times:
    """Return the episodes until each run counts as solved.

    Args:
        data: results of one condition.
    """
    is_solved = np.isfinite(data.solved_at.values)
    return Times(np.where(is_solved, data.solved_at.values, data.record_episode.max("record").values), is_solved)


def solved_more_often(often: str, seldom: str) -> Claim:
    """Claim that one agent scores higher than another.

    Args:
        often: the better agent.
        seldom: the worse agent.

    Returns:
        The claim, with one case per family.
    """

    def estimate(family: str, results: Results) -> Estimate:
        scores = [data.score.values for data in pairs_of(results, (often, seldom), family)]
        counts = [(int(score.sum()), len(score)) for score in scores]
        words = ", ".join(f"{x} of {n} for {name}" for (x, n), name in zip(counts, (often, seldom), strict=True))
        return Estimate(f"bsuite's score: {words}", difference_of_shares(*counts), counts[0][1])

    return Claim(f"{often} scores higher than {seldom}", _by_family(estimate), above=0.0)


def solved_sooner(soon: str, late: str) -> Claim:
    """Claim that one agent needs fewer episodes than another to solve the same id.

    Args:
        soon: the better agent.
        late: the worse agent.

    Returns:
        The claim, with one case per family.
    """

    def estimate(family: str, results: Results) -> Estimate:
        slow, fast = (times_of(data) for data in pairs_of(results, (late, soon), family))
        words = f"episodes until bsuite counts an id as solved, {late} over {soon} (median over ids)"
        return Estimate(words, median_of_ratios(slow, fast), len(fast.time))

    return Claim(f"{soon} solves the same id sooner than {late}", _by_family(estimate), above=1.0)


def _by_family(estimate: Callable[[str, Results], Estimate]) -> dict[str, Estimator]:
    return {family: partial(estimate, family) for family in FAMILIES}


def draw(results: Results, figure: Figure) -> None:
    """Draw the episodes until each id is solved against N, one panel per family; crosses are unsolved ids."""
    figure.set_size_inches(10, 4.2)
    panels = figure.subplots(1, len(FAMILIES), sharey=True)
    for family, panel in zip(FAMILIES, panels, strict=True):
        for name, style in STYLES.items():
            if name not in results.conditions:
                continue
            data = runs_of(results, name, family)
            times, sizes = times_of(data), data["size"].values
            panel.plot(sizes[times.is_reached], times.time[times.is_reached], label=name, **style, linewidth=1)
            unsolved_at = np.where(times.is_reached, np.nan, UNSOLVED_AT * 1.12 ** list(STYLES).index(name))
            panel.plot(sizes, unsolved_at, color=style["color"], marker="x", linestyle="", markersize=4)
        chance = np.arange(SIZES[0], 15)
        panel.plot(chance, 2.0**chance, color=figures.COLOURS[7], linestyle=":", label="by chance, $2^N$")
        panel.axhline(EPISODES, color=figures.COLOURS[7], linewidth=0.5)
        panel.set(xscale="log", yscale="log", xlabel="N", xticks=(10, 20, 30, 40, 50))
        panel.set_xticklabels(["10", "20", "30", "40", "50"])
        panel.minorticks_off()
        panel.set_title(family, loc="left", fontsize=10)
        figures.tidy(panel)
    panels[0].set_ylabel("episodes until solved")
    figures.legend_below(figure, panels[0])


def tables(results: Results) -> Sequence[Table]:
    """Return a table of bsuite's scores, ours and published ones."""
    rows: list[Sequence[Any]] = []
    for family in FAMILIES:
        for result in results:
            data = runs_of(results, result.name, family)
            if not data.sizes["seed"]:
                continue
            is_solved = np.isfinite(data.solved_at.values)
            largest = int(data["size"].values[is_solved].max()) if is_solved.any() else "none"
            setting = ", ".join(f"{key} {value:g}" for key, value in _chosen(result.choices).items())
            solved = f"{int(is_solved.sum())} of {len(is_solved)}"
            scores = [f"{float(score):.2f}" for score in (data.score.mean(), data.score_2019.mean())]
            rows.append((family, result.name, setting, *scores, largest, solved))
        rows += [
            (family, f"{name} (published)", "", "", f"{scores[family]:.2f}", "", "")
            for name, scores in PUBLISHED.items()
        ]
    header = ("family", "agent", "settings", "score", "score, rule of 2019", "largest N solved", "ids solved")
    return [Table("Scores by bsuite", header, rows)]


def _chosen(choices: Any) -> Setting:
    return choices["episode"].setting if choices else {}


EXPERIMENT = Experiment(
    figure="beyond the paper",
    title="bsuite's deep seas, deterministic and stochastic, scored by bsuite",
    paper="",
    notes="The ids deep_sea/0 to /20 and deep_sea_stochastic/0 to /20 of bsuite (Osband et al., 2020): N = 10 to 50, "
    "10 000 episodes, one run per id. Environments, logs and scores are bsuite's own. An id counts as solved at the "
    "first record with fewer than 90 % bad episodes (stochastic: 80 %, after at least 100 episodes), and scores if "
    "that is sooner than 2^N + 100. That the agent keeps what it found is not asked. A run ends when the rest cannot "
    "change the score. Every agent has one setting for all ids of both families: the best of 20 on seas of 10 and 20 "
    "rows of both, with other mappings of actions, within 5000 and 1500 episodes, three runs each. γ = γ_E = 0.99. "
    "Optimistic Q-learning is told the largest reward, 1; its initial value is a multiple of it. Published scores "
    "(arXiv 1908.03568) are of agents with networks, which have to generalize; tables do not. They are read off "
    "the bar plot in bsuite's repository (reports/standalone/images/bar_plot.png), so they are approximate, and were "
    "computed by the rule of 2019: fewer than 80 % bad episodes at any record, for both families. By that rule an "
    "agent can be lucky in its first few episodes on the stochastic family.",
    conditions=conditions,
    claims=[
        solved_more_often(E_VALUES, VISITS),
        solved_more_often(E_VALUES, GREEDY),
        solved_more_often(E_VALUES, OPTIMISTIC),
        solved_sooner(E_VALUES, OPTIMISTIC),
    ],
    draw=draw,
    order=125,
    size=Size(seeds=2 * len(SIZES), tuning_seeds=RUNS_PER_SETTING * len(TUNED_ON)),
    quick=Size(seeds=4, fraction=0.05),
    tables=tables,
)
