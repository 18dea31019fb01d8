"""Agents with two small networks, one for Q and one for the counter."""

# JAX, Equinox and Optax: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array as JaxArray
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from dorax.agents import losses
from dorax.agents.acting import chosen_action, scaled, single_view
from dorax.agents.adam import adam_state, adam_step
from dorax.agents.deep.networks import Network
from dorax.agents.deep.replay import Replay, Transition, added, empty, sample
from dorax.agents.deep.rnd import RNDMemory, Visit, new_memory, trained, visited
from dorax.agents.explorers.making import check_vector_features, explorer_of_one
from dorax.agents.explorers.protocol import Explorer, Look, Visited
from dorax.agents.explorers.specs import RND
from dorax.agents.value_network import Inputs
from dorax.core.agents import as_rule, check_functional, check_optional_counter, check_rule
from dorax.core.arrays import Array
from dorax.core.bonuses import Bonus
from dorax.core.brief import call_of
from dorax.core.checks import InvalidInput, check_at_least, check_discount, check_whole, check_whole_number
from dorax.core.counters import ApproximableCounter, ApproximatedCounter
from dorax.core.rules import Rule
from dorax.core.targets import q_target
from dorax.engine.learner import Learner
from dorax.engine.protocols import Step, View
from dorax.envs.simulation import EnvSpec, FunctionalSimulation, check_vectors

_Tree = TypeVar("_Tree")


class DeepAgent(eqx.Module):
    """An agent with separate networks for Q and the counter, for environments with vector observations.

    Q is learned from replay by Adam, with a target network. Numbers of the agent can be swept; see `dorax.train`.

    Args:
        rule: chooses actions: `Sample`, `LLL`, `Deficit`, `UCB` or a function like them; a policy alone
            (`Softmax`, `EpsilonGreedy`) is sampled from.
        counter: counts visits: `EValues` in one of its forms or `Visits`, by a network of their own, or as its
            `features` say: in tables (`HashedCodes`, `Prototypes`, `LearnedPrototypes`) or by networks that learn as
            those of a `ParallelAgent` do (`CountNetwork`, `RandomStart`); None for no counts.
        bonus: turns counts into reward, such as `InverseRootCount`, or an `RND`, which needs no counts; None for no
            bonus. It is computed when the transition is collected and stored with it.
        learning_rate: learning rate of Adam, for Q.
        discount: the paper's gamma.
        counts_from: what the counter's network learns from. `"visits"`: from each step once, by an update that
            changes the output by `step_size` times its error. `"replay"`: by Adam with the learning rate of Q, where
            `step_size` has no effect. With `features` of the counter it is always from visits.
        width: units per hidden layer.
        depth: number of hidden layers.
        batch: transitions per update.
        capacity: transitions in the replay.
        update_every: steps between updates.
        target_every: updates between copies to the target network.
    """

    rule: Rule = eqx.field(converter=as_rule)
    counter: ApproximableCounter | None = None
    bonus: Bonus | RND | None = None
    learning_rate: Array = 1e-3
    discount: Array = 0.99
    counts_from: Literal["visits", "replay"] = eqx.field(default="visits", static=True)
    width: int = eqx.field(default=64, static=True)
    depth: int = eqx.field(default=2, static=True)
    batch: int = eqx.field(default=32, static=True)
    capacity: int = eqx.field(default=50_000, static=True)
    update_every: int = eqx.field(default=4, static=True)
    target_every: Array = 250

    __repr__ = call_of

    def __check_init__(self) -> None:
        check_at_least("learning_rate", self.learning_rate, 0)
        check_discount("discount", self.discount)
        check_rule(self.rule)
        check_optional_counter(self.rule, self.counter, None if isinstance(self.bonus, RND) else self.bonus)
        check_vector_features("a DeepAgent", self.rule, self.counter, self.bonus, "counts by a network of its own")
        if getattr(self.counter, "features", None) is not None and self.counts_from != "visits":
            raise InvalidInput(f"counts_from is {self.counts_from!r}; allowed: 'visits' with features of the counter")
        if self.counts_from not in ("visits", "replay"):
            raise InvalidInput(f"counts_from is {self.counts_from!r}; allowed: 'visits', 'replay'")
        for name in ("width", "depth", "batch", "capacity", "update_every"):
            check_whole(name, getattr(self, name))
        check_whole_number("target_every", self.target_every)

    @property
    def is_heavy(self) -> bool:
        """Whether a step costs so much that lanes are not padded, as with features of the counter."""
        return getattr(self.counter, "features", None) is not None

    def check_env(self, env: Any) -> None:
        """Raise `InvalidInput` unless the environment is a functional one, or a list of them.

        Args:
            env: the environment.
        """
        check_functional("DeepAgent", env)

    def learner(self, spec: EnvSpec, memory: Any = None, *, steps: int = 0, seed: int = 0) -> Learner:
        """Return a learner of this agent.

        Args:
            spec: description of the environment.
            memory: what was learned; None for a new learner.
            steps: number of steps learned from so far.
            seed: seed of the learner's random numbers.
        """
        return Learner(self, spec, memory, steps=steps, seed=seed)

    def algorithm(self, env: FunctionalSimulation | EnvSpec) -> NetworkAlgorithm:
        """Return the algorithm of this agent for one environment.

        Args:
            env: the environment or its description.
        """
        check_vectors("DeepAgent", env)
        if env.block % self.update_every:
            raise InvalidInput(f"update_every is {self.update_every}; allowed: a divisor of {env.block}")
        assert env.low is not None
        assert env.high is not None
        if getattr(self.counter, "features", None) is None:
            counter = None if self.counter is None else self.counter.approximated()
            return NetworkAlgorithm(self, counter, env.low, env.high, env.actions)
        bonus = None if isinstance(self.bonus, RND) else self.bonus
        explorer = explorer_of_one(self.counter, bonus, Inputs(len(env.low)), env.actions, self.update_every)
        return NetworkAlgorithm(self, None, env.low, env.high, env.actions, explorer)


