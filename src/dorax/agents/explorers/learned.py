"""Codes by learned features: prototypes of observations, told apart by features that predict what follows.

An encoder like those in `dorax.features.codes`, whose book learns from the steps between two updates.
"""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dorax.agents.adam import adam_state
from dorax.agents.explorers.training import Pair, mean_where, trained
from dorax.agents.value_network import Inputs, ValueNetwork
from dorax.features.codes import (
    Code,
    Counts,
    Dictionary,
    Merge,
    PrototypeCodes,
    grown_threshold,
    merged_entries,
)
from dorax.features.specs import LearnedPrototypes, Prototypes

_BATCH = 256  # an observation is recognised among so many
_PASSES = 4  # over the steps since the last update


class Weights(NamedTuple):
    """Weights of the networks.

    Attributes:
        features: those of the features.
        prediction: those of the next features.
    """

    features: Any
    prediction: Any


class LearnedBook(NamedTuple):
    """Book of `LearnedCodes`.

    Attributes:
        prototypes: dictionary of features.
        observations: observation of each of its entries.
        features: weights of the features that are in use.
        weights: weights that learn.
        opt_state: state of their optimizer.
        steps: number of steps learned from so far.
        renewed: number of steps at the last renewal; 0 before the first.
    """

    prototypes: Dictionary
    observations: Float[Array, "entries inputs"]
    features: Any
    weights: Weights
    opt_state: Any
    steps: Int[Array, ""]
    renewed: Int[Array, ""]


class LearnedCodes(eqx.Module):
    """Encoder of `LearnedPrototypes`, for vectors and pictures.

    Attributes:
        spec: the description.
        inputs: what networks see.
        actions: number of actions.
        tables: 1.
    """

    spec: LearnedPrototypes
    inputs: Inputs = eqx.field(static=True)
    actions: int = eqx.field(static=True)
    tables: int = eqx.field(default=1, static=True)

    @property
    def entries(self) -> int:
        return self.spec.size

    def init(self, key: PRNGKeyArray) -> LearnedBook:
        for_features, for_prediction = jax.random.split(key)
        if self.spec.depth:
            features: Any = self._network.init(for_features, last=1.0)
        else:
            shape = self.inputs.size, self.spec.dims
            features = jax.random.normal(for_features, shape) * self.inputs.size**-0.5
        weights = Weights(features, self._predictor.init(for_prediction, last=1.0))
        observations, zero = jnp.zeros((self.entries, self.inputs.size)), jnp.zeros((), jnp.int32)
        return LearnedBook(
            self._prototypes.init(key), observations, features, weights, adam_state(weights), zero, zero
        )  # fmt: skip

    def encode(self, book: LearnedBook, observations: Float[Array, "games inputs"]) -> Code:
        return self._prototypes.encode(book.prototypes, self.features(book.features, observations))

    def visited(
        self, book: LearnedBook, code: Code, observations: Float[Array, "games inputs"], is_visit: Bool[Array, " games"]
    ) -> LearnedBook:
        points = self.features(book.features, observations)
        prototypes = self._prototypes.visited(book.prototypes, code, points, is_visit)
        entry = jnp.where(code.is_new & is_visit, code.entries[:, 0], self.entries)
        return book._replace(
            prototypes=prototypes, observations=book.observations.at[entry].set(observations, mode="drop")
        )

    def current(self, book: LearnedBook, code: Code) -> Int[Array, "games 1"]:
        return self._prototypes.current(book.prototypes, code)

    def tidied(
        self, book: LearnedBook, counts: Counts, is_due: Bool[Array, ""], merge: Merge = "add"
    ) -> tuple[LearnedBook, Counts]:
        """Renew the features if it is time, or make room if the dictionary is full."""
        renews = is_due & (book.steps >= self.spec.first_renewal) & (book.steps - book.renewed >= book.renewed)

        def is_open(state: tuple[Any, Any, Any]) -> Any:
            return state[2]

        def merged(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
            book, counts, _ = state
            weights = jax.tree.map(partial(jnp.where, renews), book.weights.features, book.features)
            old = book.prototypes._replace(points=self.features(weights, book.observations))
            threshold = jnp.where(renews, float(self.spec.threshold) ** 2, grown_threshold(old))
            prototypes, merging = merged_entries(old, threshold)
            after = book._replace(
                prototypes=prototypes, observations=merging.kept(book.observations), features=weights,
                renewed=jnp.where(renews, book.steps, book.renewed),
            )  # fmt: skip
            return after, merging.counts(counts, merge), jnp.zeros((), bool)

        # A loop of one round at most; see `PrototypeCodes.tidied`.
        is_full = is_due & (book.prototypes.size >= self.entries)
        return jax.lax.while_loop(is_open, merged, (book, counts, renews | is_full))[:2]

    def learned(self, book: LearnedBook, rows: Pair, key: PRNGKeyArray, learns: Bool[Array, ""]) -> LearnedBook:
        """Train the networks on steps. Features in use do not change.

        Args:
            book: the book.
            rows: the steps, with leading axes over steps and games.
            key: random key.
            learns: if False, nothing changes.

        Returns:
            The new book.
        """
        number = rows.is_visit.size
        steps = book.steps + jnp.where(learns, jnp.sum(rows.is_visit, dtype=jnp.int32), 0)

        def passed(state: tuple[Any, Any], key: PRNGKeyArray) -> tuple[tuple[Any, Any], None]:
            parts = max(1, number // _BATCH)
            return trained(self._loss, state, rows, self.spec.learning_rate, key, learns, parts), None

        keys = jax.random.split(key, _PASSES)
        weights, opt_state = jax.lax.scan(passed, (book.weights, book.opt_state), keys)[0]
        return book._replace(weights=weights, opt_state=opt_state, steps=steps)

    def features(self, weights: Any, observations: Float[Array, "batch inputs"]) -> Float[Array, "batch dims"]:
        """Compute features.

        Args:
            weights: weights of the features.
            observations: the observations.

        Returns:
            Their features.
        """
        if self.spec.depth:
            return self._network.apply(weights, observations)
        return jnp.matmul(observations, weights, precision="highest")

    def _loss(self, weights: Weights, rows: Pair) -> Float[Array, ""]:
        """Compute the cross-entropy of which observation of the batch followed each one."""
        x, next_x = (self.features(weights.features, one) for one in (rows.x, rows.next_x))
        guesses = self._predictor.apply(weights.prediction, x).reshape(len(x), self.actions, -1)
        guess = jnp.take_along_axis(guesses, rows.action[:, None, None], axis=1)[:, 0]
        lengths = jnp.sum(guess**2, axis=1)[:, None] + jnp.sum(next_x**2, axis=1)
        distance = lengths - 2 * jnp.matmul(guess, next_x.T, precision="highest")
        is_own = jnp.eye(len(x), dtype=bool)
        logits = jnp.where(is_own | rows.is_visit, -distance, -jnp.inf)
        return mean_where(-jnp.diagonal(jax.nn.log_softmax(logits, axis=1)), rows.is_visit)

    @property
    def _prototypes(self) -> PrototypeCodes:
        """The dictionary of features. Before the first renewal it begins with a threshold of 0."""
        return PrototypeCodes(Prototypes(self.spec.size), self.spec.dims)

    @property
    def _network(self) -> ValueNetwork:
        return ValueNetwork(self.inputs, self.spec.dims, self.spec.width, self.spec.depth)

    @property
    def _predictor(self) -> ValueNetwork:
        return ValueNetwork(Inputs(self.spec.dims), self.actions * self.spec.dims, self.spec.width, depth=1)
