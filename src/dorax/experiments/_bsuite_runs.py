"""Runs of tabular learners on bsuite's deep seas, logged and scored by bsuite itself."""

# bsuite: not typed.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import xarray as xr
from bsuite.environments.deep_sea import DeepSea
from bsuite.logging.base import Logger
from bsuite.utils.wrappers import Logging

from dorax.agents.tabular import TabularLearner
from dorax.engine.running import Progress

Row = Mapping[str, float]

# Below which share of bad episodes bsuite counts a problem as solved. Used to end runs; scores come from bsuite.
THRESHOLDS = {"deep_sea": 0.9, "deep_sea_stochastic": 0.8}
THRESHOLD_OF_2019 = 0.8  # for both, when its results were published
FIRST_JUDGED = 100  # the first episode at which the stochastic problem may be solved


class Log(Logger):
    """A logger for bsuite that keeps its rows in memory.

    Attributes:
        rows: the rows.
    """

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def write(self, data: Row) -> None:
        """Add a row.

        Args:
            data: values by name of the column.
        """
        self.rows.append(dict(data))


def state_of(observation: np.ndarray) -> int:
    """Return the number of the cell that is 1 in an N x N observation.

    After the last step all cells are 0, which gives state 0; a learner ignores the state after a terminal step.

    Args:
        observation: the observation.
    """
    return int(observation.argmax())


def play_episode(env: Any, learner: TabularLearner) -> None:
    """Play one episode and learn from it.

    Args:
        env: an environment with the interface of dm_env.
        learner: the learner.
    """
    timestep = env.reset()
    state = state_of(timestep.observation)
    while not timestep.last():
        action = learner.act(state)
        timestep = env.step(action)
        arrived = state_of(timestep.observation)
        is_terminal = timestep.last() and timestep.discount == 0
        learner.observe(state, action, timestep.reward, arrived, is_terminal, timestep.last() and not is_terminal)
        state = arrived


def episodes_logged(episodes: int) -> list[int]:
    """List the episodes after which bsuite writes a row.

    Args:
        episodes: number of episodes.
    """
    ratios = (1.0, 1.2, 1.4, 1.7, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)
    tens = [10**power for power in range(len(str(episodes)))]
    marks = [round(ten * ratio, 6) for ten in tens for ratio in ratios]
    return [int(mark) for mark in marks if mark == int(mark) and mark <= episodes]


def sea(family: str, size: int, mapping_seed: int, seed: int) -> DeepSea:
    """Create a deep sea as bsuite's ids do, with a seed for its noise, which these leave unset.

    Args:
        family: `deep_sea` or `deep_sea_stochastic`.
        size: N.
        mapping_seed: seed of the mapping of actions.
        seed: seed of the transitions and rewards.
    """
    return DeepSea(size, deterministic=family == "deep_sea", seed=seed, mapping_seed=mapping_seed)


def run(
    family: str, env: DeepSea, learner: TabularLearner, episodes: int, progress: Progress | None = None
) -> xr.Dataset:
    """Play until bsuite's scores do not depend on the rest, or for a number of episodes.

    bsuite counts a problem as solved at the first row with a low enough share of bad episodes, whatever happens later.
    So a run ends when both scores know that row, or when no later row can have such a share.

    Args:
        family: `deep_sea` or `deep_sea_stochastic`.
        env: the environment.
        learner: the learner.
        episodes: largest number of episodes.
        progress: called now and then with the fraction that is done and the steps so far.

    Returns:
        bsuite's rows (`record_episode`, `record_step`, `record_bad_episodes` and `record_denoised_return`; NaN after
        the end), its `score`, the episode at which it finds the problem solved (`solved_at`; NaN if it does not), its
        score by the rule of 2019 (`score_2019`), and the episode in which the reward was first collected (`found_at`).
    """
    log, found_at = Log(), np.nan
    logged = Logging(env, log)
    for episode in range(1, episodes + 1):
        play_episode(logged, learner)
        info = env.bsuite_info()
        if np.isnan(found_at) and info["denoised_return"] > 0:
            found_at = episode
        if _is_settled(log.rows) or info["total_bad_episodes"] >= THRESHOLDS[family] * episodes:
            break
        if progress is not None and episode % 100 == 0:
            progress(min(episode / episodes, 0.999), learner.steps)
    if progress is not None:
        progress(1.0, learner.steps)
    size: int = env.observation_spec().shape[0]
    score, solved_at, score_2019 = scored(family, size, log.rows)
    facts = {"score": score, "solved_at": solved_at, "score_2019": score_2019, "found_at": found_at, "size": size}
    return xr.Dataset(_columns(log.rows, len(episodes_logged(episodes))) | facts)


