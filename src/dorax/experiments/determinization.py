"""Theorem 3.1: determinized rules choose actions as often as the stochastic rule they are derived from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dorax.core import LLL, Deficit, Sample
from dorax.study import figures
from dorax.study.claims import Claim, Estimate
from dorax.study.experiment import Condition, Experiment, Progress, Setting, Size
from dorax.study.results import Results
from dorax.study.statistics import Interval, mean

ACTIONS = 5


def log_probabilities(values: jax.Array) -> jax.Array:
    """Return the values: a policy whose values are log-probabilities already.

    Args:
        values: log-probabilities of the actions.
    """
    return values


@dataclass(frozen=True)
class Choices:
    """Many choices in one state by one rule, with a policy f drawn uniformly from all distributions for each seed.

    Args:
        rule: the action rule.
        choices: number of choices.
    """

    rule: Any
    choices: int

    def __call__(self, settings: Sequence[Setting], seeds: Sequence[int], progress: Progress | None) -> xr.Dataset:
        """Run the choices; see `Condition.run`."""
        keys = jax.vmap(jax.random.key)(jnp.asarray(seeds, jnp.uint32))
        lead, lag = (np.asarray(part)[None] for part in jax.jit(jax.vmap(self._excess))(keys))
        if progress is not None:
            progress(1.0, len(seeds) * self.choices)
        dims = ("setting", "seed", "choices")
        return xr.Dataset(
            {"lead": (dims, lead), "lag": (dims, lag)},
            coords={"setting": [""], "seed": list(seeds), "choices": np.arange(1, self.choices + 1)},
        )

    def _excess(self, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the largest and the smallest C_T(a) - T f(a) over the actions, for every T."""
        f_key, choice_key = jax.random.split(key)
        log_f = jnp.log(jax.random.dirichlet(f_key, jnp.ones(ACTIONS)))
        uniforms = jax.random.uniform(choice_key, (self.choices,))

        def choose(counts: jax.Array, inputs: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, Any]:
            time, uniform = inputs
            counts = counts.at[self.rule(log_f, counts, time, uniform)].add(1.0)
            excess = counts - time * jnp.exp(log_f)
            return counts, (jnp.max(excess), jnp.min(excess))

        times = jnp.arange(1, self.choices + 1)
        return jax.lax.scan(choose, jnp.zeros(ACTIONS), (times, uniforms))[1]


RULES = {"LLL": LLL(log_probabilities), "Deficit": Deficit(log_probabilities), "sampling": Sample(log_probabilities)}


def conditions(size: Size) -> Sequence[Condition]:
    """One condition per rule."""
    return [Condition(name, Choices(rule, size.of(10_000, least=1000))) for name, rule in RULES.items()]


def furthest(data: xr.Dataset) -> np.ndarray:
    """Compute |C_T(a) - T f(a)| of the worst action.

    Args:
        data: runs of one rule.

    Returns:
        Seeds x T.
    """
    return np.maximum(data.lead.values, -data.lag.values)


def worst_lead(results: Results, name: str) -> Estimate:
    """Find the largest C_T(a) - T f(a). It is a worst case, so the interval is a single point.

    Args:
        results: results of the experiment.
        name: name of the rule.

    Returns:
        The estimate.
    """
    worst = float(results[name].data().lead.max())
    words = f"largest C_T(a) - T f(a) of {name}, over all actions, T and f"
    return Estimate(words, Interval(worst, worst, worst), results.size.seeds)


def worst_distance(results: Results, name: str) -> Estimate:
    """Find the largest |C_T(a) - T f(a)|. It is a worst case, so the interval is a single point.

    Args:
        results: results of the experiment.
        name: name of the rule.

    Returns:
        The estimate.
    """
    worst = float(furthest(results[name].data()).max())
    words = f"largest |C_T(a) - T f(a)| of {name}, over all actions, T and f"
    return Estimate(words, Interval(worst, worst, worst), results.size.seeds)


def exponent(results: Results, name: str) -> Estimate:
    """Estimate the exponent of T in |C_T/T - f|, fitted for each f separately.

    Args:
        results: results of the experiment.
        name: name of the rule.

    Returns:
        The estimate.
    """
    data = results[name].data()
    times = data.choices.values
    at = np.unique(np.geomspace(10, times[-1], 60).astype(int)) - 1
    distance = furthest(data)[:, at] / times[at]
    slopes = np.polyfit(np.log(times[at]), np.log(distance).T, 1)[0]
    return Estimate(f"exponent of T in |C_T(a)/T - f(a)|, {name}", mean(slopes), results.size.seeds)


def claims() -> list[Claim]:
    """Create the claims about both determinized rules and about sampling."""
    found: list[Claim] = []
    for name in ("LLL", "Deficit"):
        found += [
            # The margin of 1e-2 allows for rounding of f to float32.
            Claim(f"{name} never exceeds T f(a) by more than 1", lambda r, n=name: worst_lead(r, n), below=1.0 + 1e-2),
            Claim(
                f"{name} stays within |A| = {ACTIONS} of T f(a)", lambda r, n=name: worst_distance(r, n), below=ACTIONS
            ),
            Claim(f"frequencies of {name} converge like 1/T", lambda r, n=name: exponent(r, n), above=-1.1, below=-0.9),
        ]
    text = "frequencies of sampling converge like 1/√T only"
    return [*found, Claim(text, lambda r: exponent(r, "sampling"), above=-0.6, below=-0.4)]


def draw(results: Results, figure: Figure) -> None:
    """Draw the distance between frequencies and f over T."""
    figure.set_size_inches(6.5, 4)
    axes = figure.subplots()
    choices = results["LLL"].data().choices.values
    at = np.unique(np.geomspace(1, len(choices), 200).astype(int)) - 1
    times = choices[at]
    for result, colour in zip(results, figures.COLOURS, strict=False):
        data = result.data()
        distance = furthest(data)[:, at] / times
        axes.plot(times, np.median(distance, axis=0), color=colour, label=f"{result.name}, median over f")
        axes.plot(times, np.max(distance, axis=0), color=colour, linewidth=0.8, linestyle="--", label="worst f")
    axes.plot(times, ACTIONS / times, color="grey", linestyle=":", label="|A| / T, the bound")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("choices T")
    axes.set_ylabel("largest |C_T(a)/T − f(a)|")
    figures.tidy(axes)
    axes.legend(frameon=False, fontsize=8)


EXPERIMENT = Experiment(
    figure="theorem 3.1",
    title="Determinized rules keep the action frequencies of stochastic rules",
    paper="Every stochastic rule has deterministic equivalents, LLL and the deficit rule among them, that choose each "
    "action equally often in the limit.",
    notes=f"One state, {ACTIONS} actions, f drawn uniformly from all distributions, a new one for each seed. The paper "
    "states the condition for frequencies, C_T(a)/T − f(a) ≤ b, but its proof needs it for counts, C_T(a) − T f(a) ≤ "
    "b. The latter is tested, with a margin of 0.01 visits for rounding: both rules stay at most one visit above T "
    "f(a) and within |A| visits of it.",
    conditions=conditions,
    claims=claims(),
    draw=draw,
    order=25,
)
