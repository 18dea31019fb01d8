"""Agents that play many games in parallel."""

# JAX and Equinox: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, cast

import equinox as eqx
import jax.numpy as jnp

from dorax.agents.explorers.making import check_explorers, explorers_of
from dorax.agents.explorers.protocol import Explores
from dorax.agents.explorers.specs import RND, NovelD
from dorax.agents.parallel.algorithm import ParallelAlgorithm
from dorax.agents.value_network import Inputs
from dorax.core.agents import as_rule, check_no_spread, check_rule
from dorax.core.arrays import Array
from dorax.core.bonuses import Bonus
from dorax.core.brief import call_of
from dorax.core.checks import InvalidInput, check_at_least, check_discount, check_probability, check_whole, in_brief
from dorax.core.counters import SharedCounter
from dorax.core.rules import Rule
from dorax.engine.learner import Learner
from dorax.engine.returns import GameReturns
from dorax.envs.simulation import EnvSpec, FiniteSimulation, FunctionalSimulation
from dorax.mdps import MDP


class ParallelAgent(eqx.Module):
    """An agent with a network for Q that plays many games in parallel and learns from all of them.

    Q is learned without a target network, after Gallici et al. (2024): from λ-returns of short rollouts, with layer
    norm. With a replay, earlier rollouts are learned from again, with returns of the current values. All games share
    what tells them where to explore. Some of them play greedily, which keeps what the others found; reported returns
    are theirs. Numbers of the agent can be swept; see `dorax.train`.

    Args:
        rule: chooses the actions of the games that explore: `Sample`, `LLL`, `SampledLLL`, `Deficit`, `UCB` or a
            function like them; a policy alone (`Softmax`, `EpsilonGreedy`) is sampled from. Any of its numbers may be a
            `Spread` over the games.
        counter: counts visits: `EValues` or `Visits`, whose `features` say how states are told apart (`Table`,
            `HashedCodes`, `Prototypes`, `LearnedPrototypes`; by default a table for finite MDPs and prototypes for
            vectors) or which network predicts the counts (`CountNetwork`, `RandomStart`); None for no counts.
        bonus: turns counts into reward, such as `InverseRootCount`, or `RND` or `NovelD`, which need no counts; None
            for no bonus. Counter and bonus may be your own; see `dorax.agents.explorers.protocol`.
        novelty_discount: if given, the bonus has values of its own with this discount, which episode ends do not cut
            off; they are added to Q to act on, but not in games that play greedily.
        heads: if given, Q has so many heads that learn from the same steps, each with a random function of its own
            added (Osband et al., 2018). Every game that explores acts by one of them, greedy games by their mean.
        prior_scale: scale of these random functions.
        learning_rate: learning rate of Adam; a number or a schedule.
        discount: the paper's gamma.
        trace: λ of the returns that Q learns from, 0 for targets of one step.
        games: number of games.
        greedy_share: share of the games that play greedily.
        takes_turns: whether games in the same state choose one after the other, each counting as a visit for those
            behind it; see `dorax.core.turns`. Otherwise, and with `Sample`, which does not act by counts, every game
            chooses on its own.
        rollout: steps of each game between updates.
        replay: number of past steps to learn from again; None for no replay.
        replayed: steps that are replayed for each new one.
        epochs: passes over the steps of a rollout; each draws other steps from the replay.
        minibatches: parts of a rollout, one gradient step each.
        width: units per hidden layer.
        depth: number of hidden layers.
    """

    rule: Rule = eqx.field(converter=as_rule)
    counter: SharedCounter | Explores | None = None
    bonus: Bonus | RND | NovelD | Explores | None = None
    novelty_discount: Array | None = None
    heads: int | None = eqx.field(default=None, static=True)
    prior_scale: Array = 1.0
    learning_rate: Array = 5e-4
    discount: Array = 0.99
    trace: Array = 0.65
    games: int = eqx.field(default=64, static=True)
    greedy_share: float = eqx.field(default=0.25, static=True)
    takes_turns: bool = eqx.field(default=True, static=True)
    rollout: int = eqx.field(default=32, static=True)
    replay: int | None = eqx.field(default=None, static=True)
    replayed: int = eqx.field(default=1, static=True)
    epochs: int = eqx.field(default=2, static=True)
    minibatches: int = eqx.field(default=4, static=True)
    width: int = eqx.field(default=256, static=True)
    depth: int = eqx.field(default=2, static=True)

    __repr__ = call_of

    def __check_init__(self) -> None:
        check_at_least("learning_rate", self.learning_rate, 0)
        check_discount("discount", self.discount)
        check_probability("trace", self.trace)
        check_rule(self.rule, may_spread=True)
        for name, part in vars(self).items():
            if name != "rule":
                check_no_spread(name, part)
        check_explorers(self.rule, self.counter, self.bonus)
        if self.novelty_discount is not None:
            check_discount("novelty_discount", self.novelty_discount)
            if self.bonus is None:
                raise InvalidInput("novelty_discount is given without a bonus; allowed: with one, or None")
        for name in ("games", "rollout", "replayed", "epochs", "minibatches", "width", "depth"):
            check_whole(name, getattr(self, name))
        for name in ("heads", "replay"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name))
        check_at_least("prior_scale", self.prior_scale, 0)
        check_probability("greedy_share", self.greedy_share)
        if self.greedy_games >= self.games or (self.greedy_share > 0 and self.greedy_games == 0):
            raise InvalidInput(
                f"greedy_share is {self.greedy_share:g} of {self.games} games; allowed: a share with at least one game "
                "that plays greedily and one that explores, or 0"
            )
        if self.rollout % self.minibatches:
            raise InvalidInput(
                f"minibatches is {self.minibatches}; allowed: a divisor of the {self.rollout} steps of a rollout"
            )

    @property
    def greedy_games(self) -> int:
        """Number of games that play greedily."""
        return round(self.greedy_share * self.games)

    @property
    def is_heavy(self) -> bool:
        """True: a step costs so much that lanes and states are not padded."""
        return True

    def check_env(self, env: Any) -> None:
        """Raise `InvalidInput` unless the environment is a finite MDP or a functional one, or a list of them.

        Args:
            env: the environment.
        """
        for one in cast("list[Any]", env if isinstance(env, list) else [env]):
            if isinstance(one, type) or not (isinstance(one, MDP) or hasattr(one, "step_env")):
                raise InvalidInput(
                    f"the environment of a ParallelAgent is {in_brief(one)}; allowed: a finite MDP (dorax.mdps) or a "
                    "functional environment (dorax.envs, or any with gymnax's interface)"
                )

    def learner(self, spec: EnvSpec, memory: Any = None, *, steps: int = 0, seed: int = 0) -> Learner:
        """Return a learner of this agent. In one's own loop it plays a single game, which explores.

        Args:
            spec: description of the environment.
            memory: what was learned; None for a new learner.
            steps: number of steps learned from so far.
            seed: seed of the learner's random numbers.
        """
        return Learner(self, spec, memory, steps=steps, seed=seed)

    def return_probe(self, steps: int) -> GameReturns:
        """Make the probe that records returns of greedy and of exploring games.

        Args:
            steps: number of steps of the run.
        """
        return GameReturns.of(steps, self.greedy_games)

    def algorithm(self, env: FiniteSimulation | FunctionalSimulation | EnvSpec) -> ParallelAlgorithm:
        """Return the algorithm of this agent for one environment.

        Args:
            env: the environment, or its description for the single game of one's own loop.
        """
        if env.block % self.rollout:
            raise InvalidInput(f"rollout is {self.rollout}; allowed: a divisor of {env.block}")
        available = getattr(env, "available", None)
        states = None if available is None else available.shape[0]
        low, high = env.low or (), env.high or ()
        shape = getattr(env, "shape", None)
        inputs = Inputs(len(low), shape=shape) if states is None else Inputs(states, is_finite=True)
        plays_one = isinstance(env, EnvSpec)
        return ParallelAlgorithm(
            self, explorers_of(self.counter, self.bonus, inputs, env.actions, self.games),
            None if available is None else jnp.asarray(available), inputs, low, high, env.actions,
            1 if plays_one else self.games, 0 if plays_one else self.greedy_games,
        )  # fmt: skip