class TrainState(NamedTuple):
    """Weights and optimizer states of both networks.

    Attributes:
        q: weights of Q.
        q_target: weights of Q's target network.
        q_opt_state: state of Q's optimizer.
        counter: weights of the counter's network.
        counter_target: weights of its target network.
        counter_opt_state: state of its optimizer.
        updates: number of updates so far.
    """

    q: Any
    q_target: Any
    q_opt_state: Any
    counter: Any
    counter_target: Any
    counter_opt_state: Any
    updates: Int[JaxArray, ""]


class Described(NamedTuple):
    """Features of an observation if an explorer counts; otherwise they are the input of the networks alone.

    Attributes:
        x: input of the networks.
        look: features of the explorer.
    """

    x: Float[JaxArray, "games dims"]
    look: Any


class Row(NamedTuple):
    """What a step leaves to learn from.

    Attributes:
        rnd: row of an `RND`, or None.
        explorer: row of the explorer, or None.
    """

    rnd: Visit | None
    explorer: Any


class Memory(NamedTuple):
    """Memory of a `DeepAgent`.

    Attributes:
        networks: weights and optimizer states.
        replay: past transitions.
        rnd: what the bonus has learned, if it is an `RND`.
        explorer: what the explorer has learned, if there is one.
    """

    networks: TrainState
    replay: Replay
    rnd: RNDMemory | None = None
    explorer: Any = None


