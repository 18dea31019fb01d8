"""Codes of observations for counting: which entries of the count tables belong to an observation.

An encoder is made from a description (`Table`, `HashedCodes` or `Prototypes`) for the observations of one environment:
numbers of states, or vectors. What it draws or learns is its *book*, part of the learner's memory.
"""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dorax.core.checks import InvalidInput, in_brief
from dorax.features.specs import HashedCodes, Prototypes, Table

Book = TypeVar("Book")
Observations = Any  # [games] numbers of states, or [games, dims] vectors
Counts = Any  # [tables, entries, ...]
Merge = Literal["add", "max"]

_TOLERANCE = 1e-6  # of the squared lengths of two observations: their squared distance is not known better than this
_LEAST_GROWTH = 1.05


class Code(NamedTuple):
    """Entries of some observations.

    Attributes:
        entries: entry of each observation in each table.
        is_new: whether the entry is to be made, for this observation.
        edition: edition of the book that the entries are from.
    """

    entries: Int[Array, "games tables"]
    is_new: Bool[Array, " games"]
    edition: Int[Array, " games"]


class Encoder(Protocol[Book]):
    """Protocol of encoders.

    Attributes:
        tables: number of count tables.
        entries: number of entries of each.
    """

    @property
    def tables(self) -> int: ...
    @property
    def entries(self) -> int: ...

    def init(self, key: PRNGKeyArray) -> Book:
        """Return the book of a new learner."""
        ...

    def encode(self, book: Book, observations: Observations) -> Code:
        """Find the entries of some observations."""
        ...

    def visited(self, book: Book, code: Code, observations: Observations, is_visit: Bool[Array, " games"]) -> Book:
        """Make the new entries of observations that were really visited."""
        ...

    def current(self, book: Book, code: Code) -> Int[Array, "games tables"]:
        """Return the entries of a code that may be from an earlier edition of the book."""
        ...

    def tidied(self, book: Book, counts: Counts, is_due: Bool[Array, ""], merge: Merge = "add") -> tuple[Book, Counts]:
        """Make room in the book if it is full.

        Args:
            book: the book.
            counts: numbers kept for each entry.
            is_due: if False, nothing changes.
            merge: what becomes of the numbers of entries that are merged: their sum or the largest.

        Returns:
            The new book and the numbers of its entries.
        """
        ...


class _Fixed(eqx.Module):
    """Part of encoders whose book never changes."""

    def visited(self, book: Any, code: Code, observations: Observations, is_visit: Any) -> Any:
        del code, observations, is_visit
        return book

    def current(self, book: Any, code: Code) -> Int[Array, "games tables"]:
        del book
        return code.entries

    def tidied(self, book: Any, counts: Any, is_due: Any, merge: Merge = "add") -> Any:
        del is_due, merge
        return book, counts


class StateNumbers(_Fixed):
    """One entry for each state of a finite MDP.

    Attributes:
        entries: number of states.
        tables: 1.
    """

    entries: int = eqx.field(static=True)
    tables: int = eqx.field(default=1, static=True)

    def init(self, key: PRNGKeyArray) -> tuple[()]:
        del key
        return ()

    def encode(self, book: tuple[()], observations: Int[Array, " games"]) -> Code:
        del book
        return _known(observations[:, None])


class SignCodes(_Fixed):
    """Encoder of `HashedCodes`: the signs of random projections, read as a number.

    The book holds the projections. Those of vectors have an offset, so that they do not all pass through 0; those of
    states are one random vector for each state.

    Attributes:
        spec: the description.
        inputs: number of states, or length of an observation.
        is_finite: whether observations are numbers of states.
    """

    spec: HashedCodes = eqx.field(static=True)
    inputs: int = eqx.field(static=True)
    is_finite: bool = eqx.field(static=True)

    @property
    def tables(self) -> int:
        return self.spec.tables

    @property
    def entries(self) -> int:
        return 1 << self.spec.bits

    def init(self, key: PRNGKeyArray) -> Any:
        rows = self.inputs + (not self.is_finite)
        drawn = jax.random.normal(key, (rows, self.spec.tables, self.spec.bits))
        return self._numbers(drawn) if self.is_finite else drawn

    def encode(self, book: Any, observations: Observations) -> Code:
        if self.is_finite:
            return _known(book[observations])
        sums = jnp.tensordot(observations, book[:-1], 1, precision="highest") + book[-1]
        return _known(self._numbers(sums))

    def _numbers(self, sums: Float[Array, "rows tables bits"]) -> Int[Array, "rows tables"]:
        powers = 1 << jnp.arange(self.spec.bits, dtype=jnp.int32)
        return jnp.sum(jnp.where(sums > 0, powers, 0), axis=-1)


