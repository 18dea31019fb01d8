"""Agents, grids, claims and figures for the experiments on continuous states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dorax.agents.linear import LinearAgent
from dorax.core import LLL, EpsilonGreedy, EValues, InverseRootCount, Sample, Softmax
from dorax.engine.training import Training, train
from dorax.experiments._table_agents import NOVELTY, OPTIMISTIC
from dorax.features.specs import Tiles
from dorax.study import figures
from dorax.study.claims import Claim, Estimate, by_axes, fails_to_converge, faster, together
from dorax.study.experiment import AXES, Condition, RecordedTogether, Setting, Size, Table
from dorax.study.measures import SUCCESS
from dorax.study.results import Results
from dorax.study.statistics import difference_of_means, mean

SOFTMAX, EPSILON_GREEDY = "softmax", "ε-greedy"
PLAIN_LOGISTIC, PLAIN_COUNT = "LLL, γ_E = 0, logistic", "LLL, γ_E = 0, count"
LOGISTIC, COUNT = "LLL, γ_E = 0.99, logistic", "LLL, γ_E = 0.99, count"
TUNED_LOGISTIC, TUNED_COUNT = f"{LOGISTIC}, step fitted", f"{COUNT}, rate fitted"

TEMPERATURES = (0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 1.0, 3.0)
FEW_TEMPERATURES = (0.1, 0.2, 0.4, 1.0)
LOW_TEMPERATURES = (0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.1, 1.0)
INITIAL_VALUES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
EPSILONS = (0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.7)
STYLES: dict[str, dict[str, Any]] = {
    SOFTMAX: {"color": figures.COLOURS[7], "linestyle": ":"},
    EPSILON_GREEDY: {"color": figures.COLOURS[6], "linestyle": ":"},
    PLAIN_LOGISTIC: {"color": figures.COLOURS[1], "linestyle": "--"},
    PLAIN_COUNT: {"color": figures.COLOURS[0], "linestyle": "--"},
    LOGISTIC: {"color": figures.COLOURS[4], "linestyle": "-"},
    COUNT: {"color": figures.COLOURS[5], "linestyle": "-"},
    TUNED_LOGISTIC: {"color": figures.COLOURS[1], "linestyle": "-"},
    TUNED_COUNT: {"color": figures.COLOURS[0], "linestyle": "-"},
    OPTIMISTIC: {"color": figures.COLOURS[3], "linestyle": "-."},
    NOVELTY: {"color": figures.COLOURS[2], "linestyle": "-."},
}
TOLD = {OPTIMISTIC: "the largest return, 1; its initial value is fitted around that"}
BEFORE_EPSILON_GREEDY = "γ_E > 0 gets there before ε-greedy"


def logistic(discount: float, step_size: float = 0.5) -> EValues:
    """Create E-values in the paper's form, with explicit numbers so that they can be swept.

    Args:
        discount: the paper's gamma_E.
        step_size: step size of E.

    Returns:
        The counter.
    """
    return EValues(discount, learning_rate=0.5, form="logistic", step_size=step_size)


def count(discount: float, step_size: float = 1.0) -> EValues:
    """Create E-values in the count form, with explicit numbers so that they can be swept.

    Args:
        discount: the paper's gamma_E.
        step_size: step size of E.

    Returns:
        The counter.
    """
    return EValues(discount, learning_rate=0.5, form="count", step_size=step_size)


def by_tiles(tiles: int | tuple[int, ...]) -> dict[str, tuple[LinearAgent, Mapping[str, Sequence[float]]]]:
    """Create the paper's four agents with tile coding, with E in both forms, and two rivals.

    Step sizes are those of the authors' linear code. Two more agents also fit how fast E learns. Agents that fit one
    number have eight settings, and those that fit two have sixteen.

    Args:
        tiles: tiles per dimension.

    Returns:
        For each agent by name, the agent and its grid.
    """
    lll, temperature = LLL(Softmax(1.0)), {"temperature": TEMPERATURES}
    for_logistic = {"temperature": FEW_TEMPERATURES, "counter.step_size": (0.5, 2.0, 8.0, 16.0)}
    for_count = {"temperature": FEW_TEMPERATURES, "counter.learning_rate": (0.05, 0.1, 0.2, 0.5)}

    for_novelty = {"bonus.scale": (0.01, 0.03, 0.1, 0.3), "novelty_discount": (0.8, 0.9, 0.97, 0.99)}

    def agent(rule: Any, counter: EValues | None = None, **options: Any) -> LinearAgent:
        return LinearAgent(rule, counter, features=Tiles(tiles), learning_rate=0.1, discount=0.99, **options)

    greedy = Sample(EpsilonGreedy(0.0))
    novelty = agent(greedy, count(0.0), bonus=InverseRootCount(0.1), novelty_discount=0.9)

    return {
        SOFTMAX: (agent(Sample(Softmax(1.0))), {"temperature": LOW_TEMPERATURES}),
        EPSILON_GREEDY: (agent(Sample(EpsilonGreedy(0.1))), {"epsilon": EPSILONS}),
        PLAIN_LOGISTIC: (agent(lll, logistic(0.0)), temperature),
        PLAIN_COUNT: (agent(lll, count(0.0)), temperature),
        LOGISTIC: (agent(lll, logistic(0.99)), temperature),
        COUNT: (agent(lll, count(0.99)), temperature),
        TUNED_LOGISTIC: (agent(lll, logistic(0.99)), for_logistic),
        TUNED_COUNT: (agent(lll, count(0.99)), for_count),
        OPTIMISTIC: (agent(greedy, initial_value=1.0), {"initial_value": INITIAL_VALUES}),
        NOVELTY: (novelty, for_novelty),
    }


def comparison(
    agents: Mapping[str, tuple[Any, Mapping[str, Sequence[float]]]],
    env: Any,
    episodes: int,
    size: Size,
    lanes: int,
    quick_agents: Sequence[str] = (PLAIN_COUNT, COUNT),
) -> list[Condition]:
    """Create one condition per agent, with about a hundred greedy tests per run. Tuning takes long and is recorded.

    Args:
        agents: for each agent by name, the agent and its grid.
        env: the environment.
        episodes: training episodes at full size.
        size: how much to run.
        lanes: lanes of the compiled program.
        quick_agents: the agents of a quick run, in which compiling all of them would take too long.

    Returns:
        The conditions.
    """
    episodes = size.of(episodes, least=20)
    steps = None if size.is_full else 3000
    if not size.is_full:
        agents = {name: agents[name] for name in quick_agents}
    return [
        Condition(
            name,
            Training(agent, env, episodes, steps, test_every=max(1, episodes // 100), lanes=lanes),
            grid,
            measure=SUCCESS,
            recorded=RecordedTogether(partial(fingerprint, agent, env), tuning_only=True),
        )
        for name, (agent, grid) in agents.items()
    ]


def fingerprint(agent: LinearAgent, env: Any, setting: Setting) -> dict[str, Any]:
    """Compute what an agent has learned after a few hundred steps.

    Args:
        agent: the agent.
        env: the environment.
        setting: its fitted numbers.

    Returns:
        The values of all actions at three observations.
    """
    learner = train(agent, env, steps=1200, seeds=[1], settings=[setting]).learner(1)
    low, high = (np.clip(bounds or (), -1.0, 1.0) for bounds in (learner.spec.low, learner.spec.high))
    return {"values": [float(value) for share in (0.3, 0.5, 0.6) for value in learner.q(low + share * (high - low))]}


FORMS = {"logistic form": (LOGISTIC, PLAIN_LOGISTIC), "count form": (COUNT, PLAIN_COUNT)}  # γ_E > 0, γ_E = 0


def claims(episodes: int, soon: int, given: str = "as given") -> list[Claim]:
    """Create the paper's claims, and claims that compare the two forms of E.

    Args:
        episodes: episodes of a run.
        soon: episodes that count as quick.
        given: how the step sizes were chosen, in words.

    Returns:
        The claims.
    """

    def solves_soon(name: str) -> Claim:
        return Claim("", fails_to_converge(name, soon, measure=SUCCESS).estimate, above=0.5)

    return [
        fails_to_converge(SOFTMAX, episodes, f"softmax does not solve it within {episodes} episodes", SUCCESS),
        together(
            f"γ_E > 0 quickly solves it: most runs within {soon} episodes",
            {form: solves_soon(propagating) for form, (propagating, _) in FORMS.items()},
        ),
        gets_there_before("γ_E > 0 gets there before γ_E = 0", FORMS),
        gets_there_before(BEFORE_EPSILON_GREEDY, {form: (ours, EPSILON_GREEDY) for form, (ours, _) in FORMS.items()}),
        by_axes(
            lambda axis: faster(COUNT, LOGISTIC, axis, measure=SUCCESS),
            f"the count form gets there before the logistic form, {given}",
        ),
        fails_less(COUNT, LOGISTIC, f"the count form fails less than the logistic form over the whole run, {given}"),
    ]


def fitted_claims() -> list[Claim]:
    """Create claims that compare the two forms of E when the learning speed of both is fitted as well."""
    fitted = "the pace of both fitted"
    return [
        by_axes(
            lambda axis: faster(TUNED_COUNT, TUNED_LOGISTIC, axis, measure=SUCCESS),
            f"the count form gets there before the logistic form, {fitted}",
        ),
        fails_less(
            TUNED_COUNT,
            TUNED_LOGISTIC,
            f"the count form fails less than the logistic form over the whole run, {fitted}",
        ),
    ]


def rival_claims() -> list[Claim]:
    """Claim that γ_E > 0 gets there before the rivals, each against agents with as many settings."""
    return [
        gets_there_before(
            f"γ_E > 0 gets there before {OPTIMISTIC}",
            {form: (ours, OPTIMISTIC) for form, (ours, _) in FORMS.items()},
        ),
        gets_there_before(
            f"γ_E > 0, its pace fitted, gets there before {NOVELTY}",
            {"logistic form": (TUNED_LOGISTIC, NOVELTY), "count form": (TUNED_COUNT, NOVELTY)},
        ),
    ]


def gets_there_before(text: str, pairs: Mapping[str, tuple[str, str]]) -> Claim:
    """Claim that agents solve the problem before others, by episode and by step.

    Args:
        text: the claim in words.
        pairs: for each case by name, the faster and the slower agent.

    Returns:
        The claim.
    """
    cases = {
        f"{name}, by {axis}": faster(fast, slow, axis, measure=SUCCESS)
        for name, (fast, slow) in pairs.items()
        for axis in AXES
    }
    return together(text, cases)


def fails_less(better: str, worse: str, text: str) -> Claim:
    """Claim that one agent fails in fewer episodes of a run than another.

    An agent can reach the goal first and fail again later. This counts all episodes, and settings are fitted by it.

    Args:
        better: name of the agent that should fail less.
        worse: name of the other agent.
        text: the claim in words.

    Returns:
        The claim.
    """

    def estimate(results: Results) -> Estimate:
        ours, theirs = (failures(results[name].data("episode")) for name in (better, worse))
        words = f"share of failed episodes, {worse} less {better}"
        return Estimate(words, difference_of_means(theirs, ours), results.size.seeds)

    return Claim(text, estimate, above=0.0)


def failures(data: Any) -> np.ndarray:
    """Compute the share of training episodes that failed.

    Args:
        data: runs of one agent.

    Returns:
        The share for each seed.
    """
    return 1 - np.nanmean(successes(data["return"]), axis=-1)


def draw(results: Results, figure: Figure) -> None:
    """Draw the success rate in training episodes, by episode and by step, and in greedy tests."""
    figure.set_size_inches(12, 4.4)
    panels = figure.subplots(1, 3, sharey=True)
    for result in results:
        for panel, axis in zip(panels, AXES, strict=False):
            data = result.data(axis)
            data = data.assign(success=(data["return"].dims, figures.trailing_mean(successes(data["return"]))))
            style = {"statistic": figures.mean_over_seeds, "label": result.name, **STYLES[result.name]}
            figures.draw_curve(panel, data, axis, "success", **style)
            figures.label_axes(panel, axis, "", log_y=False)
        _draw_tests(panels[2], result.data("episode"), **STYLES[result.name])
    panels[0].set_ylabel("probability of reaching the goal")
    panels[0].set_title("training episodes", loc="left", fontsize=10)
    panels[1].set_title("training episodes", loc="left", fontsize=10)
    panels[2].set_title("greedy test episodes", loc="left", fontsize=10)
    figures.label_axes(panels[2], "episode", "", log_y=False)
    panels[0].set_ylim(-0.02, 1.02)
    figures.legend_below(figure, panels[0])


def _draw_tests(panel: Axes, data: Any, **style: Any) -> None:
    success = figures.trailing_mean(successes(data.test_return), window=5)
    figures.draw_band(panel, data.test.values, success.T, figures.mean_over_seeds, **style)


def tables(results: Results) -> Sequence[Table]:
    """Create a table of the success rates at the end of the runs, and one of what each agent is told."""
    rows = []
    for result in results:
        data = result.data("episode")
        last = max(1, data.sizes["episode"] // 10)
        training = mean(successes(data["return"])[:, -last:].mean(axis=1))
        greedy = mean(successes(data.test_return)[:, -10:].mean(axis=1))
        length = mean(data.length.values[:, -last:].mean(axis=1))
        rows.append(
            (result.name, _words(training), _words(greedy), f"{length.value:.0f} [{length.low:.0f}, {length.high:.0f}]")
        )
    header = (
        "agent",
        "success of the last tenth of training",
        "success of the last ten greedy tests",
        "steps per episode",
    )
    told = [(result.name, TOLD.get(result.name, "nothing")) for result in results]
    return [
        Table("At the end of the runs fitted by episode", header, rows),
        Table("What each agent is told", ("agent", "told"), told),
    ]


def _words(interval: Any) -> str:
    return f"{interval.value:.2f} [{interval.low:.2f}, {interval.high:.2f}]"


def successes(returns: Any) -> np.ndarray:
    """Convert returns to successes.

    Args:
        returns: return of each episode; NaN where there was none.

    Returns:
        1 for a positive return, 0 for any other, NaN where there was no episode.
    """
    return np.where(np.isnan(returns.values), np.nan, returns.values > 0)
