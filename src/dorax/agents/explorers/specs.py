"""Bonuses that predictor networks compute: random network distillation and NovelD."""

from __future__ import annotations

from typing import Any

import equinox as eqx

from dorax.core.arrays import Array
from dorax.core.checks import (
    Flags,
    InvalidInput,
    Numbers,
    check_at_least,
    check_finite,
    check_numbers,
    check_probability,
    check_whole,
    in_brief,
)
from dorax.features.specs import HashedCodes, Prototypes, Table


def _is_share(x: Numbers) -> Flags:
    return (x > 0) & (x <= 1)


class RND(eqx.Module):
    """A bonus for observations that a predictor network does not know: random network distillation.

    The bonus of a step is scale * error / deviation: the mean squared error of the predictor at the next observation
    over the running standard deviation of the errors' discounted sum (Burda et al., 2018). Observations are normalised
    by their running mean and variance and clipped at 5 standard deviations; the states of finite MDPs are vectors with
    a single 1 and stay as they are. The predictor is trained by Adam on observations since its last update. It needs
    no counter.

    Args:
        scale: bonus multiplier.
        learning_rate: learning rate of the predictor.
        width: units per hidden layer, of which both networks have two.
        outputs: number of outputs of both networks.
        warm_up: number of first steps, which have no bonus and from which only the running statistics learn.
        share: share of the observations that the predictor is trained on. With many games it learns from more of them
            at once, and a smaller share keeps the bonus from vanishing before Q has learned from it.
    """

    scale: Array = 1.0
    learning_rate: Array = 1e-3
    width: int = eqx.field(default=64, static=True)
    outputs: int = eqx.field(default=32, static=True)
    warm_up: int = eqx.field(default=1000, static=True)
    share: Array = 1.0

    def __check_init__(self) -> None:
        check_finite("the scale of the bonus", self.scale)
        check_at_least("the learning rate of the bonus", self.learning_rate, 0)
        for name in ("width", "outputs"):
            check_whole(name, getattr(self, name))
        check_whole("warm_up", self.warm_up, least=2)
        check_numbers("the share of the bonus", self.share, "a number above 0, at most 1", _is_share)


class NovelD(eqx.Module):
    """A bonus for crossing the border of what is known, once in an episode (Zhang et al., 2021).

    The bonus of a step from s to s' is max(n(s') - discount * n(s), 0), and 0 if s' was visited before in this
    episode. The novelty n is the root of the error that `rnd` is computed from. As there, the bonus is divided by the
    running standard deviation of its discounted sum. It needs no counter.

    Args:
        rnd: the predictor network and the scale of the bonus.
        discount: share of the novelty of s that is subtracted.
        features: how states are told apart within an episode: `Table`, `HashedCodes` or `Prototypes`; by default a
            table for finite MDPs and prototypes for others.
    """

    rnd: RND = RND()
    discount: Array = 0.5
    features: Any = None

    def __check_init__(self) -> None:
        if not isinstance(self.rnd, RND):  # pyright: ignore[reportUnnecessaryIsInstance]  # from users
            raise InvalidInput(f"rnd is {in_brief(self.rnd)}; allowed: an RND")
        check_probability("the discount of NovelD", self.discount)
        if self.features is not None and not isinstance(self.features, Table | HashedCodes | Prototypes):
            raise InvalidInput(
                f"features of NovelD are {in_brief(self.features)}; allowed: Table, HashedCodes, Prototypes, None"
            )
