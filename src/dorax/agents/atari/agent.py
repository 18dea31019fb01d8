"""Agents that learn from the screen: DQN with a rule, a counter and a bonus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import equinox as eqx

from dorax.agents.atari.density import DensityModel
from dorax.core.agents import as_rule, check_bonus, check_features, check_optional_counter, check_rule
from dorax.core.arrays import Array
from dorax.core.bonuses import ConstantBonus
from dorax.core.brief import call_of
from dorax.core.checks import InvalidInput, check_at_least, check_discount, check_whole, in_brief
from dorax.core.policies import EpsilonGreedy
from dorax.core.schedules import LinearSchedule
from dorax.envs.atari import Atari
from dorax.envs.simulation import EnvSpec

if TYPE_CHECKING:
    from dorax.agents.atari.algorithm import ScreenAlgorithm
    from dorax.agents.atari.learner import ScreenLearner


class AtariAgent(eqx.Module):
    """A DQN for Atari games, from the screen.

    The defaults are the authors', except for the learning rate and epsilon of Adam and the update interval of the
    target network, which are those of Rainbow (Hessel et al., 2018), the schedule of ε, and the actor. The paper's
    agent is

        AtariAgent(counter=EValues(0.99, form="logistic"), bonus=InverseRootLogE(0.05, floor=0.01))

    With many games in parallel, the network changes much more between two steps of a game than with a single game, so
    no policy would persist for long. Actions are therefore chosen by a copy of the network, the actor, which is
    updated every `actor_every` updates.

    Args:
        rule: chooses actions: `Sample`, `LLL`, `Deficit`, `UCB` or a function like them; a policy alone
            (`Softmax`, `EpsilonGreedy`) is sampled from.
        counter: what the bonus and the rule count by: `EValues` or `Visits`, learned by a second head of the network;
            `DensityModel`, pseudo-counts of frames; None for no counts.
        bonus: turns counts into reward; the sum is then clipped to ±1. None for no bonus. A `ConstantBonus` needs no
            counter and may follow a schedule.
        bonus_at: when the bonus is computed: at the `"visit"`, to be stored with the transition, or at every
            `"replay"`.
        learning_rate: learning rate of Adam.
        adam_epsilon: epsilon of Adam.
        discount: the paper's gamma.
        clip: threshold at which squared errors and the norm of gradients are clipped.
        batch: transitions per update.
        update_every: steps between updates, all games together.
        target_every: updates between copies to the target network.
        actor_every: updates between copies to the actor.
        capacity: steps in the replay.
        learning_starts: steps before the first update.
        hidden: units in the hidden layer of each head.
        games: number of games played in parallel.
        groups: number of groups of games that take turns: the emulator steps one while the device acts for another.
    """

    rule: Any = eqx.field(default=EpsilonGreedy(LinearSchedule(1.0, 0.1, 500_000)), converter=as_rule)
    counter: Any = None
    bonus: Any = None
    bonus_at: Literal["visit", "replay"] = eqx.field(default="visit", static=True)
    learning_rate: Array = 6.25e-5
    adam_epsilon: Array = 1.5e-4
    discount: Array = 0.99
    clip: Array = 10.0
    batch: int = eqx.field(default=32, static=True)
    update_every: int = eqx.field(default=4, static=True)
    target_every: int = eqx.field(default=2_000, static=True)
    actor_every: int = eqx.field(default=2_500, static=True)
    capacity: int = eqx.field(default=1_000_000, static=True)
    learning_starts: int = eqx.field(default=50_000, static=True)
    hidden: int = eqx.field(default=256, static=True)
    games: int = eqx.field(default=128, static=True)
    groups: int = eqx.field(default=2, static=True)

    __repr__ = call_of

    def __check_init__(self) -> None:
        check_rule(self.rule)
        self._check_counter()
        check_features("an AtariAgent", self.counter, "None: counts have a head of the network")
        if self.bonus_at not in ("visit", "replay"):
            raise InvalidInput(f"bonus_at is {self.bonus_at!r}; allowed: 'visit', 'replay'")
        for name in ("learning_rate", "adam_epsilon", "clip"):
            check_at_least(name, getattr(self, name), 0)
        check_discount("discount", self.discount)
        for name in _WHOLE:
            check_whole(name, getattr(self, name))
        if self.capacity < self.learning_starts:
            raise InvalidInput(
                f"capacity is {self.capacity}; allowed: {self.learning_starts} (learning_starts) or more"
            )
        if self.capacity < 8 * self.games:
            raise InvalidInput(f"capacity is {self.capacity}; allowed: at least 8 steps of {self.games} games")
        if self.games % self.groups:
            raise InvalidInput(f"games is {self.games}; allowed: a multiple of groups, {self.groups}")
        turn = self.games // self.groups
        if turn % self.update_every and self.update_every % turn:
            raise InvalidInput(
                f"update_every is {self.update_every}; allowed: a divisor or a multiple of games / groups, {turn}"
            )

    def _check_counter(self) -> None:
        is_density = isinstance(self.counter, DensityModel)
        if isinstance(self.bonus, ConstantBonus):
            check_bonus(self.bonus, may_change=True)
            check_optional_counter(self.rule, None if is_density else self.counter, None)
        elif is_density:
            check_bonus(self.bonus)
            check_optional_counter(self.rule, None, None)  # no rule can use it: it counts frames, not actions
        else:
            check_optional_counter(self.rule, self.counter, self.bonus)
        if is_density and self.bonus_at == "replay":
            raise InvalidInput("bonus_at is 'replay' with a density model; a density model supports 'visit'")

    def check_env(self, env: Any) -> None:
        """Raise `InvalidInput` unless the environment is an Atari game.

        Args:
            env: the environment.
        """
        if not isinstance(env, Atari):
            raise InvalidInput(
                f"the environment of an AtariAgent is {in_brief(env)}; allowed: dorax.envs.Atari('freeway') or another"
            )

    def algorithm(self, env: EnvSpec) -> ScreenAlgorithm:
        """Return the algorithm of this agent for one game.

        Args:
            env: description of the game.
        """
        from dorax.agents.atari.algorithm import ScreenAlgorithm

        if self.counter is None or isinstance(self.counter, DensityModel):
            return ScreenAlgorithm(self, None, env.actions)
        return ScreenAlgorithm(self, self.counter.approximated(), env.actions)

    def learner(self, spec: EnvSpec, memory: Any = None, *, steps: int = 0, seed: int = 0) -> ScreenLearner:
        """Return a learner of this agent.

        Args:
            spec: description of the game.
            memory: what was learned; None for a new learner.
            steps: number of steps learned from so far.
            seed: seed of the learner's random numbers.
        """
        from dorax.agents.atari.learner import ScreenLearner

        return ScreenLearner(self, spec, memory, steps=steps, seed=seed)


_WHOLE = (
    "batch", "update_every", "target_every", "actor_every", "capacity", "learning_starts", "hidden", "games", "groups",
)  # fmt: skip
