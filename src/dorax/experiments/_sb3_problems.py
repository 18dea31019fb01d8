"""What the study of Stable-Baselines3 compares: problems, kinds of exploration, and the grids that are fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dorax.study import figures

NONE, E_VALUES, VISITS, RND = "no bonus", "E-values", "visits", "RND"
ACTING_BY_E, ACTING_BY_VISITS = "acting by E-values", "acting by visits"
# One colour for each quantity that novelty is judged by; dashed where it chooses actions.
STYLES: dict[str, dict[str, Any]] = {
    NONE: {"color": figures.COLOURS[0]},
    VISITS: {"color": figures.COLOURS[1]},
    RND: {"color": figures.COLOURS[4]},
    E_VALUES: {"color": figures.COLOURS[6]},
    ACTING_BY_VISITS: {"color": figures.COLOURS[1], "linestyle": "--"},
    ACTING_BY_E: {"color": figures.COLOURS[6], "linestyle": "--"},
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
