"""Environments for the engine: pure simulations whose numbers are leaves and whose random numbers are arguments.

Finite MDPs and functional environments (ours, or any with gymnax's interface) have the same protocol. Two
environments of a kind differ only in their numbers, so they share compiled programs, and every lane of a run can have
its own numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dorax.core.checks import InvalidInput, in_brief
from dorax.envs.functional import check_spaces, name_of, structure_of
from dorax.mdps import MDP

State = TypeVar("State")
Observation = Any  # an array: a vector, a picture, the number of a state

_BEFORE = 2**32 - 1  # number of the block before the first one
_MOST_DRAWN = 32  # numbers of an observation; longer ones are drawn for fewer steps at a time, which takes less memory


class Draws(NamedTuple):
    """Random numbers of consecutive steps of one game.

    Attributes:
        world: draws of the environment.
        rule: uniform random numbers of the action rule.
        learner: random key of the algorithm.
    """

    world: Any
    rule: Float[Array, " steps"]
    learner: PRNGKeyArray


class Env(Protocol[State]):
    """Protocol of environments. All randomness is passed in as a draw.

    Attributes:
        block: number of steps whose random numbers are drawn together.
        actions: number of actions.
        low: lowest observation; None if observations are not to be checked.
        high: highest observation.
    """

    @property
    def block(self) -> int: ...
    @property
    def actions(self) -> int: ...
    @property
    def low(self) -> tuple[float, ...] | None: ...
    @property
    def high(self) -> tuple[float, ...] | None: ...

    def draws(self, key: PRNGKeyArray, block: Int[Array, ""]) -> Draws:
        """Draw the random numbers of one block of steps.

        Args:
            key: random key of the game.
            block: number of the block.

        Returns:
            The draws, which depend on nothing but the key and the number of the block.
        """
        ...

    def reset(self, draw: Any) -> tuple[Observation, State]:
        """Start an episode.

        Args:
            draw: draw of the environment for this step.

        Returns:
            The first observation and the state.
        """
        ...

    def step(
        self, draw: Any, state: State, action: Int[Array, ""]
    ) -> tuple[Observation, State, Float[Array, ""], Bool[Array, ""], Bool[Array, ""]]:
        """Take one step.

        Args:
            draw: draw of the environment for this step.
            state: state before the step.
            action: the action.

        Returns:
            Observation, state, reward, terminated and truncated.
        """
        ...


class FiniteState(NamedTuple):
    """State of a `FiniteSimulation`.

    Attributes:
        number: index of the MDP's state.
        time: number of steps of the episode so far.
    """

    number: Int[Array, ""]
    time: Int[Array, ""]


class FiniteSimulation(eqx.Module):
    """Simulation of a finite MDP.

    States are padded with unreachable ones, so that MDPs of similar size share one compiled program.

    Attributes:
        successor: successor states; -1 where the episode ends.
        cumulative: cumulative probabilities of the successors.
        reward: rewards of the transitions.
        available: whether an action is available in a state.
        start_accept: alias table of the start distribution: probabilities of keeping an entry.
        start_alias: alias table: states that replace entries that are not kept.
        start_state: alias table: states of the entries.
        max_steps: maximum number of steps of an episode.
        block: number of steps whose random numbers are drawn together.
        low: None, because states are not to be checked.
        high: None.
    """

    successor: Int[Array, "states actions successors"]
    cumulative: Float[Array, "states actions successors"]
    reward: Float[Array, "states actions successors"]
    available: Bool[Array, "states actions"]
    start_accept: Float[Array, " starts"]
    start_alias: Int[Array, " starts"]
    start_state: Int[Array, " starts"]
    max_steps: Int[Array, ""]
    block: int = eqx.field(default=64, static=True)
    low: None = eqx.field(default=None, static=True)
    high: None = eqx.field(default=None, static=True)

    @property
    def actions(self) -> int:
        return self.available.shape[-1]

    def draws(self, key: PRNGKeyArray, block: Int[Array, ""]) -> Draws:
        uniforms = jax.random.uniform(jax.random.fold_in(key, block), (self.block, 2))
        learner = jax.random.fold_in(jax.random.fold_in(key, 2**31 - 1), block)
        return Draws(uniforms[:, 0], uniforms[:, 1], learner)

    def reset(self, draw: Float[Array, ""]) -> tuple[Int[Array, ""], FiniteState]:
        """Draw a start state by Walker's alias method, in constant time for any number of them."""
        scaled = draw * self.start_accept.shape[0]
        index = jnp.minimum(scaled.astype(jnp.int32), self.start_accept.shape[0] - 1)
        is_kept = scaled - index < self.start_accept[index]
        state = jnp.where(is_kept, self.start_state[index], self.start_alias[index])
        return state, FiniteState(state, jnp.zeros((), jnp.int32))

    def step(
        self, draw: Float[Array, ""], state: FiniteState, action: Int[Array, ""]
    ) -> tuple[Int[Array, ""], FiniteState, Float[Array, ""], Bool[Array, ""], Bool[Array, ""]]:
        k = 0
        if self.successor.shape[2] > 1:
            k = jnp.sum(draw >= self.cumulative[state.number, action, :-1])
        successor = self.successor[state.number, action, k]
        arrived, time = jnp.maximum(successor, 0), state.time + 1
        reward = self.reward[state.number, action, k]
        return arrived, FiniteState(arrived, time), reward, successor < 0, time >= self.max_steps


