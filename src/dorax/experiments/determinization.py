"""Theorem 3.1: determinized rules choose actions as often as the stochastic rule they are derived from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dorax.core import LLL, Deficit, Sample, next_count
from dorax.study import figures
from dorax.study.claims import Claim, Estimate
from dorax.study.experiment import Answer, Condition, Experiment, Finding, Progress, Setting, Size
from dorax.study.results import Results
from dorax.study.statistics import exactly, mean

ACTIONS = 5
POWERS = (0.25, 0.5)  # p of the slack b(T) = T^p; with p = 1 every rule qualifies
LEAVES = (1, 2, 5, 10, 20)
SHOWN = 10  # leaves of the hub in the figure and in the README
LEARNING_RATE, E_DISCOUNT = 0.1, 0.9
EXIT, HUB = 0, 1
ROUNDING = 1e-6  # visits


def log_probabilities(values: np.ndarray) -> np.ndarray:
    """Return the values: a policy whose values are log-probabilities already.

    Args:
        values: log-probabilities of the actions.
    """
    return values


@dataclass(frozen=True)
class Slack:
    """The least balanced rule that the theorem allows: the most over-chosen action with C_T(a) - T f(a) <= T^p.

    For p = 1 no action is ever excluded, and the rule chooses the same action forever.

    Args:
        power: p.
    """

    power: float

    def __call__(self, log_f: np.ndarray, counts: np.ndarray, time: int, uniform: np.ndarray) -> np.ndarray:
        """Return the chosen action; nothing is random."""
        del uniform
        excess = counts - (time - 1) * np.exp(log_f)
        is_allowed = excess <= (time - 1) ** self.power
        return np.argmax(np.where(is_allowed, excess, -np.inf), axis=-1)


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
        random = [np.random.default_rng(seed) for seed in seeds]
        f = np.stack([each.dirichlet(np.ones(ACTIONS)) for each in random])
        uniforms = np.stack([each.random(self.choices) for each in random], axis=1)
        counts, lanes = np.zeros_like(f), np.arange(len(f))
        lead, lag = np.zeros((2, len(f), self.choices))
        for time, uniform in enumerate(uniforms, start=1):
            counts[lanes, self.rule(np.log(f), counts, time, uniform)] += 1
            excess = counts - time * f
            lead[:, time - 1], lag[:, time - 1] = excess.max(axis=1), excess.min(axis=1)
        if progress is not None:
            progress(1.0, uniforms.size)
        dims = ("setting", "seed", "choices")
        return xr.Dataset(
            {"lead": (dims, lead[None]), "lag": (dims, lag[None])},
            coords={"setting": [""], "seed": list(seeds), "choices": np.arange(1, self.choices + 1)},
        )


@dataclass(frozen=True)
class Outings:
    """Choices at a root with two actions, one that ends the episode and one that leads to a hub with leaves.

    At the hub the same rule chooses among the leaves, which are terminal and equally probable. With seed 0, f is one
    half for both actions of the root; with others it is drawn uniformly between 0.1 and 0.9.

    Args:
        rule: the action rule.
        leaves: number of leaves.
        e_discount: the paper's gamma_E; at 0 counts are visits.
        choices: number of choices at the root.
    """

    rule: Any
    leaves: int
    e_discount: float
    choices: int

    def __call__(self, settings: Sequence[Setting], seeds: Sequence[int], progress: Progress | None) -> xr.Dataset:
        """Run the choices; see `Condition.run`."""
        random = [np.random.default_rng(seed) for seed in seeds]
        f_exit = np.asarray([0.5 if seed == 0 else r.uniform(0.1, 0.9) for seed, r in zip(seeds, random, strict=True)])
        f = np.stack([f_exit, 1 - f_exit], axis=1)
        uniforms = np.stack([each.random((self.choices, 2)) for each in random], axis=1)
        visits, counts, hub = np.zeros_like(f), np.zeros_like(f), np.zeros((len(f), self.leaves))
        lanes, equal = np.arange(len(f)), np.full(hub.shape, -np.log(self.leaves))
        for time, uniform in enumerate(uniforms, start=1):
            action, leaf = self.rule(np.log(f), counts, time, uniform[:, 0]), self.rule(equal, hub, time, uniform[:, 1])
            successor = np.where(action == HUB, hub[lanes, leaf], np.inf)
            counts[lanes, action] = next_count(counts[lanes, action], successor, LEARNING_RATE, self.e_discount)
            hub[lanes, leaf] += action == HUB
            visits[lanes, action] += 1
        if progress is not None:
            progress(1.0, self.choices * len(f))
        dims = ("setting", "seed", "action")
        columns = {"f": (dims, f[None]), "visits": (dims, visits[None]), "count": (dims, counts[None])}
        return xr.Dataset(columns, coords={"setting": [""], "seed": list(seeds)})


RULES: dict[str, Any] = {
    "LLL": LLL(log_probabilities),
    "Deficit": Deficit(log_probabilities),
    "sampling": Sample(log_probabilities),
}
DETERMINIZED = ("LLL", "Deficit")
SAME_ACTION = "always the same action"


def slack_name(power: float) -> str:
    """Return the name of a condition with a slack of T^p.

    Args:
        power: p.
    """
    return f"b(T) = T^{power:g}"


def outing_name(rule: str, leaves: int, counter: str = "E-values") -> str:
    """Return the name of a condition at a root with an exit and a hub.

    Args:
        rule: name of the rule.
        leaves: number of leaves of the hub.
        counter: what is counted.
    """
    return f"{rule}, {counter}, hub with {leaves}"


def leaves_of(rule: str) -> Sequence[int]:
    """Return the numbers of leaves that a rule is run with.

    Args:
        rule: name of the rule.
    """
    return LEAVES if rule == "LLL" else (SHOWN,)


def conditions(size: Size) -> Sequence[Condition]:
    """One condition per rule, with one state and with a hub."""
    choices = size.of(10_000, least=1000)
    rules = RULES | {slack_name(p): Slack(p) for p in POWERS} | {SAME_ACTION: Slack(1.0)}
    return [
        *(Condition(name, Choices(rule, choices)) for name, rule in rules.items()),
        *(
            Condition(outing_name(rule, k), Outings(RULES[rule], k, E_DISCOUNT, choices))
            for rule in DETERMINIZED
            for k in leaves_of(rule)
        ),
        Condition(outing_name("LLL", SHOWN, "visits"), Outings(RULES["LLL"], SHOWN, 0.0, choices)),
    ]


def furthest(data: xr.Dataset) -> np.ndarray:
    """Compute |C_T(a) - T f(a)| of the worst action.

    Args:
        data: runs of one rule.

    Returns:
        Seeds x T.
    """
    return np.maximum(data.lead.values, -data.lag.values)


def as_printed(results: Results) -> Estimate:
    """Find how far from f a rule that fulfils the theorem's condition as printed, with b = 1, can end.

    Args:
        results: results of the experiment.

    Returns:
        The estimate.
    """
    worst = 0.0
    for name in (*RULES, *map(slack_name, POWERS), SAME_ACTION):
        data = results[name].data()
        if np.max(data.lead / data.choices) <= 1.0:  # the printed condition: C_T(a)/T - f(a) <= b, with b = 1
            worst = max(worst, float(np.max(furthest(data)[:, -1] / data.choices.values[-1])))
    words = "largest |C_T(a)/T - f(a)| after all choices of a rule with C_T(a)/T - f(a) ≤ 1 throughout"
    return Estimate(words, exactly(worst), results.size.seeds)


def worst_lead(results: Results, name: str) -> Estimate:
    """Find the largest C_T(a) - T f(a).

    Args:
        results: results of the experiment.
        name: name of the rule.

    Returns:
        The estimate.
    """
    words = f"largest C_T(a) - T f(a) of {name}, over all actions, T and f"
    return Estimate(words, exactly(float(results[name].data().lead.max())), results.size.seeds)


def worst_lag(results: Results, name: str) -> Estimate:
    """Find the largest T f(a) - C_T(a).

    Args:
        results: results of the experiment.
        name: name of the rule.

    Returns:
        The estimate.
    """
    words = f"largest T f(a) - C_T(a) of {name}, over all actions, T and f"
    return Estimate(words, exactly(float(-results[name].data().lag.min())), results.size.seeds)


def share_of_bound(results: Results, power: float) -> Estimate:
    """Compare |C_T(a) - T f(a)| with the theorem's bound, (|A| - 1)(b(T) + 1).

    Args:
        results: results of the experiment.
        power: p of b(T) = T^p.

    Returns:
        The estimate.
    """
    data = results[slack_name(power)].data()
    bound = (ACTIONS - 1) * (data.choices.values**power + 1)
    words = f"largest |C_T(a) - T f(a)| over its bound (|A| - 1)(T^{power:g} + 1), over all actions, T and f"
    return Estimate(words, exactly(float(np.max(furthest(data) / bound))), results.size.seeds)


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


def exit_frequency(results: Results, rule: str) -> Estimate:
    """Compute how often the exit is chosen where f is one half.

    Args:
        results: results of the experiment.
        rule: name of the rule.

    Returns:
        The estimate.
    """
    visits = results[outing_name(rule, SHOWN)].data().visits.values[0]
    words = f"frequency of the exit, {rule} on E-values, f = 1/2, the other action leads to a hub with {SHOWN} leaves"
    return Estimate(words, exactly(float(visits[EXIT] / visits.sum())), 1)


def distance_from_shares(results: Results, rule: str, variable: str) -> Estimate:
    """Compare shares of visits with f(a) k(a), normalised, or shares of generalized visits with f(a).

    Args:
        results: results of the experiment.
        rule: name of the rule.
        variable: `"visits"` or `"count"`; k(a) visits of an action are one generalized visit.

    Returns:
        The estimate.
    """
    worst = 0.0
    for leaves in leaves_of(rule):
        data = results[outing_name(rule, leaves)].data()
        weights = data.f.values * np.asarray([1, leaves if variable == "visits" else 1])
        found, expected = (each / each.sum(axis=1, keepdims=True) for each in (data[variable].values, weights))
        worst = max(worst, float(np.max(np.abs(found - expected))))
    words = "frequency and f(a) k(a) / Σ f k" if variable == "visits" else "c(a) / Σ c and f(a)"
    words = f"largest difference between {words}, {rule} on E-values, over k and f"
    return Estimate(words, exactly(worst), results.size.seeds)


PRINTED = "the condition as printed is enough: it holds for b = 1, and frequencies converge to f"
AT_MOST_ONE = "LLL and Deficit on visits never exceed T f(a) by more than 1"
WITH_E_VALUES = "with E-values actions are still chosen as often as f says"


def claims() -> list[Claim]:
    """Create the claims: the theorem, what the printed one allows, sampling, and E-values."""

    def by_rule(estimate: Any) -> dict[str, Any]:
        return {name: partial(estimate, rule=name) for name in DETERMINIZED}

    def mathematics(text: str, estimate: Any, **bounds: float) -> Claim:
        return Claim(text, estimate, **bounds, is_mathematics=True)

    return [
        mathematics(PRINTED, as_printed, below=0.05),
        mathematics(AT_MOST_ONE, {n: partial(worst_lead, name=n) for n in DETERMINIZED}, below=1.0 + ROUNDING),
        mathematics(
            f"LLL and Deficit on visits never fall short of T f(a) by more than |A| - 1 = {ACTIONS - 1}",
            {n: partial(worst_lag, name=n) for n in DETERMINIZED},
            below=ACTIONS - 1 + ROUNDING,
        ),
        mathematics(
            "with slack b(T) = T^p, p = 1/4 and 1/2, counts stay within (|A| - 1)(b(T) + 1) of T f(a)",
            {slack_name(p): partial(share_of_bound, power=p) for p in POWERS},
            below=1.0,
        ),
        Claim(
            "frequencies of sampling converge like 1/√T only", lambda r: exponent(r, "sampling"), above=-0.6, below=-0.4
        ),
        mathematics(WITH_E_VALUES, by_rule(exit_frequency), above=0.45, below=0.55),
        mathematics(
            "with E-values an action that needs k visits for a generalized one is chosen k times as often",
            by_rule(partial(distance_from_shares, variable="visits")),
            below=0.01,
        ),
        mathematics(
            "with E-values f is the share of generalized visits",
            by_rule(partial(distance_from_shares, variable="count")),
            below=0.01,
        ),
    ]


def draw(results: Results, figure: Figure) -> None:
    """Draw the distance between frequencies and f over T, and frequencies with E-values over the number of leaves."""
    figure.set_size_inches(11, 4)
    left, right = figure.subplots(1, 2, width_ratios=(1.35, 1))
    _draw_convergence(results, left)
    _draw_outings(results, right)


def _draw_convergence(results: Results, axes: Axes) -> None:
    choices = results["LLL"].data().choices.values
    at = np.unique(np.geomspace(1, len(choices), 200).astype(int)) - 1
    times = choices[at]
    styles: dict[str, Any] = {name: {"color": colour} for name, colour in zip(RULES, figures.COLOURS, strict=False)}
    styles |= {
        slack_name(p): {"color": shade, "linestyle": "--"} for p, shade in zip(POWERS, figures.palette(3), strict=False)
    }
    styles |= {SAME_ACTION: {"color": figures.COLOURS[7], "linestyle": "--"}}
    for name, style in styles.items():
        distance = furthest(results[name].data())[:, at] / times
        axes.plot(times, np.median(distance, axis=0), label=name, **style)
    axes.plot(times, ACTIONS / times, color="grey", linestyle=":", label="|A| / T")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("choices T")
    axes.set_ylabel("largest |C_T(a)/T − f(a)|, median over f")
    axes.set_title("on visits; dashed: the least balanced rule for a slack b", fontsize=10)
    figures.tidy(axes)
    axes.legend(frameon=False, fontsize=8, loc="lower left")


def _draw_outings(results: Results, axes: Axes) -> None:
    for rule, style, colour in zip(DETERMINIZED, ("o", "x"), figures.COLOURS, strict=False):
        visits = np.stack([results[outing_name(rule, k)].data().visits.values[0] for k in leaves_of(rule)])
        share = visits[:, EXIT] / visits.sum(axis=1)
        axes.plot(leaves_of(rule), share, style, color=colour, label=f"{rule} on E-values")
    on_visits = results[outing_name("LLL", SHOWN, "visits")].data().visits.values[0]
    axes.plot(SHOWN, on_visits[EXIT] / on_visits.sum(), "s", color=figures.COLOURS[6], label="LLL on visits")
    k = np.geomspace(LEAVES[0], LEAVES[-1], 100)
    axes.plot(k, 1 / (k + 1), color="grey", linewidth=1, label="1 / (k + 1)")
    axes.axhline(0.5, color="grey", linestyle=":", linewidth=1, label="f = 1/2")
    axes.set_xscale("log")
    axes.set_xticks(LEAVES, [str(k) for k in LEAVES])
    axes.minorticks_off()
    axes.set_ylim(0, 0.6)
    axes.set_xlabel("leaves k behind the other action")
    axes.set_ylabel("frequency of the exit")
    axes.set_title("a root with an exit and a hub, f = 1/2", fontsize=10)
    figures.tidy(axes)
    axes.legend(frameon=False, fontsize=8)


EXPERIMENT = Experiment(
    figure="theorem 3.1",
    title="Do determinized rules keep the action frequencies of stochastic rules?",
    paper="Every stochastic rule has deterministic equivalents, LLL and the deficit rule among them, that choose each "
    "action equally often in the limit.",
    notes="As printed, the theorem allows every action with C_T(a)/T − f(a) ≤ b(T), b sub-linear. This is too weak: "
    "b = 1 is sub-linear, and “always the same action” qualifies. The proof needs counts instead of frequencies. If a "
    "rule always chooses an action with C_T(a) − T f(a) ≤ b(T), b not falling and sub-linear, then no action is ever "
    "more than b(T) + 1 above T f(a); these differences sum to zero, so none is more than (|A| − 1)(b(T) + 1) below; "
    "divided by T, both bounds vanish. LLL and Deficit have b = 0. Left: one state, "
    f"{ACTIONS} actions, f drawn uniformly from all distributions, a new one for each seed; for b(T) = T^p, the rule "
    "that chooses the most over-chosen action it may. Right: with E-values the theorem is about generalized visits. "
    "Both rules still give each action its share f of *generalized* visits, and an action with k outcomes needs k "
    f"visits for one of them: with f = 1/2 and a hub of {SHOWN} leaves, the exit is chosen once for every {SHOWN} "
    "visits of the hub. So frequencies are not f, by design: this is what directs exploration. "
    f"γ_E = {E_DISCOUNT}, α = {LEARNING_RATE}. All settings are ours.",
    conditions=conditions,
    claims=claims(),
    draw=draw,
    order=25,
    finding=Finding(
        "Do determinized rules keep the frequencies of the stochastic rule?",
        [
            Answer(AT_MOST_ONE, "at most {} visits above T·f(a), so frequencies converge like 1/T", label="on visits"),
            Answer(
                WITH_E_VALUES,
                f"by design: {{}} for an exit beside a hub with {SHOWN} leaves, where f is 0.5",
                label="with E-values",
                case="LLL",
            ),
        ],
    ),
)
