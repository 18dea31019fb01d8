"""Beyond the paper: worlds in which moves or rewards are random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from dorax.experiments._random_worlds import LOST, ValueRun, World, worlds
from dorax.experiments._random_worlds_agents import explorers
from dorax.study import figures
from dorax.study.claims import Claim, Estimate, Estimator
from dorax.study.experiment import Answer, Condition, Experiment, Finding, Size, Table
from dorax.study.measures import area_under_curve
from dorax.study.results import LeftOut, Results
from dorax.study.statistics import Floats, Interval, mean, mean_of_differences

LIMITS = {"epsilon": (1.0,)}
QUICK_WORLDS = ("river swim", "noisy deep sea")
QUICK_AGENTS = ("ε-greedy", "LLL softmax, visits", "LLL softmax, E-values", "optimistic Q-learning")

NOISY = "noisy deep sea"
NOISY_RATES = (0.1, 0.5)
NOISY_STEPS = 100_000  # 10 000 episodes, as in bsuite
NOISY_TEMPERATURE = 0.1

WORLDS = (
    "river swim",
    "noisy deep sea",
    "four rooms",
    "FrozenLake 4×4",
    "FrozenLake 8×8",
    "Taxi in the rain",
)


def name_of(agent: str, world: str) -> str:
    """Return the name of a condition.

    Args:
        agent: name of the agent.
        world: name of the world.

    Returns:
        The name.
    """
    return f"{agent}, {world}"


def conditions(size: Size) -> Sequence[Condition]:
    """One condition per world and agent, and two learning rates on the noisy deep sea, which are not fitted."""
    found: list[Condition] = []
    for world in worlds():
        if not size.is_full and world.name not in QUICK_WORLDS:
            continue
        steps = size.of(world.steps, least=200)
        for name, each in explorers(world).items():
            if size.is_full or name in QUICK_AGENTS:
                run = ValueRun(each.agent, world.mdp, world.ends, steps)
                found.append(Condition(name_of(name, world.name), run, each.settings, LIMITS, LOST))
        if world.name == NOISY:
            agent = explorers(world)["LLL softmax, E-values"].agent
            run = ValueRun(agent, world.mdp, world.ends, size.of(NOISY_STEPS, least=200))
            for rate in NOISY_RATES:
                setting = {"learning_rate": rate, "counter.learning_rate": rate, "temperature": NOISY_TEMPERATURE}
                found.append(Condition(at_rate(rate), run, [setting], measure=LOST))
    return found


def at_rate(rate: float) -> str:
    """Return the name of the condition with a fixed learning rate on the noisy deep sea.

    Args:
        rate: learning rate of Q and of E.

    Returns:
        The name.
    """
    return f"LLL softmax, E-values, α = {rate:g}, {NOISY}"


def lost_by(results: Results, agent: str, world: str) -> Floats:
    """Compute the share of the optimal value that an agent's greedy policy loses, on average over training.

    Args:
        results: results of the experiment.
        agent: name of the agent.
        world: name of the world.

    Returns:
        One value per seed.
    """
    return area_under_curve(results[name_of(agent, world)].data("step"), "step", LOST)


def loses_less(text: str, better: str, worse: str) -> Claim:
    """Claim that one agent loses less value than another, on average over the worlds.

    Args:
        text: the claim in words.
        better: name of the agent that loses less.
        worse: name of the agent that loses more.

    Returns:
        The claim.
    """
    return Claim(text, _less_lost(better, worse), above=0.0)


def _less_lost(better: str, worse: str, only: str | None = None) -> Estimator:
    """Estimate how much less of the optimal value an agent loses, in one world or on average over all that were run."""

    def estimate(results: Results) -> Estimate:
        chosen = [world for world in _worlds_of(results) if only in (None, world)]
        if not chosen:
            raise LeftOut(only)
        pairs = [(lost_by(results, worse, world), lost_by(results, better, world)) for world in chosen]
        where = only or f"mean over {len(chosen)} worlds"
        words = f"share of the optimal value lost over training, {worse} minus {better} ({where})"
        return Estimate(words, mean_of_differences(pairs), len(pairs[0][0]))

    return estimate


def _worlds_of(results: Results) -> list[str]:
    return [world for world in WORLDS if name_of(QUICK_AGENTS[0], world) in results.conditions]


def _quarters(results: Results, rate: float) -> tuple[Floats, Floats]:
    """Return the mean shares of the optimal value in the first and in the last quarter of a run, start excluded."""
    share = results[at_rate(rate)].data("step").share.values[:, 1:]
    quarter = max(share.shape[1] // 4, 1)
    return share[:, :quarter].mean(axis=1), share[:, -quarter:].mean(axis=1)


def _lost_again(results: Results) -> Estimate:
    first, last = _quarters(results, NOISY_RATES[1])
    words = "share of the optimal value that the greedy policy has, first minus last quarter of the steps"
    return Estimate(words, mean(first - last), len(first))


def _kept(results: Results) -> Estimate:
    last = _quarters(results, NOISY_RATES[0])[1]
    return Estimate(
        "share of the optimal value that the greedy policy has in the last quarter of the steps", mean(last), len(last)
    )


def draw(results: Results, figure: Figure) -> None:
    """Draw one panel per world: the share of the optimal value that each agent's greedy policy loses, by step."""
    shown = _worlds_of(results)
    figure.set_size_inches(11, 6.8 if len(shown) > 3 else 3.8)
    panels = figure.subplots(-(-len(shown) // 3), min(len(shown), 3), squeeze=False, sharey=True)
    for panel, world in zip(panels.flat, [each for each in worlds() if each.name in shown], strict=True):
        for agent, each in explorers(world).items():
            name = name_of(agent, world.name)
            if name in results.conditions:
                data = results[name].data("step")
                lost = LOST.curve(data).values.T
                figures.draw_band(
                    panel, data.record_step.values[0], lost, figures.mean_over_seeds, label=agent, **each.line
                )
        panel.set_title(world.name, loc="left", fontsize=10)
        panel.set_xlabel("steps")
        figures.tidy(panel)
    for row in panels:
        row[0].set_ylabel("share of the optimal value lost")
    figures.legend_below(figure, panels[0][0], columns=5)


def tables(results: Results) -> list[Table]:
    """Create one table per world, with the fitted settings, and one over all worlds."""
    shown = [world for world in worlds() if world.name in _worlds_of(results)]
    agents = [agent for agent in explorers(shown[0]) if name_of(agent, shown[0].name) in results.conditions]
    over_all = Table(
        "share of the optimal value lost, on average over training (0: optimal, 1: no better than random actions)",
        ["agent", *(world.name for world in shown), "mean"],
        [
            [agent, *(f"{lost.mean():.2f}" for lost in losses), f"{np.mean(losses):.2f}"]
            for agent in agents
            for losses in [[lost_by(results, agent, world.name) for world in shown]]
        ],
    )
    return [over_all, *(_table(results, world, agents) for world in shown)]


def _table(results: Results, world: World, agents: Sequence[str]) -> Table:
    rows: list[list[str]] = []
    for agent in agents:
        result = results[name_of(agent, world.name)]
        setting = dict(result.choices["step"].setting)
        rate, e_rate = (setting.pop(name, None) for name in ("learning_rate", "counter.learning_rate"))
        final = result.data("step").share.values[:, -1]
        rows.append(
            [
                agent,
                "–" if rate is None else f"{rate:g}",
                "–" if e_rate is None else f"{e_rate:g}",
                ", ".join(f"{name} = {value:.3g}" for name, value in setting.items()),
                _in_words(mean(lost_by(results, agent, world.name))),
                _in_words(mean(final)),
            ]
        )
    return Table(
        f"{world.name}: fitted settings, and shares of the optimal value (γ = {world.discount:g}, "
        f"{results.size.of(world.steps, least=200)} steps)",
        ["agent", "α", "α_E", "exploration", "lost over training", "reached at the end"],
        rows,
    )


def _in_words(interval: Interval) -> str:
    return f"{interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


BEST = "LLL softmax, E-values"
AGAINST_VISITS = "over random worlds, E-values lose less of the optimal value than visits"
OVER_WORLDS = "over random worlds, LLL softmax on E-values loses less of the optimal value"
AGAINST_OPTIMISM = f"{OVER_WORLDS} than optimistic Q-learning"
AGAINST_UCB_H = f"{OVER_WORLDS} than UCB-H"

EXPERIMENT = Experiment(
    figure="beyond the paper",
    title="Random worlds: which exploration loses least of the optimal value?",
    paper="All worlds of the paper are deterministic.",
    notes="The worlds are river swim (γ = 0.95, 5000 steps), bsuite's stochastic deep sea of ten rows (0.99, 20 000), "
    "four rooms in which a third of the moves slip to a side (0.95, 30 000), Gymnasium's FrozenLake 4×4 and 8×8 "
    "(0.99, 20 000 and 50 000) and Taxi in the rain (0.95, 30 000); γ_E = γ. Steps and discounts are our "
    "choice. Rewards are random in the deep sea only; bsuite's normal noise is replaced by +1 or −1 with equal "
    "probability. Returns of training episodes are noisy, so agents are judged by the exact value of their "
    "greedy policy from the start of an episode, at the start and at 20 evenly spaced moments, on a scale where "
    "random actions have 0 and the optimal policy has 1. What is lost is one minus this share, at most 1; its "
    "average over training is what settings are fitted by and what is judged. Time is counted in steps alone, "
    "which is fairer where episodes differ in length. Every agent is fitted on 16 settings: four learning rates "
    "α times four values of its own number. Agents with E-values have a third number, the learning rate α_E, in "
    "a Latin square of 16 of the 64 combinations. UCB-H has a learning rate of its own, which falls with the "
    "visits; its horizon is fitted in place of α. Temperatures, scales, bonuses and initial values are "
    "multiples of the world's largest optimal value, so all agents are told the size of values; optimistic "
    "Q-learning and UCB-H start from it, and UCB-H is told the horizon as well. In Taxi every step costs 1, so "
    "a start at 0 is optimistic for all agents. The two conditions with fixed learning rates (α_E = α, "
    "temperature 0.1) run for 100 000 steps. With another grid of the same size (α up to 0.9, α_E from 0.1 to 0.9) the "
    "sign of the difference to optimistic Q-learning and to the count bonus changed, and the one in Taxi vanished: "
    "these are as good as equal to LLL softmax on E-values. The other verdicts stayed.",
    conditions=conditions,
    claims=[
        Claim(
            AGAINST_VISITS,
            {rule: _less_lost(f"{rule}, E-values", f"{rule}, visits") for rule in ("LLL softmax", "UCB")},
            above=0.0,
        ),
        Claim(
            "in each world, LLL softmax loses less of the optimal value on E-values than on visits",
            {world: _less_lost(BEST, "LLL softmax, visits", world) for world in WORLDS},
            above=0.0,
        ),
        loses_less(f"{OVER_WORLDS} than ε-greedy", BEST, "ε-greedy"),
        loses_less(AGAINST_OPTIMISM, BEST, "optimistic Q-learning"),
        loses_less(f"{OVER_WORLDS} than a count bonus with values of its own", BEST, "count bonus with its own values"),
        loses_less(AGAINST_UCB_H, BEST, "UCB-H"),
        Claim(f"with noisy rewards, a learning rate of {NOISY_RATES[1]:g} loses what it found", _lost_again, above=0.0),
        Claim(f"with noisy rewards, a learning rate of {NOISY_RATES[0]:g} keeps what it found", _kept, above=0.9),
    ],
    draw=draw,
    order=65,
    finding=Finding(
        "In worlds with random moves or rewards, does exploration by E-values lose less of the optimal value?",
        [
            Answer(AGAINST_VISITS, "{} of it, averaged over training", label="than by visits", case="LLL softmax"),
            Answer(AGAINST_OPTIMISM, "{} of it", label="than optimistic Q-learning"),
            Answer(AGAINST_UCB_H, "{} of it", label="than UCB-H"),
        ],
    ),
    size=Size(seeds=64, tuning_seeds=8),
    tables=tables,
)
