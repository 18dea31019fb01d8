"""Load, evaluate and record trained learners."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dorax import core
from dorax.agents.atari import AtariAgent, DensityModel, ScreenLearner
from dorax.agents.deep import DeepAgent
from dorax.agents.explorers import RND, NovelD
from dorax.agents.linear import LinearAgent
from dorax.agents.parallel import ParallelAgent
from dorax.agents.tabular import (
    DelayedQLearning,
    HoeffdingQLearning,
    NoveltyQLearning,
    QLearning,
    TabularAgent,
    TabularLearner,
)
from dorax.core.checks import InvalidInput, check_whole
from dorax.engine.describing import plain, rebuilt, words_of
from dorax.engine.learner import Learner, read_learner
from dorax.envs.films import Moment, write_gif
from dorax.envs.playable import playable
from dorax.features.specs import CountNetwork, HashedCodes, LearnedPrototypes, Prototypes, RandomStart, Table, Tiles

__all__ = ["Learner", "evaluate", "load", "play"]

_CLASSES: dict[str, type] = {
    each.__name__: each
    for each in (
        *(getattr(core, name) for name in core.__all__ if isinstance(getattr(core, name), type)),
        RND, AtariAgent, CountNetwork, DeepAgent, DelayedQLearning, DensityModel, HashedCodes, HoeffdingQLearning,
        LearnedPrototypes, LinearAgent, NovelD, NoveltyQLearning, ParallelAgent, Prototypes, QLearning, RandomStart,
        Table, TabularAgent, Tiles,
    )
}  # fmt: skip
_LEARNERS: dict[type, type[Learner]] = {TabularAgent: TabularLearner, AtariAgent: ScreenLearner}


def load(path: str | os.PathLike[str], agent: Any = None) -> Learner:
    """Load a learner that was saved with `save`; it continues exactly where it stopped.

    Args:
        path: the file.
        agent: the agent; needed only if it contains code of your own, which the file cannot hold.

    Returns:
        A `TabularLearner` for tables, else a `Learner`.
    """
    facts, arrays, spec = read_learner(path)
    if agent is None and facts["agent"] is None:
        raise InvalidInput(
            f"{path} holds an agent that contains your own code ({facts['words']}); allowed: load(path, agent=...)"
        )
    if agent is not None and (plain(agent), words_of(agent)) != (facts["agent"], facts["words"]):
        raise InvalidInput(f"agent is {words_of(agent)}; allowed: the agent in {path}, {facts['words']}")
    try:
        agent = rebuilt(facts["agent"], _CLASSES) if agent is None else agent
        kind = _LEARNERS.get(type(agent), Learner)
        return kind.restored(agent, spec, facts, arrays)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InvalidInput(f"{path} is damaged: {' '.join(str(error).split())}; allowed: a saved learner") from None


def evaluate(
    learner: Learner, env: Any, episodes: int = 10, *, greedy: bool = True, max_steps: int | None = None, seed: int = 0
) -> np.ndarray:
    """Play episodes with a learner, without learning.

    Args:
        learner: the learner.
        env: a finite MDP, a functional environment, a Gymnasium environment, or the id of one.
        episodes: number of episodes.
        greedy: take the action with the highest value; otherwise follow the learner's rule.
        max_steps: time limit of an episode, for environments without one.
        seed: seed of the environment.

    Returns:
        The return of every episode.
    """
    check_whole("episodes", episodes)
    played = playable(env)
    _check_fit(learner, played)
    scores: list[float] = []
    for episode in range(episodes):
        observation, _ = played.reset(seed=seed if episode == 0 else None)
        total, is_over, steps = 0.0, False, 0
        while not is_over and (max_steps is None or steps < max_steps):
            action = learner.greedy_action(observation) if greedy else learner.sample_action(observation)
            observation, reward, terminated, truncated, _ = played.step(action)
            total, is_over, steps = total + float(reward), terminated or truncated, steps + 1
        scores.append(total)
    return np.asarray(scores)


def play(
    learner: Learner,
    env: Any,
    path: str | os.PathLike[str] = "film.gif",
    *,
    steps: int = 300,
    frames_a_second: int = 15,
    seed: int = 0,
) -> float:
    """Record a GIF of a learner that plays greedily, with the values and counts of its actions beside the picture.

    Args:
        learner: the learner.
        env: a finite MDP, a functional environment, a Gymnasium environment that renders `rgb_array`, or an id.
        path: the GIF to write.
        steps: maximum number of steps; at most one episode is shown.
        frames_a_second: frames per second, one for each step.
        seed: seed of the environment.

    Returns:
        The return of the steps shown.
    """
    check_whole("steps", steps)
    played = playable(env, render_mode="rgb_array")
    _check_fit(learner, played)
    game = played.unwrapped
    names = getattr(getattr(game, "mdp", game), "action_names", None)
    names = names or [str(action) for action in range(learner.spec.actions)]
    return write_gif(Path(path), _moments(learner, played, steps, seed), names, frames_a_second)


def _moments(learner: Learner, env: Any, steps: int, seed: int) -> Iterator[Moment]:
    observation, _ = env.reset(seed=seed)
    score, is_over = 0.0, False
    for _ in range(steps):
        picture = env.render()
        if not isinstance(picture, np.ndarray):
            raise InvalidInput(f"{env} renders {type(picture).__name__}; allowed: render_mode='rgb_array'")
        action = learner.greedy_action(observation)
        yield Moment(picture, learner.q(observation), learner.counts(observation), action, score)
        if is_over:
            return
        observation, reward, terminated, truncated, _ = env.step(action)
        score, is_over = score + float(reward), terminated or truncated


def _check_fit(learner: Learner, env: Any) -> None:
    if not hasattr(learner, "greedy_action"):
        raise InvalidInput(f"learner is {learner!r}; allowed: a learner, such as result.learner() or dorax.load(path)")
    actions = getattr(env.action_space, "n", None)
    if actions != learner.spec.actions:
        raise InvalidInput(f"the action space is {env.action_space}; allowed: {learner.spec.actions} actions")
