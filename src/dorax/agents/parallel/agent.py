"""The agent of many games, and its algorithm in the engine."""

# JAX and Equinox: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array as JaxArray
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from dorax.agents.adam import adam_state, adam_step
from dorax.agents.parallel.counting import Tables, Visited, are_same, counted, counts_of
from dorax.agents.parallel.networks import ValueNetwork
from dorax.agents.parallel.targets import Rollout, lambda_returns
from dorax.core.agents import as_rule, check_bonus, check_functional, check_rule
from dorax.core.arrays import Array
from dorax.core.bonuses import Bonus
from dorax.core.checks import InvalidInput, check_at_least, check_discount, check_probability, check_whole
from dorax.core.counters import EValues, SharedCounter
from dorax.core.rules import LLL, UCB, Deficit, Rule
from dorax.core.schedules import at_step
from dorax.core.turns import actions_in_turns, greedy_actions
from dorax.engine.learner import Learner
from dorax.engine.protocols import Step, View
from dorax.engine.returns import GameReturns
from dorax.envs.simulation import EnvSpec, FiniteSimulation, FunctionalSimulation
from dorax.features.codes import Code, Encoder, encoder
from dorax.mdps import MDP


class ParallelAgent(eqx.Module):
    """An agent with a network for Q that plays many games in parallel and learns from all of them.

    Q is learned without replay and without a target network, after Gallici et al. (2024): from λ-returns of short
    rollouts, with layer norm. Counts are shared by all games and count every visit once. Some games play greedily, which
    keeps what the others found; reported returns are theirs. Numbers of the agent can be swept; see `dorax.train`.

    Args:
        rule: chooses the actions of the other games: `Sample`, `LLL`, `Deficit`, `UCB` or a function like them; a policy
            alone (`Softmax`, `EpsilonGreedy`) is sampled from.
        counter: counts visits: `EValues` or `Visits`, whose `features` say how states are told apart (`Table`,
            `HashedCodes`, `Prototypes`; by default a table for finite MDPs and prototypes for vectors); None for no
            counts.
        bonus: turns counts into reward, such as `InverseRootCount`; None for no bonus.
        novelty_discount: if given, the bonus has values of its own with this discount, which episode ends do not cut
            off; they are added to Q to act on, but not in games that play greedily.
        learning_rate: learning rate of Adam; a number or a schedule.
        discount: the paper's gamma.
        trace: λ of the returns that Q learns from, 0 for targets of one step.
        games: number of games.
        greedy_share: share of the games that play greedily.
        takes_turns: whether games in the same state choose one after the other, each counting as a visit for those
            behind it; see `dorax.core.turns`. Otherwise every game chooses on its own.
        rollout: steps of each game between updates.
        epochs: passes over the steps of a rollout.
        minibatches: parts of a rollout, one gradient step each.
        width: units per hidden layer.
        depth: number of hidden layers.
    """

    rule: Rule = eqx.field(converter=as_rule)
    counter: SharedCounter | None = None
    bonus: Bonus | None = None
    novelty_discount: Array | None = None
    learning_rate: Array = 5e-4
    discount: Array = 0.99
    trace: Array = 0.65
    games: int = eqx.field(default=64, static=True)
    greedy_share: float = eqx.field(default=0.25, static=True)
    takes_turns: bool = eqx.field(default=True, static=True)
    rollout: int = eqx.field(default=32, static=True)
    epochs: int = eqx.field(default=2, static=True)
    minibatches: int = eqx.field(default=4, static=True)
    width: int = eqx.field(default=256, static=True)
    depth: int = eqx.field(default=2, static=True)

    def __check_init__(self) -> None:
        check_at_least("learning_rate", self.learning_rate, 0)
        check_discount("discount", self.discount)
        check_probability("trace", self.trace)
        check_rule(self.rule)
        _check_counter(self.rule, self.counter, self.bonus)
        if self.novelty_discount is not None:
            check_discount("novelty_discount", self.novelty_discount)
            if self.bonus is None:
                raise InvalidInput("novelty_discount is given without a bonus; allowed: with one, or None")
        for name in ("games", "rollout", "epochs", "minibatches", "width", "depth"):
            check_whole(name, getattr(self, name))
        check_probability("greedy_share", self.greedy_share)
        if self.greedy_games >= self.games or (self.greedy_share > 0 and self.greedy_games == 0):
            raise InvalidInput(
                f"greedy_share is {self.greedy_share:g} of {self.games} games; allowed: a share that leaves at least one "
                "game that plays greedily and one that explores, or 0"
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
        first = cast("list[Any]", env)[0] if isinstance(env, list) and env else env
        if not isinstance(first, MDP):
            check_functional("ParallelAgent", env)

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
        return GameReturns.of(steps, self.games, self.greedy_games)

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
        codes = None if self.counter is None else encoder(self.counter.features, states, len(low))
        plays_one = isinstance(env, EnvSpec)
        return ParallelAlgorithm(
            self, codes, None if available is None else jnp.asarray(available), low, high, env.actions,
            1 if plays_one else self.games, 0 if plays_one else self.greedy_games,
        )  # fmt: skip


class Seen(NamedTuple):
    """Features of the games' observations.

    Attributes:
        x: input of the network.
        code: entries of the count tables; None without a counter.
    """

    x: Any
    code: Code | None


class Row(NamedTuple):
    """One step of all games, to learn Q from.

    Attributes:
        x: input of the network.
        action: action taken.
        rollout: what the targets of Q depend on.
        novelty: the same for the values of the bonus, if it has any.
        steps: number of steps learned from so far.
    """

    x: Any
    action: Int[JaxArray, " games"]
    rollout: Rollout
    novelty: Rollout | None
    steps: Int[JaxArray, ""]


class Memory(NamedTuple):
    """Memory of a `ParallelAgent`.

    Attributes:
        network: weights of Q.
        opt_state: state of its optimizer.
        counts: count tables; None without a counter.
        book: what the counter's encoder has learned.
    """

    network: Any
    opt_state: Any
    counts: Tables | None
    book: Any


class ParallelAlgorithm(eqx.Module):
    """Algorithm of a `ParallelAgent`.

    Attributes:
        agent: the agent.
        encoder: tells states apart for the counter; None without a counter.
        available: in a finite MDP, whether an action is available in a state.
        low: lowest observation of other environments.
        high: highest observation of other environments.
        actions: number of actions.
        games: number of games.
        greedy_games: number of games that play greedily, the first ones.
    """

    agent: ParallelAgent
    encoder: Encoder[Any] | None
    available: Bool[JaxArray, "states actions"] | None
    low: tuple[float, ...] = eqx.field(static=True)
    high: tuple[float, ...] = eqx.field(static=True)
    actions: int = eqx.field(static=True)
    games: int = eqx.field(static=True)
    greedy_games: int = eqx.field(static=True)

    @property
    def every(self) -> int:
        return self.agent.rollout

    def init(self, key: PRNGKeyArray) -> Memory:
        for_network, for_codes = jax.random.split(key)
        network = self._network.init(for_network)
        counts = book = None
        if self.encoder is not None:
            counts = jnp.zeros((self.encoder.tables, self.encoder.entries, self.actions))
            book = self.encoder.init(for_codes)
        return Memory(network, adam_state(network), counts, book)

    def view(self, memory: Memory, observation: Any) -> View:
        x = observation if self.available is not None else self._scaled(observation)
        outputs = self._network.apply(memory.network, x)
        values, novelty = outputs[:, : self.actions], None
        if self.available is not None:
            values = jnp.where(self.available[observation], values, -jnp.inf)
        if self.agent.novelty_discount is not None:
            novelty = outputs[:, self.actions :]
        if self.encoder is None or memory.counts is None:
            nothing = jnp.zeros_like(values)
            return View(Seen(x, None), values, nothing, nothing, novelty)
        code = self.encoder.encode(memory.book, x)
        counts = counts_of(memory.counts, code.entries)
        return View(Seen(x, code), values, counts, counts, novelty)

    def act(self, view: View, steps: Int[JaxArray, ""], uniform: Float[JaxArray, " games"]) -> Int[JaxArray, " games"]:
        rule, code = at_step(self.agent.rule, steps), view.features.code
        values = view.values if view.novelty is None else view.values + view.novelty
        is_greedy = jnp.arange(self.games) < self.greedy_games
        greedy = greedy_actions(view.values, uniform)
        if code is not None and self.agent.takes_turns and self.games > 1:
            same = are_same(code.entries)
            return actions_in_turns(rule, values, view.counts, steps, uniform, same, jnp.where(is_greedy, greedy, -1))
        chosen = jax.vmap(rule, in_axes=(0, 0, None, 0))(values, view.counts, steps, uniform)
        return jnp.where(is_greedy, greedy, chosen).astype(jnp.int32)

    def observe(self, memory: Memory, step: Step) -> tuple[Memory, None, Row]:
        """Count the visits, and return what Q will learn from."""
        seen, arrived, learns = step.features, step.next_view, step.learns
        bonus = jnp.zeros_like(step.reward)
        if self.encoder is not None and self.agent.counter is not None and memory.counts is not None:
            counter, codes = self.agent.counter, self.encoder
            successor = jnp.take_along_axis(arrived.counts, step.next_action[:, None], axis=1)[:, 0]
            successor = jnp.where(step.terminated, jnp.inf, successor)
            entries = codes.current(memory.book, seen.code)
            counts, count = counted(counter, memory.counts, Visited(entries, step.action, learns, successor))
            book = codes.visited(memory.book, arrived.features.code, arrived.features.x, learns | step.is_start)
            memory = memory._replace(counts=counts, book=book)
            if self.agent.bonus is not None:
                bonus = self.agent.bonus(count, counter.rate())
        is_over = step.terminated | step.truncated
        has_own_values = arrived.novelty is not None
        best = jnp.max(arrived.values, axis=1)
        taken = jnp.take_along_axis(arrived.values, step.next_action[:, None], axis=1)[:, 0]
        reward = step.reward if has_own_values else step.reward + bonus
        rollout = Rollout(reward, step.terminated, is_over, best, taken >= best, learns)
        novelty = None
        if arrived.novelty is not None:
            ahead = jnp.take_along_axis(arrived.novelty, step.next_action[:, None], axis=1)[:, 0]
            novelty = Rollout(bonus, jnp.zeros_like(is_over), is_over, ahead, jnp.ones_like(is_over), learns)
        return memory, None, Row(seen.x, step.action, rollout, novelty, step.steps)

    def update(self, memory: Memory, rows: Row, key: PRNGKeyArray, learns: Bool[JaxArray, ""]) -> Memory:
        """Learn Q from the rollout, and make room for counts."""
        agent = self.agent
        targets = [lambda_returns(rows.rollout, agent.discount, agent.trace)]
        if rows.novelty is not None:
            targets.append(lambda_returns(_without_ends(rows.novelty), agent.novelty_discount, agent.trace))
        batch = (rows.x, rows.action, jnp.stack(targets, axis=-1), rows.rollout.learns)
        batch = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), batch)
        size = batch[1].shape[0]
        keys = jax.random.split(key, agent.epochs)
        order = jax.vmap(lambda key: jax.random.permutation(key, size))(keys)
        rate = at_step(agent.learning_rate, rows.steps[-1])

        def learned(state: tuple[Any, Any], part: Int[JaxArray, " batch"]) -> tuple[tuple[Any, Any], None]:
            network, opt_state = state
            x, action, target, counts = jax.tree.map(lambda leaf: leaf[part], batch)
            grads = jax.grad(self._loss)(network, x, action, target, counts)
            return adam_step(network, grads, opt_state, rate, learns), None

        parts = order.reshape(agent.epochs * agent.minibatches, -1)
        state = memory.network, memory.opt_state
        network, opt_state = jax.lax.scan(learned, state, parts)[0]
        network, opt_state = jax.tree.map(lambda new, old: jnp.where(learns, new, old), (network, opt_state), state)
        counts, book = memory.counts, memory.book
        if self.encoder is not None and counts is not None:
            book, counts = self.encoder.tidied(book, counts, learns)
        return Memory(network, opt_state, counts, book)

    def _loss(self, network: Any, x: Any, action: Any, target: Any, counts: Any) -> Float[JaxArray, ""]:
        """Half the mean squared error of Q, and of the values of the bonus if it has any."""
        outputs = self._network.apply(network, x).reshape(len(action), -1, self.actions)
        taken = jnp.take_along_axis(outputs, action[:, None, None], axis=2)[..., 0]
        error = jnp.where(counts[:, None], taken - target, 0.0)
        return 0.5 * jnp.sum(error**2) / jnp.maximum(jnp.sum(counts), 1)

    @property
    def _network(self) -> ValueNetwork:
        inputs = len(self.low) if self.available is None else self.available.shape[0]
        outputs = self.actions * (1 if self.agent.novelty_discount is None else 2)
        return ValueNetwork(inputs, self.available is not None, outputs, self.agent.width, self.agent.depth)

    def _scaled(self, observation: Float[JaxArray, "games dims"]) -> Float[JaxArray, "games dims"]:
        """Scale bounded observations to [-1, 1]; unbounded ones are unchanged."""
        is_bounded = np.isfinite(self.low) & np.isfinite(self.high)
        low, high = np.where(is_bounded, self.low, -1.0), np.where(is_bounded, self.high, 1.0)
        return (observation - (low + high) / 2) / ((high - low) / 2)


def _without_ends(rows: Rollout) -> Rollout:
    """Let returns go on in the next episode: the state after the end of one is the start of the next."""
    following = jnp.concatenate([rows.next_value[1:], rows.next_value[-1:]])
    return rows._replace(
        is_over=jnp.zeros_like(rows.is_over), next_value=jnp.where(rows.is_over, following, rows.next_value)
    )


def _check_counter(rule: Any, counter: Any, bonus: Any) -> None:
    check_bonus(bonus)
    if counter is not None and not hasattr(counter, "after"):
        raise InvalidInput(f"counter is {counter!r}; allowed: Visits, EValues, None or a counter like them")
    if counter is None and bonus is not None:
        raise InvalidInput("bonus is given without a counter; allowed: a bonus with Visits or EValues")
    if counter is None and isinstance(rule, LLL | Deficit | UCB):
        name = type(rule).__name__
        raise InvalidInput(f"rule is {name} without a counter; allowed: {name} with Visits or EValues")
    if isinstance(counter, EValues) and (counter.form != "count" or counter.successor_rule != "sarsa"):
        raise InvalidInput(
            f"counter is EValues with form {counter.form!r} and successor_rule {counter.successor_rule!r}; "
            "counts of many games support 'count' and 'sarsa'"
        )