class Dictionary(NamedTuple):
    """Book of `PrototypeCodes`.

    Attributes:
        points: the prototypes.
        size: number of prototypes.
        threshold: squared distance from which on an observation is a new prototype.
        moved: entry in this edition of each entry of the one before.
        edition: number of the edition; a new one begins when prototypes are merged.
    """

    points: Float[Array, "entries dims"]
    size: Int[Array, ""]
    threshold: Float[Array, ""]
    moved: Int[Array, " entries"]
    edition: Int[Array, ""]


class Merging(NamedTuple):
    """How entries were merged.

    Attributes:
        stays: whether an entry stays.
        moved: new entry of each old one; that of the one which it was merged with, if it does not stay.
    """

    stays: Bool[Array, " entries"]
    moved: Int[Array, " entries"]

    def kept(self, rows: Float[Array, "entries dims"]) -> Float[Array, "entries dims"]:
        """Move rows of the entries that stay to the new ones.

        Args:
            rows: one row for each old entry.
        """
        to = jnp.where(self.stays, self.moved, len(rows))
        return jnp.zeros_like(rows).at[to].set(rows, mode="drop")

    def counts(self, counts: Counts, merge: Merge) -> Counts:
        """Merge the numbers of the entries.

        Args:
            counts: numbers of each old entry, 0 for unused ones.
            merge: what becomes of those that are merged: their sum or the largest.
        """
        room = jnp.zeros_like(counts).at[:, self.moved]
        return room.add(counts) if merge == "add" else room.max(counts)


