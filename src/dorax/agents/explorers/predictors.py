"""Explorers that predict a fixed random network: `RND` and `NovelD`. They have a bonus and no counts."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dorax.agents.adam import adam_state
from dorax.agents.explorers.moments import Moments, with_values
from dorax.agents.explorers.protocol import Look, Visited
from dorax.agents.explorers.specs import RND, NovelD
from dorax.agents.explorers.training import mean_where, trained
from dorax.agents.value_network import Inputs, ValueNetwork
from dorax.features.codes import Code, Encoder

_CLIP = 5.0  # standard deviations
_DISCOUNT = 0.99  # of the sum of bonuses whose standard deviation normalises them
_TINY = 1e-8  # added to variances


class Predicted(NamedTuple):
    """State of `PredictionErrors`.

    Attributes:
        target: weights of the fixed network.
        predictor: weights of the predictor.
        opt_state: state of its optimizer.
        steps: number of steps seen so far, in all games.
        observations: statistics of the observations; None for numbers of states.
        sums: statistics of the games' discounted sums.
        discounted_sum: these sums now.
    """

    target: Any
    predictor: Any
    opt_state: Any
    steps: Int[Array, ""]
    observations: Moments | None
    sums: Moments
    discounted_sum: Float[Array, " games"]


class Seen(NamedTuple):
    """Observations to train a predictor on.

    Attributes:
        x: the observations.
        is_used: whether to train on them.
    """

    x: Any
    is_used: Bool[Array, " games"]


class PredictionErrors(eqx.Module):
    """Explorer whose bonus is the error of a predictor at the next observation.

    Attributes:
        spec: the description.
        inputs: what networks see.
        games: largest number of games.
    """

    spec: RND
    inputs: Inputs = eqx.field(static=True)
    games: int = eqx.field(static=True)

    def init(self, key: PRNGKeyArray) -> Predicted:
        for_target, for_predictor = jax.random.split(key)
        target, predictor = self._network.init(for_target, last=1.0), self._network.init(for_predictor)
        zero, zeros = jnp.zeros(()), jnp.zeros(self.inputs.size)
        observations = None if self.inputs.is_finite else Moments(zeros, zeros)
        steps = jnp.zeros((), jnp.int32)
        sums = Moments(zero, zero)
        return Predicted(target, predictor, adam_state(predictor), steps, observations, sums, jnp.zeros(self.games))

    def look(self, state: Predicted, x: Any) -> Look:
        return Look(self._error(state, state.predictor, x), None)

    def are_same(self, features: Any) -> Bool[Array, "games games"]:
        return jnp.eye(len(jax.tree.leaves(features)[0]), dtype=bool)

    def observe(self, state: Predicted, visited: Visited) -> tuple[Predicted, Float[Array, " games"], Seen]:
        return self.rewarded(state, visited, visited.arrived.features)

    def rewarded(
        self, state: Predicted, visited: Visited, novelty: Float[Array, " games"]
    ) -> tuple[Predicted, Float[Array, " games"], Seen]:
        """Scale the novelty of a step to a bonus, and update the running statistics.

        Args:
            state: state before the step.
            visited: the step.
            novelty: novelty of every game.

        Returns:
            The new state, the bonus, and the row for `update`.
        """
        games, is_visit = len(novelty), visited.is_visit
        old = state.discounted_sum[:games]
        discounted_sum = jnp.where(is_visit, _DISCOUNT * old + novelty, old)
        sums = with_values(state.sums, state.steps, discounted_sum, is_visit)
        observations = state.observations
        if observations is not None:
            observations = with_values(observations, state.steps, visited.next_x, is_visit)
        is_used = is_visit & (state.steps >= self.spec.warm_up)
        bonus = jnp.where(is_used, self.spec.scale * novelty * jax.lax.rsqrt(sums.variance + _TINY), 0.0)
        after = state._replace(
            steps=state.steps + jnp.sum(is_visit, dtype=jnp.int32), observations=observations, sums=sums,
            discounted_sum=state.discounted_sum.at[:games].set(discounted_sum),
        )  # fmt: skip
        return after, bonus, Seen(visited.next_x, is_used)

    def update(self, state: Predicted, rows: Seen, key: PRNGKeyArray, learns: Bool[Array, ""]) -> Predicted:
        """Train the predictor on a share of the observations since the last update."""
        for_share, for_order = jax.random.split(key)
        is_chosen = jax.random.uniform(for_share, rows.is_used.shape) < self.spec.share

        def loss(predictor: Any, rows: Seen) -> Float[Array, ""]:
            return mean_where(self._error(state, predictor, rows.x), rows.is_used)

        rows = rows._replace(is_used=rows.is_used & is_chosen)
        old = state.predictor, state.opt_state
        predictor, opt_state = trained(loss, old, rows, self.spec.learning_rate, for_order, learns)
        return state._replace(predictor=predictor, opt_state=opt_state)

    def _error(self, state: Predicted, predictor: Any, x: Any) -> Float[Array, " batch"]:
        """Compute the mean squared error of a predictor."""
        if state.observations is not None:
            deviation = jnp.sqrt(state.observations.variance + _TINY)
            x = jnp.clip((x - state.observations.mean) / deviation, -_CLIP, _CLIP)
        target = jax.lax.stop_gradient(self._network.apply(state.target, x))
        return jnp.mean((self._network.apply(predictor, x) - target) ** 2, axis=1)

    @property
    def _network(self) -> ValueNetwork:
        return ValueNetwork(self.inputs, self.spec.outputs, self.spec.width, depth=2)


class Differences(NamedTuple):
    """State of `NoveltyDifferences`.

    Attributes:
        errors: state of the predictor.
        book: what the encoder has learned.
        episode: number of the episode of every game, from 1.
        last_visit: number of the episode in which each game was last in an entry; 0 for never.
    """

    errors: Predicted
    book: Any
    episode: Int[Array, " games"]
    last_visit: Int[Array, "tables entries games"]


class Place(NamedTuple):
    """Features of `NoveltyDifferences`.

    Attributes:
        novelty: novelty of the observations.
        code: entries of the observations.
    """

    novelty: Float[Array, " games"]
    code: Code


class NoveltyDifferences(eqx.Module):
    """Explorer of `NovelD`: its bonus is a difference of novelties, at the first visit of an episode.

    Attributes:
        spec: the description.
        errors: the predictor.
        encoder: tells states apart within an episode.
    """

    spec: NovelD
    errors: PredictionErrors
    encoder: Encoder[Any]

    def init(self, key: PRNGKeyArray) -> Differences:
        for_errors, for_encoder = jax.random.split(key)
        episode = jnp.ones(self.errors.games, jnp.int32)
        last_visit = jnp.zeros((self.encoder.tables, self.encoder.entries, self.errors.games), jnp.int32)
        return Differences(self.errors.init(for_errors), self.encoder.init(for_encoder), episode, last_visit)

    def look(self, state: Differences, x: Any) -> Look:
        novelty = jnp.sqrt(self.errors.look(state.errors, x).features)
        return Look(Place(novelty, self.encoder.encode(state.book, x)), None)

    def are_same(self, features: Place) -> Bool[Array, "games games"]:
        return self.errors.are_same(features.novelty)

    def observe(self, state: Differences, visited: Visited) -> tuple[Differences, Float[Array, " games"], Seen]:
        here, there, is_visit = visited.features, visited.arrived.features, visited.is_visit
        games = jnp.arange(len(is_visit))
        episode = state.episode[games]
        table = jnp.arange(self.encoder.tables)
        stamp = jnp.where(is_visit, episode, 0)[:, None]
        last_visit = state.last_visit.at[table, self.encoder.current(state.book, here.code), games[:, None]].max(stamp)
        at = last_visit.at[table, self.encoder.current(state.book, there.code), games[:, None]]
        is_first = jnp.any(at.get() != episode[:, None], axis=1)
        novelty = jnp.maximum(there.novelty - self.spec.discount * here.novelty, 0.0) * is_first
        errors, bonus, row = self.errors.rewarded(state.errors, visited, novelty)
        book = self.encoder.visited(state.book, there.code, visited.next_x, is_visit | visited.is_start)
        # Also where an episode starts: the one before need not have been seen to its end.
        ends = (is_visit & visited.is_over) | visited.is_start
        next_episode = state.episode.at[games].add(ends.astype(jnp.int32))
        return Differences(errors, book, next_episode, at.max(stamp)), bonus, row

    def update(self, state: Differences, rows: Seen, key: PRNGKeyArray, learns: Bool[Array, ""]) -> Differences:
        """Train the predictor, and make room in the encoder's book if it is full."""
        errors = self.errors.update(state.errors, rows, key, learns)
        book, last_visit = self.encoder.tidied(state.book, state.last_visit, learns, merge="max")
        return state._replace(errors=errors, book=book, last_visit=last_visit)