class FunctionalDraw(NamedTuple):
    """Draw of a `FunctionalSimulation` for one step.

    Attributes:
        key: random key of the step.
        start: observation and state of a new episode, in case one starts; cheaper than a branch in every step.
    """

    key: PRNGKeyArray
    start: tuple[Any, Any]


class FunctionalSimulation(eqx.Module):
    """Simulation of a functional environment with gymnax's interface. Its observations are vectors: pictures are
    flattened.

    Attributes:
        env: the environment, without its default parameters.
        params: its parameters.
        actions: number of actions.
        low: lowest observation.
        high: highest observation.
        shape: height, width and channels of pictures; None for vectors.
        block: number of steps whose random numbers are drawn together.
    """

    env: Any = eqx.field(static=True)
    params: Any
    actions: int = eqx.field(static=True)
    low: tuple[float, ...] = eqx.field(static=True)
    high: tuple[float, ...] = eqx.field(static=True)
    shape: tuple[int, int, int] | None = eqx.field(default=None, static=True)
    block: int = eqx.field(default=256, static=True)

    def draws(self, key: PRNGKeyArray, block: Int[Array, ""]) -> Draws:
        # All three in one call: hashing a few numbers takes hardly longer than hashing one.
        blocks = jnp.stack([block.astype(jnp.uint32), (block - 1).astype(jnp.uint32), jnp.uint32(_BEFORE)])
        now, before, first = jax.vmap(lambda block: jax.random.split(jax.random.fold_in(key, block), 3))(blocks)
        for_rule, for_world, for_learner = now
        # A key is drawn with the step that reaches a state and used by the step that leaves it, one step later.
        last = jnp.where(block == 0, first[0], jax.random.fold_in(before[1], self.block - 1))
        keys = jnp.concatenate([last[None], jax.random.split(for_world, self.block)[:-1]])
        world = FunctionalDraw(keys, jax.vmap(self.env.reset_env, in_axes=(0, None))(keys, self.params))
        return Draws(world, jax.random.uniform(for_rule, (self.block,)), for_learner)

    def reset(self, draw: FunctionalDraw) -> tuple[Any, Any]:
        here, state = draw.start
        return _as_vector(here), state

    def step(self, draw: FunctionalDraw, state: Any, action: Int[Array, ""]) -> tuple[Any, Any, Any, Any, Any]:
        here, state, reward, terminated, _ = self.env.step_env(draw.key, state, action, self.params)
        truncated = self.env.is_truncated(state, self.params)
        return _as_vector(here), state, jnp.asarray(reward, float), terminated, truncated


def _as_vector(observation: Any) -> Float[Array, " dims"]:
    return jnp.ravel(jnp.asarray(observation, float))


@dataclass(frozen=True, eq=False)
class EnvSpec:
    """Description of an environment for learners.

    Attributes:
        name: name of the environment.
        actions: number of actions.
        available: in a finite MDP, whether an action is available in a state, states x actions.
        low: lowest observation of other environments.
        high: highest observation of other environments.
        shape: height, width and channels, if observations are pictures; `low` and `high` are flat.
        block: number of steps whose random numbers are drawn together.
    """

    name: str
    actions: int
    available: np.ndarray | None = field(default=None, repr=False)
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    shape: tuple[int, int, int] | None = None
    block: int = 256

    @property
    def size(self) -> tuple[Any, ...]:
        """What two environments must have in common to be used with the same learner."""
        states = None if self.available is None else self.available.shape
        return self.actions, states, self.low, self.high, self.shape


class Environments(NamedTuple):
    """Environments of a run. A leaf that is in `shared` is None in `own`, and the other way round.

    Attributes:
        shared: simulation with the numbers that all lanes share.
        own: simulation with numbers that have a leading axis over seeds.
        spec: description for learners.
        mdp: the finite MDP, if all lanes share one.
    """

    shared: Any
    own: Any
    spec: EnvSpec
    mdp: MDP | None


def environments(env: Any, params: Any, seeds: int, least_states: int = 1, is_padded: bool = True) -> Environments:
    """Make the simulation of one environment for all lanes, or of a list with one environment for each seed.

    Args:
        env: a finite MDP, a functional environment (ours, or any with gymnax's interface), or a list of either.
        params: parameters of a functional environment; by default its own.
        seeds: number of seeds.
        least_states: minimum number of states that a finite MDP is padded to, so that several share a program.
        is_padded: whether finite MDPs are padded at all.

    Returns:
        The environments.
    """
    each = env if isinstance(env, list) else [env]
    if len(each) not in (1, seeds):
        raise InvalidInput(f"env is a list of {len(each)} environments; allowed: one for each of {seeds} seeds")
    made = [_simulation(one, params, least_states, is_padded) for one in each]
    spec = _spec(each[0], made[0])
    if not isinstance(env, list):
        return Environments(made[0], jax.tree.map(lambda _: None, made[0]), spec, env if isinstance(env, MDP) else None)
    kinds = {(jax.tree.structure(one), tuple(leaf.shape for leaf in jax.tree.leaves(one))) for one in made}
    if len(kinds) > 1:
        raise InvalidInput("the environments of the list differ in kind or size; allowed: ones that differ in numbers")
    own = jax.tree.map(lambda *leaves: np.stack(leaves), *made)
    return Environments(jax.tree.map(lambda _: None, made[0]), own, spec, None)