class NetworkAlgorithm(eqx.Module):
    """Algorithm of a `DeepAgent`, with one game.

    Attributes:
        agent: the agent.
        counter: its counter in the form for function approximators; None without one, or if an explorer counts.
        low: lowest observation.
        high: highest observation.
        actions: number of actions.
        explorer: what counts if the counter has features, or None.
        games: 1.
    """

    agent: DeepAgent
    counter: ApproximatedCounter | None
    low: tuple[float, ...] = eqx.field(static=True)
    high: tuple[float, ...] = eqx.field(static=True)
    actions: int = eqx.field(static=True)
    explorer: Explorer[Any] | None = None
    games: int = eqx.field(default=1, static=True)

    @property
    def every(self) -> int:
        return self.agent.update_every

    @property
    def sees_starts(self) -> bool:
        return self.explorer is not None

    @property
    def parameters(self) -> int:
        """Number of weights of each of the two networks."""
        return self._network.parameters

    def init(self, key: PRNGKeyArray) -> Memory:
        q, counter = self._network.draw(key, 2)
        counter = _zero_last_layer(counter)
        zero = jnp.zeros((), jnp.int32)
        nothing = Transition(jnp.zeros(len(self.low)), zero, jnp.zeros(()), zero > 0, jnp.zeros(len(self.low)), zero)
        networks = TrainState(q, q, adam_state(q), counter, counter, adam_state(counter), zero)
        rnd = None if self._rnd is None else new_memory(self._rnd, len(self.low), jax.random.fold_in(key, 1))
        explorer = None if self.explorer is None else self.explorer.init(jax.random.fold_in(key, 2))
        return Memory(networks, empty(nothing, self.agent.capacity), rnd, explorer)

    def view(self, memory: Memory, observation: Float[JaxArray, "games dims"]) -> View:
        x = scaled(observation[0], self.low, self.high)
        values = self._network.apply(memory.networks.q, x)
        if self.explorer is not None:
            look = self.explorer.look(memory.explorer, x[None])
            assert look.counts is not None
            return View(Described(x[None], look.features), values[None], look.counts, look.counts)
        outputs = jnp.zeros_like(values) if self.counter is None else self._network.apply(memory.networks.counter, x)
        counts = outputs if self.counter is None else self.counter.count(outputs)
        return single_view(x, values, counts, outputs)

    def act(self, view: View, steps: Int[JaxArray, ""], uniform: Float[JaxArray, " games"]) -> Int[JaxArray, " games"]:
        return chosen_action(self.agent.rule, view, steps, uniform)

    def observe(self, memory: Memory, step: Step) -> tuple[Memory, None, Row]:
        """Add the step to the replay, and update the counter unless it learns from the replay."""
        agent, counter, weights = self.agent, self.counter, memory.networks.counter
        features, arrived = _input(step.features), _input(step.next_view.features)
        action, learns = step.action[0], step.learns[0]
        reward, terminated, next_action = step.reward[0], step.terminated[0], step.next_action[0]
        if counter is not None:

            def outputs_of(weights: Any) -> Float[JaxArray, " actions"]:
                return self._network.apply(weights, features)

            outputs, gradient_of = jax.vjp(outputs_of, weights)
            output = outputs[action]
            error = counter.error(output, step.next_view.outputs[0, next_action], terminated)
            if agent.counts_from == "visits":
                (grads,) = gradient_of(jax.nn.one_hot(action, self.actions))
                size = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(grads))
                stride = counter.step * error / size

                def moved(weight: JaxArray, leaf: JaxArray) -> JaxArray:
                    return weight + jnp.where(learns, stride * leaf, 0.0)  # see `adam_step`

                weights = jax.tree.map(moved, weights, grads)
            if agent.bonus is not None and not isinstance(agent.bonus, RND):
                reward = reward + agent.bonus(counter.visited_count(output, error), counter.rate())
        explorer, row = memory.explorer, Row(None, None)
        if self.explorer is not None:
            look = Look(step.next_view.features.look, step.next_view.counts)
            visited_pair = Visited(
                step.features.x, step.features.look, step.action, step.next_view.features.x, look, step.next_action,
                step.terminated, step.terminated | step.truncated, jnp.broadcast_to(step.is_start, (1,)), step.learns,
            )  # fmt: skip
            explorer, more, explorer_row = self.explorer.observe(explorer, visited_pair)
            row = row._replace(explorer=explorer_row)
            reward = reward + more[0]
        rnd = memory.rnd
        if self._rnd is not None and rnd is not None:
            rnd, bonus, rnd_row = visited(self._rnd, rnd, arrived, learns)
            row = row._replace(rnd=rnd_row)
            reward = reward + bonus
        stored = Transition(features, action, reward, terminated, arrived, next_action)
        networks = memory.networks._replace(counter=weights)
        return Memory(networks, added(memory.replay, stored, learns), rnd, explorer), None, row

    def update(self, memory: Memory, rows: Any, key: PRNGKeyArray, learns: Bool[JaxArray, ""]) -> Memory:
        """Take one step of Adam on a batch from the replay, as soon as there are enough transitions for a batch.

        The predictor of an `RND` takes one on the steps since the last update, of which the explorer learns, too.
        """
        agent, now = self.agent, memory.networks
        is_ready = learns & (memory.replay.added >= agent.batch)
        batch = sample(memory.replay, key, agent.batch)
        apply = jax.vmap(self._network.apply, in_axes=(None, 0))
        best = jnp.max(apply(now.q_target, batch.next_observation), axis=-1)
        target = q_target(batch.reward, batch.terminated, best, agent.discount)

        def q_loss(weights: Any) -> Float[JaxArray, ""]:
            return losses.q_loss(apply(weights, batch.observation), batch.action, target)

        grads = jax.grad(q_loss)(now.q)
        q, q_opt_state = adam_step(now.q, grads, now.q_opt_state, agent.learning_rate, is_ready)
        counter, counter_opt_state = now.counter, now.counter_opt_state
        if self.counter is not None and agent.counts_from == "replay":
            successor = losses.taken(apply(now.counter_target, batch.next_observation), batch.next_action)
            counts = self.counter

            def counter_loss(weights: Any) -> Float[JaxArray, ""]:
                outputs = apply(weights, batch.observation)
                return losses.counter_loss(counts, outputs, batch.action, successor, batch.terminated)

            grads = jax.grad(counter_loss)(now.counter)
            counter, counter_opt_state = adam_step(
                now.counter, grads, now.counter_opt_state, agent.learning_rate, is_ready
            )
        updates = now.updates + 1
        is_due = updates % jnp.asarray(agent.target_every).astype(updates.dtype) == 0
        after = TrainState(
            q, _where(is_due, q, now.q_target), q_opt_state,
            counter, _where(is_due, counter, now.counter_target), counter_opt_state, updates,
        )  # fmt: skip
        rnd = memory.rnd
        if self._rnd is not None and rnd is not None:
            rnd = trained(self._rnd, rnd, rows.rnd, jax.random.fold_in(key, 1), learns)
        explorer = memory.explorer
        if self.explorer is not None:
            explorer = self.explorer.update(explorer, rows.explorer, jax.random.fold_in(key, 2), learns)
        return memory._replace(networks=_where(is_ready, after, now), rnd=rnd, explorer=explorer)

    @property
    def _rnd(self) -> RND | None:
        return self.agent.bonus if isinstance(self.agent.bonus, RND) else None

    @property
    def _network(self) -> Network:
        return Network(len(self.low), self.actions, self.agent.width, self.agent.depth)


def _input(features: Any) -> Float[JaxArray, " dims"]:
    """Return the input of the networks for the single game."""
    return features.x[0] if isinstance(features, Described) else features[0]


def _zero_last_layer(network: Any) -> Any:
    """Set the last layer to 0, so that every initial output is 0."""

    def last(network: eqx.nn.MLP) -> tuple[Any, Any]:
        return network.layers[-1].weight, network.layers[-1].bias

    return eqx.tree_at(last, network, replace_fn=jnp.zeros_like)


def _where(condition: Bool[JaxArray, ""], chosen: _Tree, otherwise: _Tree) -> _Tree:
    """Select one of two trees of arrays."""

    def selected(new: JaxArray, old: JaxArray) -> JaxArray:
        return jnp.where(condition, new, old)

    return jax.tree.map(selected, chosen, otherwise)
