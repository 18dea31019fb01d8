"""What happened, in one sentence: who found the goal, and when."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dorax.explorer.recording import Recording, goal_of
from dorax.mdps import MDP


def story(mdp: MDP, recordings: Mapping[str, Recording]) -> str:
    """Tell who found the goal when, or how much each agent has seen if none did.

    Args:
        mdp: the MDP.
        recordings: recordings by name of the agent.

    Returns:
        A sentence.
    """
    goal = goal_of(mdp)
    episodes = next(iter(recordings.values())).frames[-1].episode
    within = f"in {episodes:,} episode{'s' if episodes != 1 else ''}"
    if goal is None:
        return f"There is no reward to find here; {within}, {_seen(mdp, recordings)}."
    found = {name: each.first_reached for name, each in recordings.items() if each.first_reached is not None}
    missing = [name for name in recordings if name not in found]
    if not found:
        who = f"Neither {' nor '.join(missing)}" if len(missing) > 1 else f"{missing[0]} never"
        return f"{who} reached {goal.name} {within}; {_seen(mdp, recordings)}."
    first, *others = sorted(found.items(), key=lambda item: item[1][1])
    sentence = f"{first[0]} first reached {goal.name} in {_when(*first[1])}"
    for name, when in others:
        sentence += f", {name} in {_when(*when)}"
    return sentence + (f"; {missing[0]} never did {within}." if missing else ".")


def _when(episode: int, steps: int) -> str:
    return f"episode {episode:,} (step {steps:,})"


def _seen(mdp: MDP, recordings: Mapping[str, Recording]) -> str:
    """Say how many states each agent has seen."""
    total = np.count_nonzero(mdp.reachable)
    seen = {name: np.count_nonzero(each.frames[-1].visits.any(axis=1)) for name, each in recordings.items()}
    (name, number), *others = seen.items()
    return " and ".join(
        [f"{name} saw {number:,} of {total:,} states", *(f"{name} {number:,}" for name, number in others)]
    )