class PrototypeCodes(eqx.Module):
    """Encoder of `Prototypes`, for vectors.

    Attributes:
        spec: the description.
        dims: length of an observation.
        tables: 1.
    """

    spec: Prototypes = eqx.field(static=True)
    dims: int = eqx.field(static=True)
    tables: int = eqx.field(default=1, static=True)

    @property
    def entries(self) -> int:
        return self.spec.size

    def init(self, key: PRNGKeyArray) -> Dictionary:
        del key
        zero = jnp.zeros((), jnp.int32)
        points, threshold = jnp.zeros((self.entries, self.dims)), jnp.asarray(self.spec.threshold**2, float)
        return Dictionary(points, zero, threshold, jnp.arange(self.entries, dtype=jnp.int32), zero)

    def encode(self, book: Dictionary, observations: Float[Array, "games dims"]) -> Code:
        """Find the nearest prototypes. New ones get the next free entries; games that meet in one share it."""
        distance = _squared_distances(observations, book.points)
        distance = jnp.where(jnp.arange(self.entries) < book.size, distance, jnp.inf)
        nearest = jnp.argmin(distance, axis=1).astype(jnp.int32)
        is_far = jnp.min(distance, axis=1) > book.threshold
        is_near = _squared_distances(observations, observations) <= book.threshold
        games = jnp.arange(len(observations))
        is_near = (is_near | (games[:, None] == games)) & is_far
        leader = jnp.argmax(is_near, axis=1)  # the first game that is far from all prototypes, and near
        for _ in range(max(1, (len(observations) - 1).bit_length())):
            leader = leader[leader]
        leads = is_far & (leader == games)
        entry = book.size + jnp.cumsum(leads, dtype=jnp.int32)[leader] - 1
        is_room = entry < self.entries
        entry = jnp.where(is_far & is_room, entry, nearest)
        return Code(entry[:, None], leads & is_room, jnp.broadcast_to(book.edition, entry.shape))

    def visited(
        self, book: Dictionary, code: Code, observations: Float[Array, "games dims"], is_visit: Bool[Array, " games"]
    ) -> Dictionary:
        entry, makes = code.entries[:, 0], code.is_new & is_visit
        points = book.points.at[jnp.where(makes, entry, self.entries)].set(observations, mode="drop")
        return book._replace(points=points, size=jnp.maximum(book.size, jnp.max(jnp.where(makes, entry + 1, 0))))

    def current(self, book: Dictionary, code: Code) -> Int[Array, "games 1"]:
        return jnp.where((code.edition == book.edition)[:, None], code.entries, book.moved[code.entries])

    def tidied(
        self, book: Dictionary, counts: Counts, is_due: Bool[Array, ""], merge: Merge = "add"
    ) -> tuple[Dictionary, Counts]:
        """Raise the threshold and merge prototypes if there is no room left. By default, counts of merged ones add."""

        def is_full(state: tuple[Any, Any, Any]) -> Any:
            return state[2]

        def merged(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
            book, counts, _ = state
            after, merging = merged_entries(book, grown_threshold(book))
            return after, merging.counts(counts, merge), jnp.zeros((), bool)

        # A loop of one round at most, which is skipped where a branch under `vmap` would run every time.
        return jax.lax.while_loop(is_full, merged, (book, counts, is_due & (book.size >= self.entries)))[:2]


def grown_threshold(book: Dictionary) -> Float[Array, ""]:
    """Return the next threshold of a full dictionary: the median squared distance of its nearest neighbours.

    Args:
        book: the dictionary.
    """
    distance = _squared_distances(book.points, book.points)
    others = jnp.where(jnp.eye(len(distance), dtype=bool), jnp.inf, distance)
    return jnp.maximum(jnp.median(jnp.min(others, axis=1)), _LEAST_GROWTH**2 * book.threshold)


def merged_entries(book: Dictionary, threshold: Float[Array, ""]) -> tuple[Dictionary, Merging]:
    """Merge the entries of a dictionary that are at most a threshold apart.

    Args:
        book: the dictionary.
        threshold: the new threshold, a squared distance.

    Returns:
        The next edition of the dictionary, and how its entries were merged.
    """
    entries = jnp.arange(len(book.points))
    is_used = entries < book.size
    is_near = (_squared_distances(book.points, book.points) <= threshold) & is_used & is_used[:, None]
    into = _merged_into(is_near)
    stays = (into == entries) & is_used
    merging = Merging(stays, (jnp.cumsum(stays, dtype=jnp.int32) - 1)[into])
    size = jnp.sum(stays, dtype=jnp.int32)
    return Dictionary(merging.kept(book.points), size, threshold, merging.moved, book.edition + 1), merging


def encoder(features: Any, states: int | None, dims: int) -> Encoder[Any]:
    """Make the encoder for the observations of an environment.

    Args:
        features: description of the features, or None for the default: a table for finite MDPs, prototypes for vectors.
        states: number of states, if observations are numbers of states.
        dims: length of an observation, if they are vectors.

    Returns:
        The encoder.
    """
    if features is None:
        features = Prototypes() if states is None else Table()
    if isinstance(features, HashedCodes):
        return SignCodes(features, dims if states is None else states, states is not None)
    if isinstance(features, Prototypes) and states is None:
        return PrototypeCodes(features, dims)
    if isinstance(features, Table | Prototypes) and states is not None:
        return StateNumbers(states)  # the distance of two different states is always the same
    supported = "HashedCodes, Prototypes" if states is None else "Table, HashedCodes, Prototypes"
    raise InvalidInput(f"features is {in_brief(features)}; counts of many games support {supported} here")


def _known(entries: Int[Array, "games tables"]) -> Code:
    return Code(entries, jnp.zeros(len(entries), bool), jnp.zeros(len(entries), jnp.int32))


def _squared_distances(some: Float[Array, "some dims"], others: Float[Array, "others dims"]) -> Array:
    """Compute squared distances by one product of matrices. What may be only a rounding error is 0."""
    lengths = jnp.sum(some**2, axis=1)[:, None] + jnp.sum(others**2, axis=1)
    distances = lengths - 2 * jnp.matmul(some, others.T, precision="highest")
    return jnp.where(distances > _TOLERANCE * lengths, distances, 0.0)


def _merged_into(is_near: Bool[Array, "entries entries"]) -> Int[Array, " entries"]:
    """Choose, in the order of the entries, which of them stay, and the entry that each of the others is merged with.

    An entry stays unless an earlier one that stays is near. Each round decides all entries whose earlier neighbours are
    decided.
    """
    entries = len(is_near)
    earlier = jnp.tril(is_near, -1)

    def is_open(state: tuple[Array, Array]) -> Array:
        return jnp.any(state[0])

    def decided(state: tuple[Array, Array]) -> tuple[Array, Array]:
        is_undecided, stays = state
        goes = jnp.any(earlier & stays, axis=1)
        settled = is_undecided & ~jnp.any(earlier & (is_undecided | stays), axis=1)
        return is_undecided & ~goes & ~settled, stays | settled

    stays = jax.lax.while_loop(is_open, decided, (jnp.ones(entries, bool), jnp.zeros(entries, bool)))[1]
    return jnp.argmax((is_near | jnp.eye(entries, dtype=bool)) & stays, axis=1).astype(jnp.int32)
