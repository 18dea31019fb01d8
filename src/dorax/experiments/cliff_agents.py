"""The comparison that the paper mentions and does not show: the same eight agents on the cliff."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from dorax import mdps
from dorax.experiments import _rivals
from dorax.study.experiment import Cell, Experiment, Size
from dorax.study.results import Results

RATES = (0.5, 0.1)


def cells(size: Size) -> Sequence[Cell]:
    return _rivals.comparison(mdps.cliff(), episodes=2000, max_steps=30_000, rates=RATES, size=size)


def draw(results: Results, figure: Figure) -> None:
    _rivals.draw_comparison(results, figure, RATES)


EXPERIMENT = Experiment(
    figure="section 3.3 (not shown)",
    title="The same agents on the cliff",
    paper="On cliff walking the results are similar to those on the bridge.",
    notes="γ = γ_E = 0.9, at most 500 steps an episode; 2000 episodes or 30 000 steps, whichever comes first. Every "
    "step costs 1 here: values that start at 0 are optimistic, and greedy learners explore by themselves. By step "
    "the curves of all agents lie on one another.",
    cells=cells,
    claims=[claim for rate in RATES for claim in _rivals.counterpart_claims(rate)],
    draw=draw,
    order=40,
)
