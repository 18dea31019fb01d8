"""Descriptions of features: how states are represented for counts and values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import equinox as eqx
import numpy as np
from jax.tree_util import register_static

from dorax.core.arrays import Array
from dorax.core.brief import call_of
from dorax.core.checks import InvalidInput, check_at_least, check_whole

_MOST_BITS = 24  # 16 million entries


@register_static  # as part of a counter, it holds no numbers to sweep
@dataclass(frozen=True)
class Table:
    """One count per state. In a Box, equal observations are one state."""

    __repr__ = call_of


@register_static
@dataclass(frozen=True)
class Tiles:
    """Tile coding: overlapping grids over a Box, so that nearby states share counts and values.

    Args:
        tiles: number of tiles per dimension, one for all dimensions or one for each.
        tilings: number of overlapping grids.
        low: lower bounds of the grids; by default those of the space.
        high: upper bounds of the grids; by default those of the space. In wrappers, a dimension without bounds is
            mapped into (-1, 1) by x / (1 + |x|), so that tiles are finest around 0.
    """

    tiles: int | Sequence[int] = 8
    tilings: int = 8
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None

    __repr__ = call_of

    def __post_init__(self) -> None:
        for name in ("tiles", "low", "high"):  # tuples are hashable, as static fields of a compiled program must be
            given = getattr(self, name)
            if isinstance(given, Sequence | np.ndarray):
                object.__setattr__(self, name, tuple(np.ravel(given).tolist()))


@register_static
@dataclass(frozen=True)
class KWinners:
    """Sparse random codes: the most active units of a wide random layer, used like tiles.

    For images, which are first downsampled and converted to grey, and for Boxes of many dimensions. Inputs are
    normalised by the first 1000 observations. Similar states share most of their active units and dissimilar ones
    hardly any (Dasgupta et al., 2017). Nothing is trained.

    Args:
        units: width of the layer.
        active: number of active units of a state.
        counts: how the counts of its active units make that of a state: their `"sum"`, each of them holding a share of
            it, or the `"smallest"`, each holding a whole count. The sum makes rare states look known; the smallest
            makes states look new as long as their observations do not repeat.
    """

    units: int = 8192
    active: int = 16
    counts: Literal["sum", "smallest"] = "sum"

    __repr__ = call_of

    def __post_init__(self) -> None:
        if self.counts not in ("sum", "smallest"):
            raise InvalidInput(f"counts of KWinners is {self.counts!r}; allowed: 'sum', 'smallest'")


@register_static
@dataclass(frozen=True)
class HashedCodes:
    """Hashed codes: in each of several tables, a state has the entry that the signs of random projections name.

    The count of a state is the smallest of its entries, since a collision can only make it look better known than it
    is (a count-min sketch; Cormode and Muthukrishnan, 2005). For observations of many dimensions that repeat exactly or
    nearly; noise of its own in every observation gives every one a code of its own.

    Args:
        tables: number of tables.
        bits: number of signs, so that a table has 2**bits entries.
    """

    tables: int = 8
    bits: int = 14

    __repr__ = call_of

    def __post_init__(self) -> None:
        check_whole("the number of tables of hashed codes", self.tables)
        check_whole("the number of bits of hashed codes", self.bits)
        if self.bits > _MOST_BITS:
            raise InvalidInput(f"the number of bits of hashed codes is {self.bits}; allowed: 1 to {_MOST_BITS}")


@register_static
@dataclass(frozen=True)
class Prototypes:
    """A dictionary of observations: a state has the entry of the nearest one.

    An observation that is farther from all entries than a threshold becomes a new entry. The threshold sets itself:
    when the dictionary is full, it grows to the median distance of an entry from its nearest neighbour, and entries
    that are now too close to another one are merged with it and pass it their counts (after the doubling algorithm of
    Charikar et al., 1997). So the dictionary is as fine as its size allows, and entries that differ only by noise
    become one. In a finite MDP every state is an entry.

    Args:
        size: largest number of entries.
        threshold: distance at the start; 0 for one entry for each different observation.
    """

    size: int = 1024
    threshold: float = 0.0

    __repr__ = call_of

    def __post_init__(self) -> None:
        check_whole("the size of prototypes", self.size)
        check_at_least("the threshold of prototypes", self.threshold, 0)


class LearnedPrototypes(eqx.Module):
    """Prototypes told apart by learned features that drop noise.

    Features are learned by prediction: a network predicts the features of the next observation from those of this one
    and the action, and must recognise it among other observations by their squared distances (a contrastive loss; van
    den Oord et al., 2018; for exploration Misra et al., 2020). Nothing predicts noise that is new at every step, so
    features drop it, and states from which anything different follows stay apart. What changes in a predictable way is
    kept even if no action can change it, such as a clock.

    Features that are learned change, and counts of old ones would mean nothing in new ones. So each entry of the
    dictionary keeps its observation as well, features are renewed only at certain times, and then the dictionary is
    computed anew from its observations: each entry keeps its count, and entries that are now closer than the threshold
    are merged and their counts added up. Observations that older features did not tell apart share one entry, which
    has the count of all of them; where new features do, the others start at 0. Until the first renewal features are a
    random projection. In a finite MDP every state is an entry.

    Args:
        size: largest number of entries.
        threshold: distance of renewed features from which on an observation is a new entry. Features have a scale:
            the network takes an observation for another one at distance d with odds of exp(-d²). A full dictionary
            raises the threshold until the next renewal; see `Prototypes`.
        dims: number of features.
        first_renewal: number of steps after which features are renewed for the first time, then each time that the
            number of steps has doubled.
        learning_rate: learning rate of Adam.
        width: units per hidden layer.
        depth: number of hidden layers between observations and features. With none, features are linear, which
            generalize best to observations that were never seen.
    """

    size: int = eqx.field(default=1024, static=True)
    threshold: float = eqx.field(default=1.0, static=True)
    dims: int = eqx.field(default=16, static=True)
    first_renewal: int = eqx.field(default=10_000, static=True)
    learning_rate: Array = 1e-2
    width: int = eqx.field(default=128, static=True)
    depth: int = eqx.field(default=0, static=True)

    def __check_init__(self) -> None:
        check_at_least("the learning rate of features", self.learning_rate, 0)
        check_at_least("the threshold of prototypes", self.threshold, 0)
        check_whole("the size of prototypes", self.size)
        check_whole("depth", self.depth, least=0)
        for name in ("dims", "first_renewal", "width"):
            check_whole(name, getattr(self, name))


class CountNetwork(eqx.Module):
    """Counts predicted by a network of its own, in one of the forms of `EValues`.

    It learns by SARSA from every step once, by Adam. So a count grows with the learning rate rather than by 1 for a
    visit, which makes no difference to rules that compare the counts of actions. Where there is no data the network
    does not keep its start, so counts generalize to places that were never seen.

    Args:
        learning_rate: learning rate of Adam.
        width: units per hidden layer.
        depth: number of hidden layers.
    """

    learning_rate: Array = 5e-4
    width: int = eqx.field(default=256, static=True)
    depth: int = eqx.field(default=2, static=True)

    def __check_init__(self) -> None:
        check_at_least("the learning rate of counts", self.learning_rate, 0)
        for name in ("width", "depth"):
            check_whole(name, getattr(self, name))


class RandomStart(eqx.Module):
    """E-values by a network that starts from a random function.

    A frozen random network g has several outputs for each pair, scaled to a root mean square of 1. Another network u
    learns values of the reward g(s, a) - discount * g(s', a') by SARSA. Then d = u - g learns from a reward of 0 and
    starts as a random function, which u matches only where it has data: the root mean square of d is the E-value, 1 at
    first. It has its own errors, so counts stop growing where E is as small as they are. Where successors are random
    their E-values partly cancel, which a visit count would not show.

    Args:
        outputs: number of outputs for each pair.
        learning_rate: learning rate of Adam.
        width: units per hidden layer of both networks.
        depth: number of hidden layers.
    """

    outputs: int = eqx.field(default=8, static=True)
    learning_rate: Array = 5e-4
    width: int = eqx.field(default=256, static=True)
    depth: int = eqx.field(default=2, static=True)

    def __check_init__(self) -> None:
        check_at_least("the learning rate of a random start", self.learning_rate, 0)
        for name in ("outputs", "width", "depth"):
            check_whole(name, getattr(self, name))


Features = Table | Tiles | KWinners | HashedCodes | Prototypes | LearnedPrototypes | CountNetwork | RandomStart
