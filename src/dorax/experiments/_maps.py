"""Maps of the mountain car's state space: visits and generalized counts in each bin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from scipy import stats

from dorax.agents.linear import LinearAgent
from dorax.core import EpsilonGreedy, EValues, Sample
from dorax.engine.probes import Maps
from dorax.engine.training import Training
from dorax.envs import SparseMountainCar
from dorax.study.experiment import Condition, Progress, Setting, Size

BINS = (54, 50)  # positions x velocities; the goal, position 0.5, lies on an edge
EPSILON = 0.3
EPISODES = 1000
WINDOW = 10  # episodes between snapshots, and of the early and late windows
FORMS = ("logistic", "count")
EXTENT = (-1.2, 0.6, -0.07, 0.07)
SIZE = Size(seeds=32)
QUICK = Size(seeds=4, fraction=0.03)


@dataclass(frozen=True)
class MapRun:
    """A training run whose snapshots are reduced to what the figures show: maps of three windows, and correlations.

    Args:
        training: the run.
    """

    training: Training

    def __call__(self, settings: Sequence[Setting], seeds: Sequence[int], progress: Progress | None) -> xr.Dataset:
        """Run and reduce; see `Condition.run`."""
        data = self.training(settings, seeds, progress)
        visits, counts = data.visits.astype("float32"), data["count"]
        kept = {"correlation": _correlation(visits, counts), "return": data["return"]}
        for name, maps in (("visits", visits), ("count", counts)):
            first, last_but_one, last = (maps.isel(snapshot=i, drop=True) for i in (0, -2, -1))
            kept |= {f"{name}_early": first, f"{name}_total": last, f"{name}_late": last - last_but_one}
        return xr.Dataset(kept, attrs={"parameters": data.attrs["parameters"]})


def conditions(discount: float, size: Size) -> list[Condition]:
    """Create an ε-greedy agent that ignores E, with E learned in each form.

    Args:
        discount: the paper's gamma_E.
        size: how much to run.

    Returns:
        One condition per form.
    """
    counters = {
        "logistic": EValues(discount, learning_rate=0.5, form="logistic", step_size=0.5),
        "count": EValues(discount, learning_rate=0.5, form="count", step_size=1.0),
    }
    return [
        Condition(
            name,
            MapRun(
                Training(
                    LinearAgent(Sample(EpsilonGreedy(EPSILON)), counter),
                    SparseMountainCar(),
                    episodes=size.of(EPISODES, least=2 * WINDOW),
                    maps=Maps(BINS, WINDOW),
                    lanes=32,
                )
            ),
        )
        for name, counter in counters.items()
    ]


def rank_correlations(data: xr.Dataset, window: str) -> np.ndarray:
    """Compute Spearman's correlation of visits and counts over the bins visited in a window.

    Args:
        data: runs of one condition.
        window: `"early"`, `"late"` or `"total"`.

    Returns:
        The coefficient for each seed.
    """
    return np.asarray(
        [
            stats.spearmanr(visits[visits > 0], counts[visits > 0])[0]
            for visits, counts in zip(data[f"visits_{window}"].values, data[f"count_{window}"].values, strict=True)
        ]
    )


def draw_map(axes: Axes, values: np.ndarray, title: str) -> Any:
    """Draw a map relative to its maximum, over three decades. Bins that were never visited are white.

    Args:
        axes: where to draw.
        values: positions x velocities.
        title: title of the map.

    Returns:
        The image, for a colour bar.
    """
    relative = np.ma.masked_less_equal(values / max(values.max(), 1e-12), 0).T
    image = axes.imshow(relative, origin="lower", extent=EXTENT, aspect="auto", norm=LogNorm(1e-3, 1.0), cmap="viridis")
    axes.set_title(title, fontsize=9, loc="left")
    axes.set_xlabel("position")
    axes.set_ylabel("velocity")
    return image


def _correlation(visits: xr.DataArray, counts: xr.DataArray) -> xr.DataArray:
    """Compute Pearson's correlation over snapshots for each bin; NaN where either map never changed."""
    moving = (visits.std("snapshot") > 0) & (counts.std("snapshot") > 0)
    return xr.corr(visits, counts, "snapshot").where(moving).astype("float32")
