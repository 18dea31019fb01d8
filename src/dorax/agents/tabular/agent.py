"""Tabular agents, and their algorithm in the engine."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any, NamedTuple, cast

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array as JaxArray
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from dorax.agents.acting import chosen_action
from dorax.agents.tabular.updates import Entry, NoveltyQLearning, QLearning, UpdateRule, Visit
from dorax.core.agents import as_rule, check_bonus, check_features, check_rule
from dorax.core.arrays import Array, namespace
from dorax.core.bonuses import Bonus
from dorax.core.brief import call_of
from dorax.core.checks import InvalidInput, check_discount, check_rate, in_brief
from dorax.core.counters import Counter, Visits
from dorax.core.methods import plain_method
from dorax.core.rules import Rule
from dorax.engine.probes import QError
from dorax.engine.protocols import Change, Step, View
from dorax.envs.simulation import EnvSpec, FiniteSimulation
from dorax.features.specs import Table
from dorax.mdps import MDP

VALUES = frozenset({"q", "novelty"})  # tables of values, -inf for unavailable actions


class Outcome(NamedTuple):
    """Outcome of one step.

    Attributes:
        reward: the environment's reward.
        terminated: whether the episode ended in a terminal state.
        best_value: highest value in the next state.
        successor_count: count of the successor pair.
        successor_novelty: novelty of the successor pair, if the update rule has a table of it.
    """

    reward: Array
    terminated: Array
    best_value: Array
    successor_count: Array
    successor_novelty: Array | None = None


class TabularAgent(eqx.Module):
    """An agent for finite MDPs. Its numbers can be swept; see `dorax.train`.

    Args:
        rule: chooses actions: `Sample`, `LLL`, `Deficit`, `UCB` or a function like them; a policy alone
            (`Softmax`, `EpsilonGreedy`) is sampled from.
        counter: counts visits, plain (`Visits`) or generalized (`EValues`).
        bonus: turns counts into reward, such as `InverseCount`; None for no bonus.
        update: turns targets into values: `QLearning`, `NoveltyQLearning`, `HoeffdingQLearning` or `DelayedQLearning`.
        learning_rate: the paper's alpha.
        discount: the paper's gamma.
    """

    rule: Rule = eqx.field(converter=as_rule)
    counter: Counter = Visits()
    bonus: Bonus | None = None
    update: UpdateRule = QLearning()
    learning_rate: Array = 0.5
    discount: Array = 0.9

    __repr__ = call_of

    def __check_init__(self) -> None:
        check_rate("learning_rate", self.learning_rate)
        check_discount("discount", self.discount)
        check_rule(self.rule)
        check_bonus(self.bonus)
        check_features("a TabularAgent", self.counter, "None or a Table", Table)
        if not (hasattr(self.counter, "next") and hasattr(self.counter, "successor")):
            raise InvalidInput(f"counter is {self.counter!r}; allowed: Visits, EValues or a counter like them")
        if getattr(self.counter, "form", "count") != "count":
            raise InvalidInput("the form of E-values is 'logistic'; tables support 'count'")
        if not hasattr(self.update, "updated"):
            raise InvalidInput(f"update is {self.update!r}; allowed: QLearning, DelayedQLearning or one like them")
        if isinstance(self.update, NoveltyQLearning) and self.bonus is None:
            raise InvalidInput(
                "update is NoveltyQLearning without a bonus; allowed: with one, such as InverseRootCount()"
            )

    def algorithm(self, env: FiniteSimulation | EnvSpec) -> TableAlgorithm:
        """Return the algorithm of this agent for one environment.

        Args:
            env: the environment or its description.
        """
        assert env.available is not None
        return TableAlgorithm(self, jnp.asarray(env.available))

    def check_env(self, env: Any) -> None:
        """Raise `InvalidInput` unless the environment is a finite MDP, a list of MDPs, or one with numbered states.

        Args:
            env: the environment.
        """
        for one in cast("list[Any]", env if isinstance(env, list) else [env]):
            has_states = getattr(getattr(one, "spec", None), "available", None) is not None
            if not isinstance(one, MDP) and not has_states:
                raise InvalidInput(
                    f"the environment of a TabularAgent is {in_brief(one)}; allowed: a finite MDP, see dorax.mdps "
                    "(mdps.from_gymnasium makes one of a Gymnasium environment with a transition table, and "
                    "dorax.envs.GymnasiumEnv(id) serves those with numbered states)"
                )

    def learner(self, spec: EnvSpec, memory: Any = None, *, steps: int = 0, seed: int = 0) -> Any:
        """Return a learner of this agent.

        Args:
            spec: description of the environment.
            memory: what was learned; None for a new learner.
            steps: number of steps learned from so far.
            seed: seed of the learner's random numbers.
        """
        from dorax.agents.tabular.learner import TabularLearner

        return TabularLearner.of(self, spec, memory, steps=steps, seed=seed)

    def error_probe(self, mdp: MDP, env: FiniteSimulation, until: float | None) -> QError:
        """Make the probe that records the error of Q. The numbers of the agent may be stacked.

        Args:
            mdp: the MDP.
            env: its simulation.
            until: fraction of the initial error at which a run ends; None for never.

        Returns:
            The probe.
        """
        discounts = np.unique(np.asarray(self.discount))
        if len(discounts) > 1:
            raise InvalidInput(
                f"discount is {discounts[0]:g} and {discounts[1]:g} in one call; allowed: one discount a call"
            )
        return QError.of(mdp, float(np.asarray(self.discount).flat[0]), env.available.shape[0], until)

    @plain_method
    def successor_count(self, values: Array, counts: Array, action: Array) -> Array:
        """Select the count of the successor pair, which the counter bootstraps from.

        Args:
            values: values of the actions of s'; -inf for unavailable actions.
            counts: counts of the actions of s'.
            action: action that will be taken in s'.

        Returns:
            The count.
        """
        xp = namespace(values)
        # Unavailable actions have count 0 in the table but are not unexplored.
        return self.counter.successor(xp.where(values > -xp.inf, counts, xp.inf), action)

    @plain_method
    def learned(
        self, entry: Entry, shared: Entry, count: Array, outcome: Outcome, steps: Array
    ) -> tuple[Entry, Entry, Array]:
        """Compute the update of the visited pair. The next action was chosen before, from the old values and counts.

        Args:
            entry: the pair's entries in the tables of the update rule.
            shared: numbers of the update rule that all pairs share.
            count: count of the pair.
            outcome: outcome of the step.
            steps: number of steps so far, including this one.

        Returns:
            The new entries, shared numbers and count.
        """
        xp = namespace(count, outcome.successor_count)
        successor_count = xp.where(outcome.terminated, xp.inf, outcome.successor_count)
        count = self.counter.next(count, successor_count, self.learning_rate)
        bonus = None if self.bonus is None else self.bonus(count, self.count_rate)
        visit = Visit(
            outcome.reward, outcome.terminated, outcome.best_value, outcome.successor_novelty, bonus,
            self.learning_rate, self.discount, steps,
        )  # fmt: skip
        entry, shared = self.update.updated(entry, shared, visit)
        return entry, shared, count

    def initial_entry(self) -> Entry:
        """Return the entries of a pair in the tables of the update rule, before its first visit."""
        if self.bonus is None:
            return self.update.initial_entry(self.discount, None)
        # An array if the agent's numbers are arrays.
        one = 1.0 + 0.0 * (self.discount + self.learning_rate)
        return self.update.initial_entry(self.discount, self.bonus(one, self.count_rate))

    @property
    def count_rate(self) -> Array:
        """The counter's own learning rate if it has one, else the agent's."""
        own = getattr(self.counter, "learning_rate", None)
        return self.learning_rate if own is None else own


class Tables(NamedTuple):
    """Memory of a tabular agent.

    Attributes:
        tables: tables of the update rule by name, states x actions; `q` is one of them.
        shared: numbers of the update rule that all pairs share.
        counts: counts, states x actions.
    """

    tables: dict[str, Float[JaxArray, "states actions"]]
    shared: dict[str, Float[JaxArray, ""]]
    counts: Float[JaxArray, "states actions"]


class TableAlgorithm(eqx.Module):
    """Algorithm of a `TabularAgent` in one MDP, with one game.

    Attributes:
        agent: the agent.
        available: whether an action is available in a state.
        games: 1.
        every: None, because it learns from every step.
    """

    agent: TabularAgent
    available: Bool[JaxArray, "states actions"]
    games: int = eqx.field(default=1, static=True)
    every: None = eqx.field(default=None, static=True)

    def init(self, key: PRNGKeyArray) -> Tables:
        """Return initial tables. Unavailable actions have value -inf."""
        del key
        entry = self.agent.initial_entry()
        tables = {name: jnp.full(self.available.shape, value, float) for name, value in entry.items()}
        for name in VALUES & tables.keys():
            tables[name] = jnp.where(self.available, tables[name], -jnp.inf)
        shared = {name: jnp.asarray(value, float) for name, value in self.agent.update.initial_shared().items()}
        return Tables(tables, shared, jnp.zeros(self.available.shape))

    def view(self, memory: Tables, observation: Int[JaxArray, " games"]) -> View:
        state = observation[0]
        counts = memory.counts[state][None]
        novelty = memory.tables["novelty"][state][None] if "novelty" in memory.tables else None
        return View(observation, memory.tables["q"][state][None], counts, counts, novelty)

    def act(self, view: View, steps: Int[JaxArray, ""], uniform: Float[JaxArray, " games"]) -> Int[JaxArray, " games"]:
        return chosen_action(self.agent.rule, view, steps, uniform)

    def observe(self, memory: Tables, step: Step) -> tuple[Tables, Change, None]:
        s, a, learns = step.features[0], step.action[0], step.learns[0]
        seen = step.next_view
        successor_count = self.agent.successor_count(seen.values[0], seen.counts[0], step.next_action[0])
        novelty = None if seen.novelty is None else seen.novelty[0][step.next_action[0]]
        outcome = Outcome(step.reward[0], step.terminated[0], jnp.max(seen.values[0]), successor_count, novelty)
        old = {name: table[s, a] for name, table in memory.tables.items()}
        new, shared, count = self.agent.learned(old, memory.shared, memory.counts[s, a], outcome, step.steps)
        new = {name: jnp.where(learns, new[name], old[name]) for name in old}
        tables = {name: table.at[s, a].set(new[name]) for name, table in memory.tables.items()}
        shared = {name: jnp.where(learns, shared[name], memory.shared[name]) for name in shared}
        counts = memory.counts.at[s, a].set(jnp.where(learns, count, memory.counts[s, a]))
        return Tables(tables, shared, counts), Change(old["q"][None], new["q"][None]), None

    def update(self, memory: Tables, rows: Any, key: PRNGKeyArray, learns: Bool[JaxArray, ""]) -> Tables:
        raise NotImplementedError("a TabularAgent learns from every step")