def fingerprint(env: DeepSea, learner: TabularLearner, episodes: int) -> dict[str, Any]:
    """Play a few episodes, and return bsuite's counts and what was learned, summed over each row.

    Args:
        env: the environment.
        learner: the learner.
        episodes: number of episodes.
    """
    for _ in range(episodes):
        play_episode(env, learner)
    size: int = env.observation_spec().shape[0]
    values = learner.q_table.reshape(size, -1).sum(axis=1)
    counts = learner.count_table.reshape(size, -1).sum(axis=1)
    return {"info": env.bsuite_info(), "values": values.tolist(), "counts": counts.tolist()}


def scored(family: str, size: int, rows: Sequence[Row]) -> tuple[float, float, float]:
    """Score one run by bsuite's own analysis.

    Args:
        family: `deep_sea` or `deep_sea_stochastic`.
        size: N.
        rows: what bsuite logged.

    Returns:
        The score (1 if it was solved, and sooner than by chance), the episode at which it was solved (NaN if it was
        not), and the score by the rule of 2019, which was the same for both families.
    """
    frame = pd.DataFrame(rows).assign(size=size)
    with bsuite_analysis(family) as analysis:
        solution, score = analysis.find_solution(frame), float(analysis.score(frame))
    with bsuite_analysis("deep_sea") as analysis:
        earlier = analysis.find_solution(frame, thresh=THRESHOLD_OF_2019)
    is_early = earlier.solved & (earlier.episode < 2 ** earlier["size"] + 100)
    solved_at = float(solution.episode.iloc[0]) if bool(solution.solved.iloc[0]) else float("nan")
    return score, solved_at, float(is_early.mean())


@contextmanager
def bsuite_analysis(family: str) -> Iterator[Any]:
    """Provide bsuite's analysis of a family of problems, with what it needs on today's pandas.

    It uses `Series.append`, which pandas 2 removed, and arguments that pandas 3 deprecates. Importing it changes the
    style of all matplotlib figures, which is undone.

    Args:
        family: name of the family.
    """
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        analysis = importlib.import_module(f"bsuite.experiments.{family}.analysis")
        has_append = hasattr(pd.Series, "append")
        if not has_append:
            setattr(pd.Series, "append", lambda self, other: pd.concat([self, other]))  # noqa: B010
        try:
            yield analysis
        finally:
            if not has_append:
                delattr(pd.Series, "append")


def _is_settled(rows: Sequence[Row]) -> bool:
    """Return whether the last row counts as solved by every rule."""
    if not rows or rows[-1]["episode"] < FIRST_JUDGED:
        return False
    lowest = min(THRESHOLD_OF_2019, *THRESHOLDS.values())
    return rows[-1]["total_bad_episodes"] / rows[-1]["episode"] < lowest


def _columns(rows: Sequence[Row], length: int) -> dict[str, Any]:
    """Return bsuite's rows as columns of one length, padded with NaN."""
    keys = {
        "episode": "episode",
        "step": "steps",
        "bad_episodes": "total_bad_episodes",
        "denoised_return": "denoised_return",
    }
    padding = [np.nan] * (length - len(rows))
    return {f"record_{name}": ("record", [row[key] for row in rows] + padding) for name, key in keys.items()}
