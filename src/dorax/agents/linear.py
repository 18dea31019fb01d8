"""Agents with tile coding: Q and the counter's output are sums of the weights of active tiles."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array as JaxArray
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from dorax.agents.acting import chosen_action, scaled, single_view
from dorax.agents.explorers.making import check_vector_features, explorer_of_one
from dorax.agents.explorers.protocol import Explorer, Look, Visited
from dorax.agents.value_network import Inputs
from dorax.core.agents import as_rule, check_functional, check_optional_counter, check_rule
from dorax.core.arrays import Array
from dorax.core.bonuses import Bonus
from dorax.core.brief import call_of
from dorax.core.checks import InvalidInput, check_at_least, check_discount, check_finite, check_probability
from dorax.core.counters import ApproximableCounter, ApproximatedCounter
from dorax.core.rules import Rule
from dorax.core.targets import q_target
from dorax.engine.learner import Learner
from dorax.engine.protocols import Step, View
from dorax.envs.simulation import EnvSpec, FunctionalSimulation, check_vectors
from dorax.features.specs import Tiles
from dorax.features.tiles import TileCoder

_MOST_TILES = 2**27  # all weights are in one array
_EVERY = 32  # steps between updates of what counts beside the tiles


class LinearAgent(eqx.Module):
    """An agent with tile coding, for environments with vector observations. Numbers can be swept; see `dorax.train`.

    Q is learned by semi-gradient Q-learning. Step sizes are those of the prediction: each active tile takes an equal
    share.

    Args:
        rule: chooses actions: `Sample`, `LLL`, `Deficit`, `UCB` or a function like them; a policy alone
            (`Softmax`, `EpsilonGreedy`) is sampled from.
        counter: counts visits: `EValues` in one of its forms or `Visits`, in the tiles of Q, or as its `features` say:
            in tables (`HashedCodes`, `Prototypes`, `LearnedPrototypes`) or by networks that learn as those of a
            `ParallelAgent` do (`CountNetwork`, `RandomStart`); None for no counts.
        bonus: turns counts into reward, such as `InverseRootCount`; None for no bonus.
        features: the tiles of Q.
        learning_rate: step size of Q, from 0 to 1.
        discount: the paper's gamma.
        initial_scale: standard deviation of the initial weights of Q.
        initial_value: initial value of Q. With one that no return exceeds and a greedy rule,
            `Sample(EpsilonGreedy(0))`, this is optimistic Q-learning, which has to be told such a value.
        novelty_discount: if given, Q learns from the environment's reward alone, and the bonus has values of its own,
            which are learned with this discount by SARSA, with weights of their own; the agent acts on the sum. They
            start at the largest value that they can have, the bonus at a count of 1 divided by 1 - novelty_discount.
    """

    rule: Rule = eqx.field(converter=as_rule)
    counter: ApproximableCounter | None = None
    bonus: Bonus | None = None
    features: Tiles = eqx.field(default=Tiles(), static=True)
    learning_rate: Array = 0.1
    discount: Array = 0.99
    initial_scale: Array = 0.01
    initial_value: Array = 0.0
    novelty_discount: Array | None = None

    __repr__ = call_of

    def __check_init__(self) -> None:
        check_probability("learning_rate", self.learning_rate)  # a larger step overshoots, and diverges
        check_discount("discount", self.discount)
        check_at_least("initial_scale", self.initial_scale, 0)
        check_finite("initial_value", self.initial_value)
        check_rule(self.rule)
        check_optional_counter(self.rule, self.counter, self.bonus)
        check_vector_features("a LinearAgent", self.rule, self.counter, self.bonus, "counts in the tiles of Q")
        if self.novelty_discount is not None:
            check_discount("novelty_discount", self.novelty_discount)
            if self.bonus is None:
                raise InvalidInput("novelty_discount is given without a bonus; allowed: with one, or None")
        if not isinstance(self.features, Tiles):  # pyright: ignore[reportUnnecessaryIsInstance]  # from users
            raise InvalidInput(f"features is {self.features!r}; a LinearAgent supports Tiles")

    @property
    def is_heavy(self) -> bool:
        """Whether a step costs so much that lanes are not padded, as with features of the counter."""
        return getattr(self.counter, "features", None) is not None

    def check_env(self, env: Any) -> None:
        """Raise `InvalidInput` unless the environment is a functional one, or a list of them.

        Args:
            env: the environment.
        """
        check_functional("LinearAgent", env)

    def learner(self, spec: EnvSpec, memory: Any = None, *, steps: int = 0, seed: int = 0) -> Learner:
        """Return a learner of this agent.

        Args:
            spec: description of the environment.
            memory: what was learned; None for a new learner.
            steps: number of steps learned from so far.
            seed: seed of the learner's random numbers.
        """
        return Learner(self, spec, memory, steps=steps, seed=seed)

    def algorithm(self, env: FunctionalSimulation | EnvSpec) -> TileAlgorithm:
        """Return the algorithm of this agent for one environment.

        Args:
            env: the environment or its description.
        """
        check_vectors("LinearAgent", env)
        tiles = self.features
        low = env.low if tiles.low is None else tiles.low
        high = env.high if tiles.high is None else tiles.high
        assert low is not None
        assert high is not None
        coder = TileCoder(low, high, tiles.tiles, tiles.tilings)
        assert env.low is not None
        assert env.high is not None
        counter = None if self.counter is None else self.counter.approximated()
        if not self.is_heavy:
            return TileAlgorithm(self, counter, coder, env.low, env.high, env.actions)
        explorer = explorer_of_one(self.counter, self.bonus, Inputs(len(env.low)), env.actions, _EVERY)
        return TileAlgorithm(self, None, coder, env.low, env.high, env.actions, explorer)


class Described(NamedTuple):
    """Features of an observation if an explorer counts; otherwise they are the active tiles alone.

    Attributes:
        tiles: the active tiles.
        x: what the explorer sees.
        look: features of the explorer.
    """

    tiles: Int[JaxArray, "games tilings"]
    x: Float[JaxArray, "games dims"]
    look: Any


class Explored(NamedTuple):
    """Memory of an agent whose counts are by an explorer; otherwise it is the weights alone.

    Attributes:
        weights: weights of the tiles.
        explorer: what the explorer has learned.
    """

    weights: Float[JaxArray, "tiles actions parts"]
    explorer: Any


class TileAlgorithm(eqx.Module):
    """Algorithm of a `LinearAgent`, with one game. Its memory is an array of weights, tiles x actions x parts.

    The parts are Q, the counter if it counts in the tiles, and novelty if it has values of its own.

    Attributes:
        agent: the agent.
        counter: its counter in the form for function approximators; None without one, or if an explorer counts.
        coder: finds the active tiles of an observation.
        low: lowest observation.
        high: highest observation.
        actions: number of actions.
        explorer: what counts if the counter has features, or None.
        games: 1.
    """

    agent: LinearAgent
    counter: ApproximatedCounter | None
    coder: TileCoder
    low: tuple[float, ...] = eqx.field(static=True)
    high: tuple[float, ...] = eqx.field(static=True)
    actions: int = eqx.field(static=True)
    explorer: Explorer[Any] | None = None
    games: int = eqx.field(default=1, static=True)

    def __check_init__(self) -> None:
        coder = self.coder
        if coder.size > _MOST_TILES:
            size = f"{coder.size:.1e}" if coder.size < 1e300 else "countless"
            raise InvalidInput(
                f"{coder.tilings} tilings of {coder.tiles} tiles are {size} tiles; "
                f"allowed: up to {_MOST_TILES:.1e}, by fewer tiles a dimension"
            )

    @property
    def every(self) -> int | None:
        """Steps between updates of the explorer; Q learns from every step."""
        return None if self.explorer is None else _EVERY

    @property
    def sees_starts(self) -> bool:
        return self.explorer is not None

    @property
    def parameters(self) -> int:
        """Number of weights of each part."""
        return self.coder.size * self.actions

    def init(self, key: PRNGKeyArray) -> Any:
        agent, counter = self.agent, self.agent.counter
        noise = agent.initial_scale * jax.random.normal(key, (self.coder.size, self.actions))
        parts = [noise + agent.initial_value / self.coder.tilings]
        if self.counter is not None:
            parts.append(jnp.zeros_like(noise))
        if counter is not None and agent.bonus is not None and agent.novelty_discount is not None:
            rate = counter.approximated().rate()
            largest = jnp.asarray(agent.bonus(jnp.ones(()), rate)) / (1 - agent.novelty_discount)
            parts.append(jnp.full_like(noise, largest / self.coder.tilings))
        weights = jnp.stack(parts, axis=-1)
        return weights if self.explorer is None else Explored(weights, self.explorer.init(jax.random.fold_in(key, 1)))

    def view(self, memory: Any, observation: Float[JaxArray, "games dims"]) -> View:
        weights = memory if self.explorer is None else memory.weights
        tiles = self.coder.active(observation[0])
        sums = jnp.sum(weights.at[tiles].get(mode="promise_in_bounds"), axis=0)
        values = sums[:, 0]
        outputs = jnp.zeros_like(values) if self.counter is None else sums[:, 1]
        counts = outputs if self.counter is None else self.counter.count(outputs)
        novelty = None if self.agent.novelty_discount is None else sums[:, -1]
        view = single_view(tiles, values, counts, outputs, novelty)
        if self.explorer is None:
            return view
        x = scaled(observation, self.low, self.high)
        look = self.explorer.look(memory.explorer, x)
        assert look.counts is not None
        return view._replace(
            features=Described(view.features, x, look.features), counts=look.counts, outputs=look.counts
        )

    def act(self, view: View, steps: Int[JaxArray, ""], uniform: Float[JaxArray, " games"]) -> Int[JaxArray, " games"]:
        return chosen_action(self.agent.rule, view, steps, uniform)

    def observe(self, memory: Any, step: Step) -> tuple[Any, None, Any]:
        """Update the weights of the visited pair's active tiles, and count the visit."""
        if self.explorer is None:
            return self._learned(memory, step, step.features[0]), None, None
        seen, arrived = step.features, step.next_view
        visited = Visited(
            seen.x, seen.look, step.action, arrived.features.x, Look(arrived.features.look, arrived.counts),
            step.next_action, step.terminated, step.terminated | step.truncated,
            jnp.broadcast_to(step.is_start, (1,)), step.learns,
        )  # fmt: skip
        explorer, bonus, row = self.explorer.observe(memory.explorer, visited)
        bonus = None if self.agent.bonus is None else bonus[0]
        return Explored(self._learned(memory.weights, step, seen.tiles[0], bonus), explorer), None, row

    def update(self, memory: Explored, rows: Any, key: PRNGKeyArray, learns: Bool[JaxArray, ""]) -> Explored:
        """Let the explorer learn from the steps since the last update."""
        if self.explorer is None:
            raise NotImplementedError("a LinearAgent whose counts are in tiles learns from every step")
        return memory._replace(explorer=self.explorer.update(memory.explorer, rows, key, learns))

    def _learned(
        self,
        weights: Float[JaxArray, "tiles actions parts"],
        step: Step,
        tiles: Int[JaxArray, " tilings"],
        bonus: Float[JaxArray, ""] | None = None,
    ) -> Float[JaxArray, "tiles actions parts"]:
        """Update the weights of the visited pair's active tiles. The bonus, if given, is that of the explorer."""
        pair = weights.at[tiles, step.action[0]]
        now = jnp.sum(pair.get(mode="promise_in_bounds"), axis=0)
        values, outputs, terminated = step.next_view.values[0], step.next_view.outputs[0], step.terminated[0]
        target = q_target(step.reward[0], terminated, jnp.max(values), self.agent.discount)
        counter, changes = self.counter, []
        if counter is not None:
            error = counter.error(now[1], outputs[step.next_action[0]], terminated)
            changes = [counter.step * error]
            if self.agent.bonus is not None:
                # The bonus uses the count after this visit: before it, c may be 0 and the bonus infinite.
                bonus = jnp.asarray(self.agent.bonus(counter.visited_count(now[1], error), counter.rate()))
        if bonus is not None and step.next_view.novelty is None:
            target = target + bonus
        elif bonus is not None and step.next_view.novelty is not None:
            successor = step.next_view.novelty[0][step.next_action[0]]
            novelty = q_target(bonus, terminated, successor, self.agent.novelty_discount)
            changes.append(self.agent.learning_rate * (novelty - now[-1]))
        change = jnp.stack([self.agent.learning_rate * (target - now[0]), *changes])
        # A matrix product, so that XLA computes the share once per lane. It would recompute a plain division, and
        # everything that it depends on, for every tile.
        shares = jnp.eye(len(change)) / self.coder.tilings
        share = jnp.matmul(jnp.where(step.learns[0], change, 0.0), shares, precision="highest")
        return pair.add(share, mode="promise_in_bounds", unique_indices=True)
