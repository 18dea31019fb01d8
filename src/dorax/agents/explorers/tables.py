"""Counts that many games share: several tables, of which the smallest entry is the count."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dorax.agents.explorers.learned import LearnedCodes
from dorax.agents.explorers.protocol import Inputs, Look, Visited
from dorax.agents.explorers.training import Pair, pair_of
from dorax.core.bonuses import Bonus
from dorax.core.counters import SharedCounter
from dorax.features.codes import Code, Encoder

Tables = Float[Array, "tables entries actions"]


class Counted(NamedTuple):
    """State of `CountTables`.

    Attributes:
        counts: the count tables.
        book: what the encoder has learned.
    """

    counts: Tables
    book: Any


class CountTables(eqx.Module):
    """Explorer that counts in tables over codes of the observations.

    Attributes:
        counter: how visits are counted.
        bonus: bonus of a count, or None.
        encoder: finds the entries of observations.
        actions: number of actions.
    """

    counter: SharedCounter
    bonus: Bonus | None
    encoder: Encoder[Any]
    actions: int = eqx.field(static=True)

    def init(self, key: PRNGKeyArray) -> Counted:
        counts = jnp.zeros((self.encoder.tables, self.encoder.entries, self.actions))
        return Counted(counts, self.encoder.init(key))

    def look(self, state: Counted, x: Inputs) -> Look:
        code = self.encoder.encode(state.book, x)
        return Look(code, counts_of(state.counts, code.entries))

    def are_same(self, features: Code) -> Bool[Array, "games games"]:
        return are_same(features.entries)

    def observe(self, state: Counted, visited: Visited) -> tuple[Counted, Float[Array, " games"], Pair | None]:
        arrived = visited.arrived
        assert arrived.counts is not None
        successor = jnp.take_along_axis(arrived.counts, visited.next_action[:, None], axis=1)[:, 0]
        successor = jnp.where(visited.terminated, jnp.inf, successor)
        entries = self.encoder.current(state.book, visited.features)
        pairs = Pairs(entries, visited.action, visited.is_visit, successor)
        counts, count = counted(self.counter, state.counts, pairs)
        arrives = visited.is_visit | visited.is_start
        book = self.encoder.visited(state.book, arrived.features, visited.next_x, arrives)
        bonus = jnp.zeros_like(count) if self.bonus is None else self.bonus(count, self.counter.rate())
        return Counted(counts, book), bonus, pair_of(visited) if isinstance(self.encoder, LearnedCodes) else None

    def update(self, state: Counted, rows: Pair | None, key: PRNGKeyArray, learns: Bool[Array, ""]) -> Counted:
        """Train an encoder that learns, and make room in its book if it is full."""
        book = state.book
        if isinstance(self.encoder, LearnedCodes) and rows is not None:
            book = self.encoder.learned(book, rows, key, learns)
        book, counts = self.encoder.tidied(book, state.counts, learns)
        return Counted(counts, book)


class Pairs(NamedTuple):
    """Pairs that the games of a learner visited in one step.

    Attributes:
        entries: entries of the states.
        action: actions taken.
        is_visit: whether the game made a visit at all.
        successor_count: count of the successor pair; infinite at the end of an episode.
    """

    entries: Int[Array, "games tables"]
    action: Int[Array, " games"]
    is_visit: Bool[Array, " games"]
    successor_count: Float[Array, " games"]


def counts_of(tables: Tables, entries: Int[Array, "games tables"]) -> Float[Array, "games actions"]:
    """Look up counts: the smallest over the tables, since a collision can only make a count too large.

    Args:
        tables: the count tables.
        entries: entries of the states.

    Returns:
        The counts of all actions.
    """
    return jnp.min(tables[jnp.arange(len(tables)), entries], axis=1)


def are_same(entries: Int[Array, "games tables"]) -> Bool[Array, "games games"]:
    """Return which games are in the same state, as far as the counts can tell.

    Args:
        entries: entries of the states.
    """
    return jnp.all(entries[:, None] == entries[None], axis=2)


def counted(counter: SharedCounter, tables: Tables, visits: Pairs) -> tuple[Tables, Float[Array, " games"]]:
    """Count the visits that the games made at the same time.

    Visits of the same pair are counted once for all: their rises add up, and a fall towards their successors, the mean
    of whose E-values counts, is shared. Then every table of the pair changes as its count does.

    Args:
        counter: the counter.
        tables: the count tables.
        visits: the visited pairs.

    Returns:
        The new tables, and the new count of each game's pair.
    """
    entries, action, is_visit, successor_count = visits
    together = are_same(entries) & (action[:, None] == action) & is_visit
    number = jnp.sum(together, axis=1)
    log_decay = jnp.log1p(-jnp.asarray(counter.rate()))
    log_e = jnp.where(together, log_decay * successor_count, -jnp.inf)
    successors = (jax.nn.logsumexp(log_e, axis=1) - jnp.log(jnp.maximum(number, 1))) / log_decay
    table = jnp.arange(len(tables))
    old = jnp.min(tables[table, entries, action[:, None]], axis=1)
    new = counter.after(old, successors, number)
    is_first = is_visit & (jnp.argmax(together, axis=1) == jnp.arange(len(action)))
    change = jnp.where(is_first, new - old, 0.0)
    tables = tables.at[table, entries, action[:, None]].add(change[:, None])
    return tables.at[table, entries, action[:, None]].max(0.0), new
