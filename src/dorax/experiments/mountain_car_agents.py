"""fig:fa_mc: agents with tile coding on the sparse mountain car."""

from __future__ import annotations

from collections.abc import Sequence

from dorax.envs import SparseMountainCar
from dorax.experiments import _explorers
from dorax.study.experiment import Cell, Experiment, Size

EPISODES = 1000
TASTE = (_explorers.EPSILON_GREEDY, _explorers.PLAIN_COUNT, _explorers.COUNT)  # of a quick run


def cells(size: Size) -> Sequence[Cell]:
    return _explorers.comparison(_explorers.by_tiles(8), SparseMountainCar(), EPISODES, size, lanes=64, taste=TASTE)


EXPERIMENT = Experiment(
    figure="fig:fa_mc",
    title="The sparse mountain car, by tile coding",
    paper="Softmax exploration fails to solve the problem within 1000 episodes; LLL agents with generalized counters "
    "(γ_E > 0) quickly reach high success rates.",
    notes="8 tilings (of 8 × 8 tiles, ours), α = 0.1 and, for E, 0.5 of the prediction's error a step, shared by the "
    "active tiles; γ = 0.99; weights of Q drawn with deviation 0.01 (authors' values). Solved: 18 of 20 successive "
    "episodes reach the goal; no agent can be faster than 18 episodes, which pulls ratios towards 1. ε and "
    "temperature are fitted to the failures over the whole run. “As given”: E learns at the authors' step in the "
    "logistic form, at step 1 with α_E = 0.5 in the count form. “Fitted”: the step of the logistic form, and α_E of "
    "the count form, are fitted together with the temperature.",
    cells=cells,
    claims=[*_explorers.claims(EPISODES, soon=200), *_explorers.fitted_claims()],
    draw=_explorers.draw,
    order=80,
    size=Size(seeds=50, tuning_seeds=8),
    tables=_explorers.tables,
)
