"""The sparse mountain car with small networks: acting by counts, and bonuses, with Q's own settings fitted for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dorax.agents.deep import DeepAgent
from dorax.agents.explorers import RND
from dorax.core import LLL, EpsilonGreedy, InverseRootCount, Sample, Softmax
from dorax.engine.training import Training, train
from dorax.envs import SparseMountainCar
from dorax.experiments._continuous_agents import count, logistic, successes
from dorax.study import figures
from dorax.study.claims import Claim, Estimate, by_axes, faster
from dorax.study.experiment import (
    Answer,
    Axis,
    Condition,
    Experiment,
    Finding,
    Measure,
    RecordedTogether,
    Setting,
    Size,
    Table,
)
from dorax.study.measures import held, times_to_threshold
from dorax.study.results import Results
from dorax.study.statistics import Interval, difference_of_means, mean, median

EPISODES = 300
QUICK_STEPS = 10_000  # of a quick run, at most
TEST_EVERY = 10
LAST_TESTS = 10
WIDTH, BATCH = 64, 16
EPSILON = 0.2  # of the agents with a bonus

EPSILON_GREEDY = "ε-greedy"
PLAIN, COUNT = "LLL, γ_E = 0, count", "LLL, γ_E = 0.99, count"
LOGISTIC = "LLL, γ_E = 0.99, logistic"
E_BONUS, VISIT_BONUS, RND_BONUS = "E-value bonus", "visit bonus", "RND bonus"
STYLES: dict[str, dict[str, Any]] = {
    EPSILON_GREEDY: {"color": figures.COLOURS[6], "linestyle": ":"},
    PLAIN: {"color": figures.COLOURS[0], "linestyle": "--"},
    COUNT: {"color": figures.COLOURS[0], "linestyle": "-"},
    LOGISTIC: {"color": figures.COLOURS[5], "linestyle": "-"},
    VISIT_BONUS: {"color": figures.COLOURS[1], "linestyle": "--"},
    E_BONUS: {"color": figures.COLOURS[1], "linestyle": "-"},
    RND_BONUS: {"color": figures.COLOURS[2], "linestyle": "-"},
}


def agents() -> dict[str, tuple[DeepAgent, Mapping[str, Sequence[float]]]]:
    """Create the agents. Each has one number of its own and two of Q to fit, 32 settings in all.

    Returns:
        For each agent by name, the agent and its grid.
    """
    q = {"learning_rate": (3e-5, 1e-4, 3e-4, 1e-3), "target_every": (10.0, 30.0)}
    lll, temperature = LLL(Softmax(1.0)), {"temperature": (0.3, 1.0, 3.0, 10.0)}
    greedy, bonus = Sample(EpsilonGreedy(EPSILON)), InverseRootCount(0.1)
    scale = {"bonus.scale": (1e-5, 1e-4, 1e-3, 1e-2)}

    def agent(*parts: Any) -> DeepAgent:
        return DeepAgent(*parts, width=WIDTH, batch=BATCH)

    found: dict[str, tuple[DeepAgent, Mapping[str, Sequence[float]]]] = {
        EPSILON_GREEDY: (agent(greedy), {"epsilon": (0.1, 0.3, 0.6, 0.9)}),
        PLAIN: (agent(lll, count(0.0, step_size=0.1)), temperature),
        COUNT: (agent(lll, count(0.99, step_size=0.1)), temperature),
        LOGISTIC: (agent(lll, logistic(0.99, step_size=4.0)), temperature),
        VISIT_BONUS: (agent(greedy, count(0.0, step_size=0.1), bonus), scale),
        E_BONUS: (agent(greedy, count(0.99, step_size=0.1), bonus), scale),
        RND_BONUS: (agent(greedy, None, RND()), {"bonus.scale": (3e-4, 3e-3, 0.03, 0.3)}),
    }
    return {name: (agent, {**own, **q}) for name, (agent, own) in found.items()}


def conditions(size: Size) -> list[Condition]:
    """One condition per agent; a quick run has three, since each takes long to compile."""
    episodes, steps = size.of(EPISODES, least=2 * TEST_EVERY), None
    chosen = agents()
    if not size.is_full:
        steps = QUICK_STEPS
        chosen = {name: chosen[name] for name in (EPSILON_GREEDY, COUNT, RND_BONUS)}
    return [
        Condition(
            name,
            Training(agent, SparseMountainCar(), episodes, steps, test_every=TEST_EVERY),
            grid,
            measure=GREEDY,
            recorded=RecordedTogether(partial(fingerprint, agent), tuning_only=True),
        )
        for name, (agent, grid) in chosen.items()
    ]


def fingerprint(agent: DeepAgent, setting: Setting) -> dict[str, Any]:
    """Compute what an agent has learned after a few hundred steps.

    Args:
        agent: the agent.
        setting: its fitted numbers.

    Returns:
        The values of all actions at three observations.
    """
    learner = train(agent, SparseMountainCar(), steps=1200, seeds=[1], settings=[setting]).learner(1)
    places = ((-0.5, 0.0), (-0.9, 0.02), (0.2, -0.03))
    return {"values": [float(value) for place in places for value in learner.q(place)]}


def failed_so_far(data: xr.Dataset) -> xr.DataArray:
    """Compute whether the goal has not yet been reached in training.

    Args:
        data: runs of one agent.

    Returns:
        1 until the first success and 0 from then on, by episode.
    """
    returns = data["return"]
    return returns.copy(data=1 - np.maximum.accumulate(successes(returns), axis=-1))


def greedy_failures(data: xr.Dataset) -> xr.DataArray:
    """Compute whether the latest greedy test failed.

    Args:
        data: runs of one agent.

    Returns:
        1 or 0 by training episode; 1 before the first test, NaN after the end of a run.
    """
    returns = data["return"]
    failed = 1 - successes(data.test_return)
    latest = np.arange(1, data.sizes["episode"] + 1) // TEST_EVERY - 1
    curve = np.where(latest < 0, 1.0, failed[..., np.maximum(latest, 0)])
    return returns.copy(data=np.where(np.isnan(returns.values), np.nan, curve))


FIRST = Measure("the goal is first reached", failed_so_far, 0.0)
GREEDY = Measure("a greedy test succeeds", greedy_failures, 0.0, fitted_by="area")


def greedy_success(data: xr.Dataset, axis: Axis, horizon: float = np.inf) -> np.ndarray:
    """Compute the share of a run during which the latest greedy test had succeeded.

    Args:
        data: runs of one agent.
        axis: whether all episodes weigh the same, or all steps.
        horizon: number of steps to average over, by step.

    Returns:
        The share for each seed.
    """
    failed = greedy_failures(data).values
    if axis == "episode":
        return 1 - np.nanmean(failed, axis=-1)
    steps = np.minimum(held(data.steps.values), horizon)
    weight = np.diff(steps, axis=-1, prepend=0.0)
    return 1 - np.sum(weight * np.nan_to_num(failed), axis=-1) / np.sum(weight, axis=-1)


def learns_better(better: str, worse: str, axis: Axis) -> Claim:
    """Claim that the greedy tests of one agent succeed more often over a run than those of another.

    By step, both are averaged over as many steps as the shortest run of the two had.

    Args:
        better: name of the agent that should be better.
        worse: name of the other agent.
        axis: average over episodes or steps.

    Returns:
        The claim.
    """

    def estimate(results: Results) -> Estimate:
        runs = [results[name].data(axis) for name in (better, worse)]
        horizon = min(float(np.nanmax(data.steps.values, axis=-1).min()) for data in runs)
        ours, theirs = (greedy_success(data, axis, horizon) for data in runs)
        words = f"mean success of greedy tests over all {axis}s, {better} less {worse}"
        return Estimate(words, difference_of_means(ours, theirs), len(ours))

    return Claim(f"{better} against {worse}", estimate, above=0.0)


def finds_sooner(soon: str, late: str, axis: Axis) -> Claim:
    """Claim that one agent reaches the goal for the first time before another.

    Args:
        soon: name of the agent that should be sooner.
        late: name of the other agent.
        axis: count episodes or steps.

    Returns:
        The claim.
    """
    return faster(soon, late, axis, measure=FIRST)


RIVALS = {
    PLAIN: "acting by visits",
    E_BONUS: "the same counts as a bonus",
    RND_BONUS: "an RND bonus",
    EPSILON_GREEDY: "ε-greedy",
}
FINDS = {
    rival: f"acting by γ_E = 0.99 reaches the goal for the first time before {text}" for rival, text in RIVALS.items()
}
LEARNS = {name: f"acting by γ_E = 0.99 has more successful greedy tests than {it}" for name, it in RIVALS.items()}


def draw(results: Results, figure: Figure) -> None:
    """Draw how many runs have reached the goal, and the success of greedy tests by episode and by step."""
    figure.set_size_inches(12, 4.4)
    panels = figure.subplots(1, 3, sharey=True)
    for result in results:
        style = {"statistic": figures.mean_over_seeds, "label": result.name, **STYLES[result.name]}
        data = result.data("step")
        figures.draw_curve(panels[0], data.assign(found=1 - failed_so_far(data)), "step", "found", **style)
        for panel, axis in zip(panels[1:], ("episode", "step"), strict=True):
            data = result.data(axis)
            success = figures.trailing_mean(1 - greedy_failures(data).values, 5 * TEST_EVERY)
            curve = data.assign(success=(data["return"].dims, success))
            figures.draw_curve(panel, curve, axis, "success", **style)
    titles = ("share of runs that have reached the goal", "success of greedy tests", "success of greedy tests")
    for panel, axis, title in zip(panels, ("step", "episode", "step"), titles, strict=True):
        figures.label_axes(panel, axis, "", log_y=False)
        panel.set_title(title, loc="left", fontsize=10)
    panels[0].set_ylim(-0.02, 1.02)
    figures.legend_below(figure, panels[0])


def tables(results: Results) -> Sequence[Table]:
    """Create a table of the greedy tests at the end of the runs, and of the first successes."""
    rows = []
    for result in results:
        data = result.data("episode")
        tests = successes(data.test_return)
        last = [np.mean(row[np.isfinite(row)][-LAST_TESTS:]) if np.isfinite(row).any() else 0.0 for row in tests]
        episodes = times_to_threshold(data, "episode", FIRST)
        steps = times_to_threshold(result.data("step"), "step", FIRST)
        rows.append(
            (
                result.name,
                _words(mean(np.asarray(last))),
                _words(mean(greedy_success(data, "episode"))),
                _time(median(episodes.latest)),
                _time(median(steps.latest)),
                f"{np.sum(episodes.is_reached)} of {len(episodes.time)}",
            )
        )
    header = (
        "agent",
        f"success of the last {LAST_TESTS} greedy tests",
        "of all",
        "first success: episode",
        "step (medians)",
        "runs that reach the goal",
    )
    return [Table("Greedy tests, and first successes", header, rows)]


def _words(interval: Interval) -> str:
    return f"{interval.value:.2f} [{interval.low:.2f}, {interval.high:.2f}]"


def _time(time: Any) -> str:
    return f"{float(time):.0f}" if np.isfinite(time) else "never"


EXPERIMENT = Experiment(
    figure="appendix D, not shown",
    title="The sparse mountain car with small networks: acting by counts, bonuses and ε-greedy",
    paper="With two separate networks for Q and E, as with linear approximation, agents based on E-values outperform "
    "their ε-greedy and softmax counterparts.",
    notes=f"Networks with 2 × {WIDTH} hidden units; Q is trained by Adam from a replay buffer of 50 000 steps, with a "
    f"batch of {BATCH} every 4 steps and a target network; γ = 0.99. The counter learns from each visit once, by a "
    "normalised step of 0.1 (count form) or 4 (logistic form), values from trials on other seeds. Agents with a bonus "
    f"act ε-greedily, ε = {EPSILON}; the bonuses are scale / √c and RND (Burda et al., 2018). For every agent 32 "
    "settings are fitted on 4 tuning seeds: four values of ε, of the temperature or of the scale, with four learning "
    "rates of Q and two periods of its target network, all by the share of greedy tests that fail. The tuning runs are "
    f"recorded. A run has {EPISODES} episodes of at most 1000 steps, and a greedy test every "
    f"{TEST_EVERY} episodes, from which nothing is learned. First success is that of a training episode: a new "
    "network already acts in a consistent way, which can swing the car up by itself, so it does not take exploration.",
    conditions=conditions,
    claims=[
        *(by_axes(partial(finds_sooner, COUNT, rival), text) for rival, text in FINDS.items()),
        *(by_axes(partial(learns_better, COUNT, rival), text) for rival, text in LEARNS.items()),
        by_axes(
            partial(learns_better, COUNT, LOGISTIC),
            "greedy tests succeed more often with the count form than with the logistic form",
        ),
        by_axes(
            partial(learns_better, E_BONUS, VISIT_BONUS),
            "greedy tests succeed more often with an E-value bonus than with a visit bonus",
        ),
    ],
    draw=draw,
    order=85,
    finding=Finding(
        "Does γ_E > 0 solve the sparse mountain car before ε-greedy, by two small networks?",
        [
            Answer(FINDS[EPSILON_GREEDY], "{} times as fast, by step", label="first success", case="by step"),
            Answer(LEARNS[EPSILON_GREEDY], "success higher by {}, by step", label="greedy tests", case="by step"),
        ],
    ),
    size=Size(seeds=16, tuning_seeds=4),
    quick=Size(seeds=4, tuning_seeds=2, fraction=0.1),
    tables=tables,
)
