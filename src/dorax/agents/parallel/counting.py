"""Counts that many games share: several tables, of which the smallest entry is the count."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from dorax.core.counters import SharedCounter

Tables = Float[Array, "tables entries actions"]


class Visited(NamedTuple):
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


def counted(counter: SharedCounter, tables: Tables, visits: Visited) -> tuple[Tables, Float[Array, " games"]]:
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
