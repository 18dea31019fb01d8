"""Beyond the paper: plain Q-learning with a bonus wrapper, and whether `diagnose` recognises a wrong scale."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import gymnasium
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dorax.core.counters import EValues
from dorax.study import figures
from dorax.study.claims import Claim, Estimate
from dorax.study.experiment import Condition, Experiment, Progress, Setting, Size, Table
from dorax.study.results import Results
from dorax.study.statistics import difference_of_means, difference_of_shares, mean, share
from dorax.wrappers import EValueBonus, diagnose

SIDE, EPISODES, WINDOWS = 8, 800, 40
LEARNING_RATE, DISCOUNT, EPSILON = 0.5, 0.99, 0.1
SOLVED = 0.4  # mean true return of the last fifth of episodes; with this ε the best is about 0.65
NONE, SMALL, RIGHT, LARGE = "none", "0.003", "0.1", "10"
SCALES = {NONE: 0.0, SMALL: 0.003, RIGHT: 0.1, LARGE: 10.0}
COLOURS = dict(zip(SCALES, ("#000000", *figures.palette(len(SCALES) - 1)), strict=True))


def learn(
    settings: Sequence[Setting], seeds: Sequence[int], progress: Progress | None, *, scale: float, episodes: int
) -> xr.Dataset:
    """Run ε-greedy Q-learning on the deep sea with a bonus.

    Args:
        settings: ignored; there is no grid.
        seeds: the seeds.
        progress: called with the fraction done and the number of steps so far.
        scale: scale of the bonus.
        episodes: number of episodes.

    Returns:
        A dataset with the true returns, the counts and the diagnosis of the bonus.
    """
    runs: list[xr.Dataset] = []
    for done, seed in enumerate(seeds, start=1):
        runs.append(_run(scale, episodes, seed))
        if progress is not None:
            progress(done / len(seeds), done * episodes * SIDE)
    return xr.concat(runs, xr.IndexVariable("seed", list(seeds))).expand_dims(setting=[""])


def _run(scale: float, episodes: int, seed: int) -> xr.Dataset:
    env = EValueBonus(gymnasium.make("dorax/DeepSea-v0", size=SIDE), counter=EValues(0.9), scale=scale)
    random = np.random.default_rng(seed)
    q = np.zeros((SIDE * SIDE, 2))
    returns: list[float] = []
    for _ in range(episodes):
        state, _ = env.reset()
        total, is_over = 0.0, False
        while not is_over:
            is_random = random.random() < EPSILON or q[state, 0] == q[state, 1]
            action = int(random.integers(2)) if is_random else int(np.argmax(q[state]))
            arrived, reward, terminated, truncated, info = env.step(action)
            target = reward + (0.0 if terminated else DISCOUNT * q[arrived].max())
            q[state, action] += LEARNING_RATE * (target - q[state, action])
            state, is_over, total = arrived, terminated or truncated, total + info["true_reward"]
        returns.append(total)
    found = diagnose(env)
    states, counts = range(SIDE * SIDE), env.exploration.counts
    words = " ".join(found.warnings)
    return xr.Dataset(
        {
            "return": ("episode", returns),
            "share": ("window", np.interp(np.linspace(0, found.step[-1], WINDOWS), found.step, found.bonus_share)),
            "count": ("pair", counts.of(states).ravel()),
            "visits": ("pair", counts.visits_of(states).ravel()),
            "is_swamped": ((), "swamps" in words),
            "is_gone": ((), "vanished" in words),
        }
    )


def conditions(size: Size) -> Sequence[Condition]:
    """Return one condition per scale of the bonus."""
    episodes = size.of(EPISODES, least=60)
    return [Condition(name, partial(learn, scale=scale, episodes=episodes)) for name, scale in SCALES.items()]


def late_return(data: xr.Dataset) -> np.ndarray:
    """Compute the mean true return of the last fifth of episodes.

    Args:
        data: results of one condition.

    Returns:
        One number per seed.
    """
    episodes = data.sizes["episode"]
    return data["return"].isel(episode=slice(-episodes // 5, None)).mean("episode").values


def solves_more_often(often: str, seldom: str) -> Claim:
    """Claim that one scale solves the problem in more runs than another.

    Args:
        often: name of the better condition.
        seldom: name of the worse condition.

    Returns:
        The claim.
    """

    def estimate(results: Results) -> Estimate:
        solved = [late_return(results[name].data()) > SOLVED for name in (often, seldom)]
        interval = difference_of_shares(*((int(x.sum()), len(x)) for x in solved))
        words = f"share of runs that end with a mean true return above {SOLVED:g}, scale {often} less {seldom}"
        return Estimate(words, interval, len(solved[0]))

    return Claim(f"a bonus of scale {often} finds the treasure more often than {seldom}", estimate, above=0.0)


def ends_better(better: str, worse: str) -> Claim:
    """Claim that one scale ends with a higher return than another.

    Args:
        better: name of the better condition.
        worse: name of the worse condition.

    Returns:
        The claim.
    """

    def estimate(results: Results) -> Estimate:
        ours, theirs = (late_return(results[name].data()) for name in (better, worse))
        words = f"mean true return of the last fifth of episodes, scale {better} less {worse}"
        return Estimate(words, difference_of_means(ours, theirs), len(ours))

    return Claim(f"in the end a bonus of scale {better} earns more than {worse}", estimate, above=0.0)


def is_warned_of(name: str, variable: str, text: str) -> Claim:
    """Claim that `diagnose` warns of a condition in most runs.

    Args:
        name: name of the condition.
        variable: variable of its dataset that says whether there was a warning.
        text: text of the claim.

    Returns:
        The claim.
    """

    def estimate(results: Results) -> Estimate:
        is_warned = results[name].data()[variable].values
        return Estimate(f"share of runs with scale {name}", share(int(is_warned.sum()), len(is_warned)), len(is_warned))

    return Claim(text, estimate, above=0.5)


def draw(results: Results, figure: Figure) -> None:
    """Draw true returns and the share of the bonus by episode, and counts against visits."""
    figure.set_size_inches(12, 3.8)
    panels = figure.subplots(1, 3)
    for result in results:
        data, colour = result.data(), COLOURS[result.name]
        window = np.linspace(0, 1, data.sizes["window"]) * data.sizes["episode"]
        returns = figures.trailing_mean(data["return"].values, 20)
        style = {"color": colour, "label": result.name}
        figures.draw_band(panels[0], np.arange(returns.shape[1]), returns.T, figures.mean_over_seeds, **style)
        figures.draw_band(panels[1], window, data.share.values.T, figures.mean_over_seeds, **style)
    one = results[RIGHT].data().isel(seed=0)
    panels[2].plot(one.visits, one["count"], ".", color=COLOURS[RIGHT])
    panels[2].plot([1, one.visits.max()], [1, one.visits.max()], color="#888888", linewidth=0.8)
    panels[2].set(xscale="log", yscale="log")
    for panel, (across, up) in zip(
        panels,
        (
            ("episodes", "true return"),
            ("episodes", "share that is bonus"),
            ("visits of a pair (scale 0.1, one seed)", "generalized count"),
        ),
        strict=True,
    ):
        panel.set_xlabel(across)
        panel.set_ylabel(up)
        figures.tidy(panel)
    figures.legend_below(figure, panels[0])


def tables(results: Results) -> Sequence[Table]:
    """Return a table of returns, shares of the bonus and warnings by scale."""
    rows = []
    for result in results:
        data = result.data()
        late = mean(late_return(data))
        warned = [int(data[name].values.sum()) for name in ("is_swamped", "is_gone")]
        final = data.share.values[:, -5:].mean()
        rows.append((result.name, f"{late.value:.3f} [{late.low:.3f}, {late.high:.3f}]", f"{final:.1%}", *warned))
    header = (
        "scale",
        "true return at the end",
        "share of the bonus at the end",
        "runs warned: swamps",
        "runs warned: vanished",
    )
    return [Table("What came of each scale", header, rows)]


EXPERIMENT = Experiment(
    figure="beyond the paper",
    title="A bonus in a wrapper, and whether its size is sensible",
    paper="",
    notes="Tabular ε-greedy Q-learning on the deep sea of 8 learns from the rewards of the wrapped "
    "environment. dorax.diagnose reports how much of the reward is bonus, and warns if that is too much or too "
    "little. The scales (too small, sensible, too large) were chosen on other seeds, after a first choice on a "
    "larger sea had shown less.",
    conditions=conditions,
    claims=[
        solves_more_often(RIGHT, NONE),
        solves_more_often(RIGHT, SMALL),
        ends_better(RIGHT, LARGE),
        is_warned_of(LARGE, "is_swamped", "a bonus that is too large is warned of"),
    ],
    draw=draw,
    order=110,
    size=Size(seeds=10),
    tables=tables,
)
