"""PPO and DQN of Stable-Baselines3 on sparse problems: bonuses of three kinds, acting by counts, and neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dorax.core.checks import InvalidInput
from dorax.study import figures
from dorax.study.claims import Claim, Estimate
from dorax.study.experiment import Answer, Condition, Experiment, Finding, Job, Measure, Recorded, Setting, Size, Table
from dorax.study.results import Results
from dorax.study.statistics import Times, difference_of_shares, first_times, median, ratio_of_medians, share

if TYPE_CHECKING:
    from dorax.experiments import _sb3_runs

NONE, E_VALUES, VISITS, RND = "no bonus", "E-values", "visits", "RND"
ACTING_BY_E, ACTING_BY_VISITS = "acting by E-values", "acting by visits"
FIRST_SEED = 100  # first reported seed; nothing was tuned on these seeds
SOLVED = 0.5  # mean true return; the best is 0.99 on the deep sea and 1 on the mountain car
WINDOW = 5  # records in a moving average: a tenth of a run
STYLES = {
    NONE: figures.COLOURS[0],
    VISITS: figures.COLOURS[1],
    RND: figures.COLOURS[4],
    E_VALUES: figures.COLOURS[6],
    ACTING_BY_VISITS: figures.COLOURS[2],
    ACTING_BY_E: figures.COLOURS[5],
}


@dataclass(frozen=True)
class Problem:
    """A problem, the algorithm to solve it with, and the number of steps.

    Attributes:
        algorithm: PPO or DQN.
        settings: settings of the algorithm that differ from its defaults.
        environment: id of the environment.
        keywords: arguments of the environment.
        steps: number of environment steps.
    """

    algorithm: str
    settings: dict[str, float]
    environment: str
    keywords: dict[str, int]
    steps: int


# Settings that differ from the defaults of Stable-Baselines3, to suit short runs.
PPO = {"n_steps": 128, "batch_size": 256, "ent_coef": 0.01}
DQN = {
    "learning_rate": 1e-3,
    "batch_size": 128,
    "buffer_size": 5_000,  # small, because bonuses are computed when a transition is stored and become outdated
    "learning_starts": 500,
    "target_update_interval": 500,
    "exploration_fraction": 0.3,
    "exploration_final_eps": 0.02,
}
PROBLEMS = {
    "PPO, deep sea of 20": Problem("PPO", PPO, "dorax/DeepSea-v0", {"size": 20}, 60_000),
    "DQN, deep sea of 20": Problem("DQN", DQN, "dorax/DeepSea-v0", {"size": 20}, 60_000),
    "PPO, sparse mountain car": Problem("PPO", PPO, "dorax/SparseMountainCar-v0", {}, 150_000),
}
# On each problem, grids have the same number of values.
_COUNTED, _PREDICTED, _TEMPERATURES = (0.01, 0.03, 0.1, 0.3), (0.3, 1.0, 3.0, 10.0), (0.003, 0.01, 0.03, 0.1, 0.3)
GRIDS: dict[tuple[str, str], dict[str, Sequence[float]]] = {
    ("PPO, deep sea of 20", E_VALUES): {"scale": _COUNTED},
    ("PPO, deep sea of 20", VISITS): {"scale": _COUNTED},
    ("PPO, deep sea of 20", RND): {"scale": _PREDICTED},
    ("DQN, deep sea of 20", E_VALUES): {"scale": (0.003, *_COUNTED)},
    ("DQN, deep sea of 20", VISITS): {"scale": (*_COUNTED, 1.0)},
    ("DQN, deep sea of 20", RND): {"scale": (*_PREDICTED, 30.0)},
    ("DQN, deep sea of 20", ACTING_BY_E): {"temperature": _TEMPERATURES},
    ("DQN, deep sea of 20", ACTING_BY_VISITS): {"temperature": _TEMPERATURES},
    ("PPO, sparse mountain car", E_VALUES): {"scale": (0.001, 0.003, 0.01, 0.03, 0.1)},
    ("PPO, sparse mountain car", VISITS): {"scale": (0.001, 0.003, 0.01, 0.03, 0.1)},
    ("PPO, sparse mountain car", RND): {"scale": (0.1, *_PREDICTED)},
}


def kinds_on(problem: str) -> list[str]:
    """Return the kinds of exploration that are compared on a problem: those that are fitted for it, and none.

    Args:
        problem: name of the problem.
    """
    return [kind for kind in STYLES if kind == NONE or (problem, kind) in GRIDS]


def agent_name(problem: str, kind: str) -> str:
    """Return the name of a condition.

    Args:
        problem: name of the problem.
        kind: kind of exploration.
    """
    return f"{problem}: {kind}"


def conditions(size: Size) -> list[Condition]:
    """Return one condition per problem and kind of exploration, in the order of the problems."""
    if not size.is_full:
        sea: tuple[Any, ...] = ("dorax/DeepSea-v0", {"size": 6}, size.of(60_000))
        short = {"PPO, deep sea of 20": Problem("PPO", PPO, *sea), "DQN, deep sea of 20": Problem("DQN", DQN, *sea)}
        return [
            _condition(name, kind, problem, range(1), 0, dict.fromkeys(GRIDS.get((name, kind), {}), (0.1,)))
            for name, problem in short.items()
            for kind in kinds_on(name)
            if problem.algorithm == "PPO" or kind == ACTING_BY_E
        ]
    seeds = range(FIRST_SEED, FIRST_SEED + size.seeds)
    return [
        _condition(name, kind, problem, seeds, priority, GRIDS.get((name, kind), {}))
        for priority, (name, problem) in enumerate(PROBLEMS.items())
        for kind in kinds_on(name)
    ]


def _condition(
    name: str, kind: str, problem: Problem, seeds: Sequence[int], priority: int, grid: Mapping[str, Sequence[float]]
) -> Condition:
    recorded = Recorded(
        partial(identity, problem, kind), seeds, priority, partial(fingerprint, name, kind), check_installed
    )
    return Condition(agent_name(name, kind), partial(train, problem, kind), grid, {}, LOST_RETURN, recorded)


def identity(problem: Problem, kind: str, setting: Setting, seed: int) -> dict[str, Any]:
    """Return everything that a run depends on, besides its seed.

    Args:
        problem: the problem.
        kind: kind of exploration.
        setting: scale of the bonus, or temperature of acting by counts.
        seed: ignored.
    """
    del seed
    return {"problem": asdict(problem), "kind": kind, "scale": 0.0, **setting}


def train(problem: Problem, kind: str, settings: Sequence[Setting], seeds: Sequence[int], job: Job) -> xr.Dataset:
    """Train one seed at one setting. It takes a minute or two, so there are no checkpoints.

    Args:
        problem: the problem.
        kind: kind of exploration.
        settings: a single setting, the scale of the bonus or the temperature of acting by counts.
        seeds: a single seed.
        job: progress callback.

    Returns:
        The dataset.
    """
    from dorax.experiments import _sb3_runs

    (setting,), (seed,) = settings, seeds
    data = _sb3_runs.returns_over_time(_setup(problem, kind, setting), problem.steps, seed, job.progress)
    return data.expand_dims(setting=[""], seed=[seed])


def _setup(problem: Problem, kind: str, setting: Setting) -> _sb3_runs.Setup:
    from dorax.experiments import _sb3_runs

    return _sb3_runs.Setup(
        (problem.algorithm, problem.settings), (problem.environment, problem.keywords), kind, setting
    )


def lost_return(data: xr.Dataset) -> xr.DataArray:
    """Compute 1 minus the mean return; the best return is 1, or nearly.

    Args:
        data: results of one condition.

    Returns:
        The measure, by record.
    """
    return 1 - data.record_return


LOST_RETURN = Measure(f"a mean return of {SOLVED:g}", lost_return, 1 - SOLVED, fitted_by="area")


def fingerprint(name: str, kind: str, setting: Setting) -> dict[str, Any]:
    """Return the fingerprint of a run that is just long enough for the first updates of the agent.

    Args:
        name: name of the problem.
        kind: kind of exploration.
        setting: scale of the bonus, or temperature of acting by counts.
    """
    check_installed()
    from dorax.experiments import _sb3_runs

    problem = PROBLEMS[name]
    return _sb3_runs.fingerprint(_setup(problem, kind, setting), {"PPO": 3 * 8 * 128, "DQN": 800}[problem.algorithm])


def check_installed() -> None:
    """Raise `InvalidInput` unless Stable-Baselines3 is installed."""
    if find_spec("stable_baselines3") is None:
        raise InvalidInput("Stable-Baselines3 is not installed; install it with pip install 'dorax[sb3]'")


def mean_return(data: xr.Dataset) -> np.ndarray:
    """Compute the moving average of the true return.

    Args:
        data: results of one condition.

    Returns:
        An array, seeds x records.
    """
    return figures.trailing_mean(data.record_return.values, WINDOW)


def times_of(data: xr.Dataset) -> Times:
    """Find the steps until the mean true return first reaches that of a solved problem.

    Args:
        data: results of one condition.

    Returns:
        One time per seed.
    """
    return first_times(mean_return(data), data.record_step.values, SOLVED)


def solved_more_often(problem: str, often: str, seldom: str) -> Claim:
    """Claim that more runs solve a problem with one bonus than with another.

    Args:
        problem: name of the problem.
        often: the better kind of bonus.
        seldom: the worse kind of bonus.

    Returns:
        The claim.
    """

    def estimate(results: Results) -> Estimate:
        solved = [times_of(results[agent_name(problem, kind)].data()).is_reached for kind in (often, seldom)]
        counts = ", ".join(
            f"{int(x.sum())} of {len(x)} with {kind}" for kind, x in zip((often, seldom), solved, strict=True)
        )
        interval = difference_of_shares(*((int(x.sum()), len(x)) for x in solved))
        return Estimate(f"share of runs whose mean return reaches {SOLVED:g}: {counts}", interval, len(solved[0]))

    return Claim(f"{problem}: more runs solve it with {often} than with {seldom}", estimate, above=0.0)


def solved_sooner(problem: str, soon: str, late: str) -> Claim:
    """Claim that a problem is solved sooner with one bonus than with another.

    Args:
        problem: name of the problem.
        soon: the better kind of bonus.
        late: the worse kind of bonus.

    Returns:
        The claim.
    """

    def estimate(results: Results) -> Estimate:
        slow, fast = (times_of(results[agent_name(problem, kind)].data()) for kind in (late, soon))
        words = f"steps until a mean return of {SOLVED:g}, {late} over {soon} (medians)"
        return Estimate(words, ratio_of_medians(slow, fast), len(fast.time))

    return Claim(f"{problem}: solved sooner with {soon} than with {late}", estimate, above=1.0)


def draw(results: Results, figure: Figure) -> None:
    """Draw the mean true return by step, one panel per problem."""
    figure.set_size_inches(12, 4)
    shown = [
        name for name in PROBLEMS if any(agent_name(name, kind) in results.conditions for kind in STYLES)
    ] or PROBLEMS
    panels = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    for name, panel in zip(shown, panels, strict=True):
        for kind, colour in STYLES.items():
            if agent_name(name, kind) in results.conditions:
                data = results[agent_name(name, kind)].data()
                x, returns = data.record_step.values[0] / 1e3, mean_return(data)
                panel.plot(x, returns.T, color=colour, linewidth=0.5, alpha=0.5)
                figures.draw_band(panel, x, returns.T, figures.mean_over_seeds, color=colour, label=kind)
        panel.set_title(name, loc="left", fontsize=10)
        panel.set_xlabel("thousand steps")
        figures.tidy(panel)
    panels[0].set_ylabel("mean true return")
    figures.legend_below(figure, panels[0])


def tables(results: Results) -> Sequence[Table]:
    """Return a table of how many runs solve each problem, and when."""
    rows = []
    for name in PROBLEMS:
        for kind in STYLES:
            if agent_name(name, kind) in results.conditions:
                data = results[agent_name(name, kind)].data()
                times = times_of(data)
                solved = share(int(times.is_reached.sum()), len(times.time))
                soon = median(times.latest)
                words = f"{solved.value:.0%} [{solved.low:.0%}, {solved.high:.0%}]"
                choice = results[agent_name(name, kind)].choices.get("step")
                scale = "" if choice is None else f"{choice.setting['scale']:g}"
                when = f"{soon / 1e3:.0f}" if np.isfinite(soon) else "never"
                rows.append((name, kind, scale, data.sizes["seed"], words, when))
    header = ("problem", "bonus", "scale", "seeds", "runs that solve it", "after how many thousand steps (median)")
    return [Table("How many runs solve it, and when", header, rows)]


EXPERIMENT = Experiment(
    figure="beyond the paper",
    title="Stable-Baselines3 on sparse problems, with bonuses of three kinds and none",
    paper="",
    notes="PPO and DQN of Stable-Baselines3, wrapped in one line. E-values with γ_E = 0.99; visits are the same "
    "wrapper with counter=Visits(); RND is random network distillation (Burda et al., 2018). The other bonuses "
    "are scale / √c. The scale of each is the best of its grid on two seeds that are not among the reported ones; "
    "grids were widened until the best value was not at the edge. Problem sizes and settings of the algorithms "
    "were also chosen on other seeds, with E-values, so they may favour these. Returns are true returns, without "
    "bonuses, of training episodes.",
    conditions=conditions,
    claims=[
        claim
        for name in PROBLEMS
        for claim in (
            solved_more_often(name, E_VALUES, NONE),
            solved_sooner(name, E_VALUES, VISITS),
            solved_sooner(name, E_VALUES, RND),
        )
    ],
    draw=draw,
    order=120,
    finding=Finding(
        "Do more runs of PPO in Stable-Baselines3 solve a deep sea with E-values than without a bonus?",
        [
            Answer(
                f"PPO, deep sea of 20: more runs solve it with {E_VALUES} than with {NONE}",
                "share of runs that solve it higher by {}",
            )
        ],
    ),
    size=Size(seeds=12, tuning_seeds=4),
    quick=Size(seeds=1, fraction=0.05),
    tables=tables,
)