def _simulation(env: Any, params: Any, least_states: int, is_padded: bool) -> FiniteSimulation | FunctionalSimulation:
    if isinstance(env, MDP):
        if params is not None:
            raise InvalidInput("params is given with a finite MDP; params are those of functional environments")
        return finite_simulation(env, least_states, is_padded)
    if least_states != 1:
        raise InvalidInput("states is given with a functional environment; states pads finite MDPs")
    if not hasattr(env, "is_truncated"):
        raise InvalidInput(f"{type(env).__name__} has no is_truncated; allowed: an environment as of gymnax 1.0")
    params = env.default_params if params is None else params
    low, high, actions = check_spaces(env, params, pictures=True)
    structure, numbers = structure_of(env), jax.tree.map(jnp.asarray, params)
    _check_observation(env, low.shape, jax.eval_shape(structure.reset_env, jax.random.key(0), numbers)[0])
    shape: Any = None if low.ndim == 1 else (*low.shape, 1)[:3]
    block = 256 if low.size <= _MOST_DRAWN else 64
    return FunctionalSimulation(
        structure, numbers, actions, tuple(low.ravel().tolist()), tuple(high.ravel().tolist()), shape, block
    )


def _check_observation(env: Any, shape: tuple[int, ...], observation: Any) -> None:
    if getattr(observation, "shape", None) != shape:
        raise InvalidInput(
            f"an observation of {name_of(env)} is {in_brief(observation)}; allowed: an array of shape {shape}, as its "
            "observation space declares"
        )


def check_vectors(agent: str, env: FunctionalSimulation | EnvSpec) -> None:
    """Raise `InvalidInput` if observations are pictures.

    Args:
        agent: name of the agent's class, for the message.
        env: the environment or its description.
    """
    if env.shape is not None:
        raise InvalidInput(
            f"the observations for a {agent} are pictures of shape {env.shape}; allowed: vectors (a ParallelAgent "
            "supports pictures)"
        )


def _spec(env: Any, made: FiniteSimulation | FunctionalSimulation) -> EnvSpec:
    if isinstance(made, FiniteSimulation):
        return EnvSpec(env.name, env.actions, available=env.available, block=made.block)
    return EnvSpec(name_of(env), made.actions, low=made.low, high=made.high, shape=made.shape, block=made.block)


def finite_simulation(mdp: MDP, least_states: int = 1, is_padded: bool = False) -> FiniteSimulation:
    """Make the simulation of a finite MDP.

    Args:
        mdp: the MDP.
        least_states: minimum number of states to pad it to.
        is_padded: whether to pad the number of states to one of a few sizes.

    Returns:
        The simulation.
    """
    states = max(mdp.states, least_states)
    padding = (padded_size(states) if is_padded else states) - mdp.states

    def padded(array: np.ndarray, dtype: type) -> jax.Array:
        return jnp.asarray(np.pad(array, [(0, padding)] + [(0, 0)] * (array.ndim - 1)), dtype)

    accept, alias = _alias_table(mdp.start)
    state = np.flatnonzero(mdp.start)
    return FiniteSimulation(
        successor=padded(np.where(mdp.terminal, -1, mdp.successor), jnp.int32),
        cumulative=padded(np.cumsum(mdp.probability, axis=2), float),
        reward=padded(mdp.reward, float),
        available=padded(mdp.available, bool),
        start_accept=jnp.asarray(accept, float),
        start_alias=jnp.asarray(state[alias], jnp.int32),
        start_state=jnp.asarray(state, jnp.int32),
        max_steps=jnp.asarray(mdp.max_steps, jnp.int32),
    )


def padded_size(states: int) -> int:
    """Compute the number of states to pad an MDP to: a power of 4 plus 8.

    Few sizes mean few compilations. The 8 extra states keep tables of neighbouring lanes off the same cache lines.

    Args:
        states: number of states.

    Returns:
        The padded number.
    """
    size = 16
    while size < states:
        size *= 4
    return size + 8


def _alias_table(probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the table of Walker's alias method: keep index i with probability accept[i], else take alias[i]."""
    weight = probability[probability > 0] * np.count_nonzero(probability)
    accept, alias = np.ones(len(weight)), np.arange(len(weight))
    small = [i for i, w in enumerate(weight) if w < 1]
    large = [i for i, w in enumerate(weight) if w >= 1]
    while small and large:
        i, j = small.pop(), large[-1]
        accept[i], alias[i] = weight[i], j
        weight[j] -= 1 - weight[i]
        if weight[j] < 1:
            small.append(large.pop())
    return accept, alias
