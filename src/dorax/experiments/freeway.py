"""The paper's Atari experiment: Freeway from the screen, without a bonus, with E-values and with a density model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import dorax
from dorax.agents.atari import AtariAgent, DensityModel
from dorax.core import (
    ConstantBonus,
    EpsilonGreedy,
    EValues,
    InvalidInput,
    InverseRootCount,
    InverseRootLogE,
    LinearSchedule,
    PiecewiseSchedule,
)
from dorax.engine.host import HostOptions, HostRun, HostTraining
from dorax.envs import Atari
from dorax.study import figures
from dorax.study.claims import Claim, Estimate
from dorax.study.experiment import QUICK, Answer, Condition, Experiment, Finding, Job, Recorded, Setting, Size, Table
from dorax.study.results import Results
from dorax.study.statistics import (
    UNKNOWN,
    Interval,
    Times,
    difference_of_means,
    difference_of_shares,
    first_times,
    mean,
    median,
    ratio_of_medians,
    share,
)

DQN, E_VALUES, DENSITY = "DQN", "E-values", "density"
CONSTANT, E_VALUES_0 = "constant bonus", "E-values, γ_E = 0"
COUNTS, LONGER = "E-values, count form", "E-values, 8 million steps"
E_VALUES_THEIRS, DQN_THEIRS = "E-values, authors' Adam", "DQN, authors' Adam"
STEPS, MORE_STEPS, ONSET_STEPS = 3_000_000, 8_000_000, 1_500_000
LONG_SEEDS = 5  # seeds that run for all steps; further ones only show when learning sets in
LEFT, NEARLY_BEST = 1.0, 25.0  # mean returns of a game: first crossings, nearly the maximum
THRESHOLDS = LEFT, 10.0, NEARLY_BEST
WINDOW = 10  # records in a moving average: 100 000 steps
TESTS = 5  # tests at the end of a run

AGENT = AtariAgent()
THEIRS = replace(
    AGENT,
    rule=EpsilonGreedy(LinearSchedule(1.0, 0.1, 1_000_000)),
    learning_rate=1e-3,
    adam_epsilon=0.01,
    target_every=10_000,
)
SCALE, FLOOR = 0.05, 0.01  # of all bonuses, as in the authors' code
BONUS = InverseRootLogE(SCALE, FLOOR)
LOGISTIC = EValues(0.99, form="logistic")
# The mean bonus of E-values in the recorded runs of seeds 0 to 4, every 10^5 steps; its spread over seeds is below 2 %.
SCHEDULE = PiecewiseSchedule(
    tuple(1e5 * i for i in range(16)),
    (
        0.0596,
        0.0576,
        0.0532,
        0.0498,
        0.0468,
        0.0444,
        0.0423,
        0.0406,
        0.0388,
        0.0372,
        0.0358,
        0.0349,
        0.0338,
        0.0326,
        0.0319,
        0.031,
    ),
)
AGENTS = {
    E_VALUES: replace(AGENT, counter=LOGISTIC, bonus=BONUS),
    DQN: AGENT,
    DENSITY: replace(AGENT, counter=DensityModel(), bonus=InverseRootCount(SCALE, FLOOR)),
    CONSTANT: replace(AGENT, bonus=ConstantBonus(SCHEDULE)),
    E_VALUES_0: replace(AGENT, counter=EValues(0.0, form="logistic"), bonus=BONUS),
    COUNTS: replace(AGENT, counter=EValues(0.99, form="count"), bonus=BONUS),
    LONGER: replace(AGENT, counter=LOGISTIC, bonus=BONUS),
    E_VALUES_THEIRS: replace(THEIRS, counter=LOGISTIC, bonus=BONUS),
    DQN_THEIRS: THEIRS,
}
FEWEST = 4  # minimum number of seeds on each side of a comparison
FEW_SEEDS = 2  # for agents that the paper does not compare, and for slow ones
CONTROL_SEEDS = 5  # of the two controls
STYLES = {
    DQN: (figures.COLOURS[0], "-"),
    DENSITY: (figures.COLOURS[4], "-"),
    E_VALUES: (figures.COLOURS[6], "-"),
    CONSTANT: (figures.COLOURS[1], "-"),
    E_VALUES_0: (figures.COLOURS[7], "-"),
    COUNTS: (figures.COLOURS[2], "-"),
    LONGER: (figures.COLOURS[6], "--"),
    E_VALUES_THEIRS: (figures.COLOURS[6], ":"),
    DQN_THEIRS: (figures.COLOURS[0], ":"),
}


def conditions(size: Size) -> list[Condition]:
    """Return the conditions, most important first, so that these are complete if time runs out."""
    few = range(min(FEW_SEEDS, size.seeds))
    first = [_condition(name, range(size.seeds), 0, size) for name in (E_VALUES, DQN)]
    if not size.is_full:
        return [*first, _condition(DENSITY, range(1), 1, size)]
    controls = range(min(CONTROL_SEEDS, size.seeds))
    seeds = {
        CONSTANT: controls,
        E_VALUES_0: controls,
        DENSITY: few,
        COUNTS: few,
        E_VALUES_THEIRS: few,
        DQN_THEIRS: range(1),
        LONGER: range(1),
    }
    return [*first, *(_condition(name, seeds[name], place, size) for place, name in enumerate(seeds, start=1))]


def _condition(name: str, seeds: Sequence[int], priority: int, size: Size) -> Condition:
    recorded = Recorded(
        partial(identity, name, size),
        seeds,
        priority,
        partial(fingerprint, name),
        needs_gpu=size.is_full,
    )
    return Condition(name, partial(train, name, size), recorded=recorded)


def identity(name: str, size: Size, setting: Setting, seed: int) -> dict[str, Any]:
    """Return everything that a run depends on.

    Args:
        name: name of the condition.
        size: size of the experiment.
        setting: ignored; there is no grid.
        seed: the seed.
    """
    del setting  # there is no grid
    run = training(name, seed, size)
    return run.what | {"steps": run.steps}


def train(name: str, size: Size, settings: Sequence[Setting], seeds: Sequence[int], job: Job) -> xr.Dataset:
    """Train one seed. An interrupted run resumes from its last checkpoint.

    Args:
        name: name of the condition.
        size: size of the experiment.
        settings: ignored; there is no grid.
        seeds: a single seed.
        job: progress callback and folder of the run.

    Returns:
        The dataset.
    """
    (seed,) = seeds
    work = training(name, seed, size)
    options = replace(work.options, folder=job.folder, keep_replay=job.keep_replay)
    result = dorax.train(work.agent, work.env, steps=work.steps, seeds=[seed], host=options, progress=job.progress)
    result.learner().save(job.folder / "learner.npz")
    return result.data.expand_dims(setting=[""])


def training(name: str, seed: int, size: Size) -> HostTraining:
    """Return what to train: the agent of a condition, and for how long.

    Args:
        name: name of the condition.
        seed: the seed.
        size: size of the experiment.
    """
    agent, env = AGENTS[name], Atari("freeway")
    if size.is_full:
        is_short = seed >= LONG_SEEDS or name in (CONSTANT, E_VALUES_0)
        steps = MORE_STEPS if name == LONGER else ONSET_STEPS if is_short else STEPS
        return HostTraining(agent, env, steps, seed)
    rule = EpsilonGreedy(LinearSchedule(1.0, 0.1, 400))
    agent = replace(agent, rule=rule, capacity=1_000, learning_starts=200, target_every=20, actor_every=10, games=8)
    options = HostOptions(
        record_every=100, test_every=200, test_games=1, tests_together=2, test_steps=50, checkpoint_every=200
    )
    return HostTraining(agent, env, size.of(STEPS), seed, options=options)


def fingerprint(name: str, setting: Setting) -> dict[str, Any]:
    """Run an agent for a short time on the CPU.

    Args:
        name: name of the condition.
        setting: ignored; there is no grid.

    Returns:
        Its actions, bonuses and losses.
    """
    import jax

    del setting  # there is no grid
    if jax.default_backend() != "cpu":
        raise InvalidInput("fingerprints are of a CPU, and JAX uses a GPU; allowed: with JAX_PLATFORMS=cpu")
    run = HostRun(replace(training(name, 1, QUICK), steps=800))
    run.begin()
    while not run.is_done:
        run.advance()
        if run.is_due(run.options.record_every):
            run.record()
    rows = run.memory.replay
    run.close()
    actions = "".join(map(str, np.asarray(rows.actions)[: int(rows.begun.min())].ravel()))
    records = dict(zip(run.curves.columns, np.asarray(run.curves.record).T, strict=True))
    columns = {column: records[column] for column in ("bonus", "q_loss", "e_loss")}
    return {"actions": actions} | {column: [float(f"{x:.6g}") for x in values] for column, values in columns.items()}


def training_return(data: xr.Dataset) -> np.ndarray:
    """Compute the mean return of training games: the reward per step times the length of a game.

    Args:
        data: results of one condition.

    Returns:
        An array, seeds x records.
    """
    game = np.nanmedian(data.length.values) if data.sizes["episode"] else 1.0
    return figures.trailing_mean(data.record_reward.values, WINDOW) * game


def times_to(data: xr.Dataset, threshold: float) -> Times:
    """Find the steps until the mean return of training games first reaches a threshold.

    Args:
        data: results of one condition.
        threshold: the threshold.

    Returns:
        One time per seed.
    """
    return first_times(training_return(data), data.record_step.values, threshold)


def onset(data: xr.Dataset) -> Times:
    """Find the steps until the mean return first reaches 1. Later ones are censored where the shortest runs end.

    Args:
        data: results of one condition.

    Returns:
        One time per seed.
    """
    times = times_to(data, LEFT)
    return Times(np.minimum(times.time, ONSET_STEPS), times.is_reached & (times.time <= ONSET_STEPS))


def leaves_more_often(often: str, seldom: str) -> Claim:
    """Claim that more seeds leave a return of 0 early with one agent than with another.

    Args:
        often: name of the better agent.
        seldom: name of the worse agent.

    Returns:
        The claim.
    """

    def estimate(results: Results) -> Estimate:
        left = {name: onset(results[name].data()).is_reached for name in (often, seldom)}
        counts = ", ".join(f"{int(x.sum())} of {len(x)} of {name}" for name, x in left.items())
        words = (
            f"share of seeds whose mean return exceeds {LEFT:g} within {ONSET_STEPS:.1e} steps, {often} less {seldom}"
        )
        shares = [(int(x.sum()), len(x)) for x in left.values()]
        return _estimate(f"{words} ({counts})", difference_of_shares(*shares), *left.values())

    return Claim(f"more seeds leave 0 early with {often} than with {seldom}", estimate, above=0.0)


def sooner(fast: str, slow: str) -> Claim:
    """Claim that learning sets in sooner with one agent than with another.

    Args:
        fast: name of the faster agent.
        slow: name of the slower agent.

    Returns:
        The claim.
    """

    def estimate(results: Results) -> Estimate:
        times = {name: onset(results[name].data()) for name in (slow, fast)}
        return _ratio_of_times(times, f"a mean return of {LEFT:g}")

    return Claim(f"learning sets in sooner with {fast} than with {slow}", estimate, above=1.0)


def finishes_sooner(fast: str, slow: str) -> Claim:
    """Claim that one agent nearly reaches the maximum sooner than another, over the seeds that run for all steps.

    Args:
        fast: name of the faster agent.
        slow: name of the slower agent.

    Returns:
        The claim.
    """

    def estimate(results: Results) -> Estimate:
        times = {name: times_to(_long(results[name].data()), NEARLY_BEST) for name in (slow, fast)}
        return _ratio_of_times(times, f"a mean return of {NEARLY_BEST:g}")

    return Claim(f"{fast} reaches a mean return of {NEARLY_BEST:g} before {slow}", estimate, above=1.0)


def _long(data: xr.Dataset) -> xr.Dataset:
    return data.sel(seed=[seed for seed in data.seed.values if seed < LONG_SEEDS])


def _ratio_of_times(times: dict[str, Times], what: str) -> Estimate:
    never = [f"{int((~t.is_reached).sum())} of {len(t.time)} of {name} never" for name, t in times.items()]
    slow, fast = times
    words = f"steps until {what}, {slow} over {fast} (medians); {', '.join(never)}"
    return _estimate(words, ratio_of_medians(times[slow], times[fast]), *(t.time for t in times.values()))


def relative_spread(data: xr.Dataset) -> np.ndarray:
    """Compute the spread of the bonus over the games of a batch relative to its mean, averaged over a run.

    Args:
        data: results of one condition.

    Returns:
        One number for each seed that recorded it.
    """
    if "record_bonus_spread" not in data:
        return np.empty(0)
    spread, bonus = data.record_bonus_spread.values, data.record_bonus.values
    is_recorded = np.isfinite(spread) & (bonus > 0)
    return np.asarray([np.mean(s[ok] / b[ok]) for s, b, ok in zip(spread, bonus, is_recorded, strict=True) if ok.any()])


def directs(name: str) -> Claim:
    """Claim that a bonus prefers some states to others: its spread over a batch is at least a tenth of its mean.

    Args:
        name: name of the agent.

    Returns:
        The claim.
    """

    def estimate(results: Results) -> Estimate:
        spread = relative_spread(results[name].data())
        interval = mean(spread) if len(spread) >= FEWEST else UNKNOWN
        words = f"standard deviation of the bonus over the games of a batch, relative to its mean, {name}"
        return Estimate(words, interval, len(spread))

    text = f"the bonus of {name} prefers some states to others: its spread over a batch is a tenth of its mean or more"
    return Claim(text, estimate, above=0.1)


def _estimate(words: str, interval: Interval, *groups: np.ndarray, fewest: int = FEWEST) -> Estimate:
    """Make an estimate. With too few seeds in a group its interval is infinite, so that the claim is not judged."""
    seeds = min(len(group) for group in groups)
    if seeds < fewest:
        interval = Interval(interval.value, -np.inf, np.inf, interval.relation)
    return Estimate(words, interval, seeds)


def final_tests(data: xr.Dataset) -> np.ndarray:
    """Compute the mean return of the last tests.

    Args:
        data: results of one condition.

    Returns:
        One number per seed.
    """
    by_test = data.test_return.mean("game").values
    return np.stack([row[np.isfinite(row)][-TESTS:].mean() for row in by_test])


def ends_better(better: str, worse: str) -> Claim:
    """Claim that one agent ends with a higher test return than another.

    Args:
        better: name of the better agent.
        worse: name of the worse agent.

    Returns:
        The claim.
    """

    def estimate(results: Results) -> Estimate:
        ours, theirs = (final_tests(_long(results[name].data())) for name in (better, worse))
        words = f"mean return of the last {TESTS} tests, {better} less {worse}"
        return _estimate(words, difference_of_means(ours, theirs), ours, theirs)

    return Claim(f"{better} ends with more than {worse}", estimate, above=0.0)


def cost(name: str, text: str, *, above: float = -np.inf, below: float = np.inf) -> Claim:
    """Make a claim about the time per step of an agent, relative to DQN.

    Args:
        name: name of the agent.
        text: text of the claim.
        above: lower bound of the ratio.
        below: upper bound of the ratio.

    Returns:
        The claim.
    """

    def estimate(results: Results) -> Estimate:
        ours, theirs = (seconds_a_step(results[agent].data()) for agent in (name, DQN))
        interval = ratio_of_medians(*(Times(x, np.ones(len(x), bool)) for x in (ours, theirs)))
        words = f"seconds a step, {name} over {DQN} (medians)"
        # Each run has about a hundred timings, so two runs are enough.
        return _estimate(words, interval, ours, theirs, fewest=2)

    return Claim(text, estimate, above=above, below=below)


def seconds_a_step(data: xr.Dataset) -> np.ndarray:
    """Compute the median time per step, over records in which all updates took place: no compilation, no warm-up.

    Args:
        data: results of one condition.

    Returns:
        One number per seed.
    """
    steps, updates, seconds = (np.diff(data[f"record_{x}"].values, axis=1) for x in ("step", "updates", "seconds"))
    return np.nanmedian(np.where(updates * AGENT.update_every == steps, seconds / steps, np.nan), axis=1)


def draw(results: Results, figure: Figure) -> None:
    """Draw training and test returns by step, and training returns by updates and by time: every seed, and the mean."""
    figure.set_size_inches(12, 7)
    panels = figure.subplots(2, 2, sharey=True).ravel()
    for result in results:
        data, (colour, line) = result.data(), STYLES[result.name]
        style = {"color": colour, "linestyle": line, "label": f"{result.name} (seeds: {data.sizes['seed']})"}
        if result.name != LONGER:  # its axis would squeeze all others
            returns = training_return(data)
            for panel, axis, unit in ((0, "step", 1e6), (2, "updates", 1e6), (3, "seconds", 60)):
                _draw_mean(panels[panel], np.nanmean(data[f"record_{axis}"].values, axis=0) / unit, returns, style)
        tests = data.test_return.mean("game").values
        _draw_mean(panels[1], np.nanmean(data.test_step.values, axis=0) / 1e6, tests, style)
    words = ("million agent steps", "million agent steps", "million updates", "minutes of training")
    titles = ("training games", "test games, ε = 0.01", "training games", "training games")
    for panel, word, title in zip(panels, words, titles, strict=True):
        panel.set_xlabel(word)
        panel.set_title(title, loc="left", fontsize=10)
        figures.tidy(panel)
    for panel in panels[::2]:
        panel.set_ylabel("return")
    figures.legend_below(figure, panels[1])


def _draw_mean(panel: Any, x: np.ndarray, values: np.ndarray, style: dict[str, str]) -> None:
    panel.plot(x, values.T, color=style["color"], linestyle=style["linestyle"], linewidth=0.5, alpha=0.5)
    is_full = np.isfinite(values).all(axis=0)
    figures.draw_band(panel, x[is_full], values[:, is_full].T, figures.mean_over_seeds, **style)


def tables(results: Results) -> Sequence[Table]:
    """Return a table of times to the thresholds, final test returns and costs by agent."""
    rows = []
    seconds = {result.name: float(np.median(seconds_a_step(result.data()))) for result in results}
    for result in results:
        data = result.data()
        times = [times_to(data, threshold) for threshold in THRESHOLDS]
        tests = mean(final_tests(data))
        rows.append(
            (
                result.name,
                data.sizes["seed"],
                *map(_time, times),
                f"{tests.value:.1f} [{tests.low:.1f}, {tests.high:.1f}]",
                f"{1 / seconds[result.name]:.0f}",
                f"{seconds[result.name] / seconds[DQN]:.2f}" if DQN in seconds else "",
            )
        )
    header = (
        "agent",
        "seeds",
        *(
            f"seeds that reach a mean return of {threshold:g}, and after how many million steps"
            for threshold in THRESHOLDS
        ),
        f"return of the last {TESTS} tests",
        "steps a second",
        f"cost of a step, {DQN}'s = 1",
    )
    return [Table("How far each agent gets", header, rows)]


def _time(times: Times) -> str:
    there = share(int(times.is_reached.sum()), len(times.time))
    words = f"{there.value:.0%} [{there.low:.0%}, {there.high:.0%}]"
    steps = median(times.latest)
    return f"{words}, median {steps / 1e6:.2f}" if np.isfinite(steps) else f"{words}, median never"


EXPERIMENT = Experiment(
    figure="Figure 6",
    title="Freeway: a bonus from E-values, from a density model, and none",
    paper="On Freeway DQN with a bonus from E-values outperforms DQN and DQN with a bonus from a density model's "
    "counts, and converges in about 2·10⁶ steps; training with density counts is an order of magnitude slower.",
    notes="Network, replay, bonus, sticky actions and one update for every 4 agent steps are as in the authors' code. "
    "Three things that matter here differ, for all agents alike. They were chosen on a separate seed; docs/freeway.md "
    "has the rest. The learning rate and epsilon of Adam and the update interval of the target network are those of "
    "Rainbow (Hessel et al., 2018): with the authors', no agent keeps a good policy, as the table shows. ε decreases "
    "from 1 to 0.1 over 5·10⁵ agent steps, not over 4·10⁶ (10⁶ of the authors' steps, which are updates). And 128 "
    "games are played in parallel by a copy of the network that is updated every 2500 updates: otherwise each game "
    "would see the network change far faster than a single game does, and a policy that changes within every crossing "
    "never crosses. The paper's 2·10⁶ steps may be updates, that is 8·10⁶ agent steps. Parallel games end together, so "
    "the mean return of training games is computed as the reward per step times the length of a game. Costs per step "
    "are as recorded, on machines with different loads; `dorax bench --freeway` compares the agents by alternating "
    "between them. That a bonus directs something if its spread is a tenth of its mean was decided after the spread of "
    "four runs had been seen.",
    conditions=conditions,
    claims=[
        leaves_more_often(E_VALUES, DQN),
        *(sooner(E_VALUES, slow) for slow in (DQN, CONSTANT, E_VALUES_0, DENSITY)),
        finishes_sooner(E_VALUES, DQN),
        ends_better(E_VALUES, DQN),
        directs(E_VALUES),
        cost(E_VALUES, "E-values cost little: at most 1.15 times DQN", below=1.15),
        cost(DENSITY, "a density model is an order of magnitude slower than DQN", above=10.0),
    ],
    draw=draw,
    order=95,
    finding=Finding(
        "On Freeway, does learning set in sooner with a bonus from E-values than without, and does it direct anything?",
        [
            Answer(sooner(E_VALUES, DQN).text, "{} times as soon", label="sooner"),
            Answer(directs(E_VALUES).text, "spread of {} of its mean", label="directs"),
        ],
    ),
    size=Size(seeds=10),
    quick=Size(seeds=1, fraction=0.0002),
    tables=tables,
)
