"""Numbers that differ between the games of a learner."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp

from dorax.core.arrays import Array
from dorax.core.checks import Flags, Numbers, check_numbers

Part = TypeVar("Part")


def _is_positive(x: Numbers) -> Flags:
    return x > 0


class Spread(eqx.Module):
    """A number that differs between the games of a learner, from `first` to `last` in equal ratios.

    A policy or a rule takes one wherever it takes a number: with `EpsilonGreedy(Spread(0.01, 0.4))` some games explore
    a lot and others hardly (after the ε of the actors of Horgan et al., 2018).

    Args:
        first: the number of the first game that explores.
        last: the number of the last game.
    """

    first: Array
    last: Array

    def __check_init__(self) -> None:
        for end in ("first", "last"):
            check_numbers(f"the {end} number of a spread", getattr(self, end), "a number above 0", _is_positive)

    @property
    def ends(self) -> tuple[Array, Array]:
        """The two numbers that all others lie between."""
        return self.first, self.last

    def numbers(self, games: int) -> Array:
        """Return the numbers of so many games.

        Args:
            games: number of games.
        """
        share = jnp.linspace(0.0, 1.0, games)
        return jnp.exp((1 - share) * jnp.log(jnp.asarray(self.first)) + share * jnp.log(jnp.asarray(self.last)))


def for_games(part: Part, games: int, first: int = 0) -> Part:
    """Give every number of a rule an axis over games, and replace spreads by their numbers.

    Args:
        part: the rule.
        games: number of games.
        first: the first game that explores; those before it get its number.

    Returns:
        The same part, to be mapped over games.
    """

    def numbers(leaf: Any) -> Any:
        if isinstance(leaf, Spread):
            found = leaf.numbers(games - first)
            return jnp.concatenate([jnp.broadcast_to(found[0], (first,)), found])
        return jnp.broadcast_to(jnp.asarray(leaf, float), (games,)) if eqx.is_array_like(leaf) else leaf

    return jax.tree.map(numbers, part, is_leaf=_is_spread)


def has_spread(part: Any) -> bool:
    """Return whether any number of a rule differs between games.

    Args:
        part: the rule.
    """
    return any(_is_spread(leaf) for leaf in jax.tree.leaves(part, is_leaf=_is_spread))


def _is_spread(leaf: Any) -> bool:
    return isinstance(leaf, Spread)
