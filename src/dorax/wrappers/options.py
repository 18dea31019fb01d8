"""The options of bonuses, one class for each bonus; combined with a class for each kind of environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Literal, TypeVar

from dorax.core.bonuses import InverseRootCount
from dorax.core.checks import InvalidInput
from dorax.core.counters import EValues, Visits
from dorax.features.specs import Features, HashedCodes, Prototypes, Table
from dorax.wrappers.exploration import Bonus, Exploration
from dorax.wrappers.source import BonusSource, Scale

EnvT = TypeVar("EnvT")
Paid = Literal["both", "intrinsic"]


class BonusWrapper:
    """What all bonus wrappers have in common.

    Attributes:
        exploration: computes the bonuses.
        reward: "both" if the agent gets the true reward and the bonus, "intrinsic" if it gets the bonus alone.
    """

    exploration: Any  # a BonusSource; which one depends on the bonus
    reward: Paid

    def _wrap(self, env: Any, source: Callable[..., BonusSource], options: Mapping[str, Any], reward: Paid) -> None:
        """Wrap an environment.

        Args:
            env: the environment.
            source: makes the `exploration`, of spaces, the number of environments and options.
            options: these options.
            reward: what the agent gets.
        """
        raise NotImplementedError

    def _set(self, exploration: BonusSource, reward: Paid) -> None:
        if reward not in ("both", "intrinsic"):
            raise InvalidInput(f"reward is {reward!r}; allowed: 'both', 'intrinsic'")
        self.exploration, self.reward = exploration, reward

    def _paid(self, true_reward: Any, bonus: Any) -> Any:
        """Return what the agent gets. While exploration is off, as for evaluation, it is the true reward."""
        return bonus if self.reward == "intrinsic" and self.exploration.is_on else true_reward + bonus


class EValueOptions(BonusWrapper, Generic[EnvT]):
    """Adds to the reward a bonus that decreases with the generalized count of the state-action pair.

    Args:
        env: the environment, with discrete actions.
        counter: counts visits, generalized (`EValues`, whose learning rate is 0.5 unless given) or plain
            (`Visits`).
        bonus: turns a count into a bonus: `InverseRootCount`, `InverseCount` or a function of a count and the
            counter's learning rate.
        scale: multiplies the bonus: a number, or a function of the number of steps so far, such as
            `LinearSchedule`.
        features: how counts are stored: `Table`, `Tiles`, `KWinners`, `HashedCodes`, `Prototypes`, `LearnedPrototypes`,
            `CountNetwork` or `RandomStart`; by default the observation space decides.
        seed: seeds the random numbers of `exploration.act` and the random codes and networks of `features`.
        reward: what the agent gets: "both" for the true reward and the bonus, "intrinsic" for the bonus alone.

    Attributes:
        exploration: the `Exploration` behind the wrapper: its counts, saving and loading, and `exploration.off()`
            for evaluation.
    """

    exploration: Exploration

    def __init__(
        self,
        env: EnvT,
        *,
        counter: EValues | Visits = EValues(0.99),
        bonus: Bonus = InverseRootCount(),
        scale: Scale = 0.03,
        features: Features | None = None,
        seed: int = 0,
        reward: Paid = "both",
    ) -> None:
        options = {"counter": counter, "bonus": bonus, "scale": scale, "features": features, "seed": seed}
        self._wrap(env, Exploration, options, reward)


class CountOptions(BonusWrapper, Generic[EnvT]):
    """Adds to the reward a bonus that decreases with the number of visits of the state-action pair.

    Args:
        env: the environment, with discrete actions.
        bonus: turns a count into a bonus: `InverseRootCount`, `InverseCount` or a function of a count and a rate, which
            plain counts do not have.
        scale: multiplies the bonus: a number, or a function of the number of steps so far, such as
            `LinearSchedule`.
        features: how counts are stored: `Table`, `Tiles`, `KWinners`, `HashedCodes`, `Prototypes`, `LearnedPrototypes`,
            `CountNetwork` or `RandomStart`; by default the observation space decides.
        seed: seeds the random numbers of `exploration.act` and the random codes and networks of `features`.
        reward: what the agent gets: "both" for the true reward and the bonus, "intrinsic" for the bonus alone.

    Attributes:
        exploration: the `Exploration` behind the wrapper: its counts, saving and loading, and `exploration.off()`
            for evaluation.
    """

    exploration: Exploration

    def __init__(
        self,
        env: EnvT,
        *,
        bonus: Bonus = InverseRootCount(),
        scale: Scale = 0.03,
        features: Features | None = None,
        seed: int = 0,
        reward: Paid = "both",
    ) -> None:
        self._wrap(env, _visits, {"bonus": bonus, "scale": scale, "features": features, "seed": seed}, reward)


class RNDOptions(BonusWrapper, Generic[EnvT]):
    """Adds to the reward the error of a predictor at the next observation: random network distillation, see `RND`.

    Args:
        env: the environment, with any actions.
        scale: multiplies the bonus: a number, or a function of the number of steps so far, such as
            `LinearSchedule`.
        learning_rate: learning rate of the predictor.
        width: units per hidden layer, of which both networks have two.
        outputs: number of outputs of both networks.
        warm_up: number of first steps, which have no bonus and from which only the running statistics learn.
        share: share of the observations that the predictor is trained on.
        batch_size: number of observations that are collected before the predictor is trained on them, in four parts.
        seed: seeds the networks and the order in which they learn.
        reward: what the agent gets: "both" for the true reward and the bonus, "intrinsic" for the bonus alone.

    Attributes:
        exploration: the `PredictedNovelty` behind the wrapper: saving and loading, and `exploration.off()` for
            evaluation.
    """

    exploration: BonusSource

    def __init__(
        self,
        env: EnvT,
        *,
        scale: Scale = 1.0,
        learning_rate: float = 1e-3,
        width: int = 64,
        outputs: int = 32,
        warm_up: int = 1000,
        share: float = 1.0,
        batch_size: int = 128,
        seed: int = 0,
        reward: Paid = "both",
    ) -> None:
        options = {
            "scale": scale, "learning_rate": learning_rate, "width": width, "outputs": outputs, "warm_up": warm_up,
            "share": share, "batch_size": batch_size, "seed": seed,
        }  # fmt: skip
        self._wrap(env, _rnd, options, reward)


class NovelDOptions(BonusWrapper, Generic[EnvT]):
    """Adds to the reward a bonus for crossing the border of what is known, once in an episode, see `NovelD`.

    Args:
        env: the environment, with any actions.
        scale: multiplies the bonus: a number, or a function of the number of steps so far, such as
            `LinearSchedule`.
        discount: share of the novelty of a state that is subtracted from that of the next one.
        features: how states are told apart within an episode: `Table`, `HashedCodes` or `Prototypes`; by default a
            table for finite spaces and prototypes for others.
        learning_rate: learning rate of the predictor.
        width: units per hidden layer, of which both networks have two.
        outputs: number of outputs of both networks.
        warm_up: number of first steps, which have no bonus and from which only the running statistics learn.
        share: share of the observations that the predictor is trained on.
        batch_size: number of observations that are collected before the predictor is trained on them, in four parts.
        seed: seeds the networks, the order in which they learn and random codes.
        reward: what the agent gets: "both" for the true reward and the bonus, "intrinsic" for the bonus alone.

    Attributes:
        exploration: the `PredictedNovelty` behind the wrapper: saving and loading, and `exploration.off()` for
            evaluation.
    """

    exploration: BonusSource

    def __init__(
        self,
        env: EnvT,
        *,
        scale: Scale = 1.0,
        discount: float = 0.5,
        features: Table | HashedCodes | Prototypes | None = None,
        learning_rate: float = 1e-3,
        width: int = 64,
        outputs: int = 32,
        warm_up: int = 1000,
        share: float = 1.0,
        batch_size: int = 128,
        seed: int = 0,
        reward: Paid = "both",
    ) -> None:
        options = {
            "scale": scale, "discount": discount, "features": features, "learning_rate": learning_rate, "width": width,
            "outputs": outputs, "warm_up": warm_up, "share": share, "batch_size": batch_size, "seed": seed,
        }  # fmt: skip
        self._wrap(env, _noveld, options, reward)


def _visits(observations: Any, actions: Any, num_envs: int, **options: Any) -> BonusSource:
    return Exploration(observations, actions, num_envs, counter=Visits(), **options)


def _rnd(
    observations: Any, actions: Any, num_envs: int, *, scale: Scale, batch_size: int, seed: int, **options: Any
) -> BonusSource:
    del actions
    from dorax.agents.explorers.specs import RND  # takes long to import
    from dorax.wrappers.novelty import PredictedNovelty

    return PredictedNovelty(observations, num_envs, RND(**options), scale=scale, batch_size=batch_size, seed=seed)


def _noveld(
    observations: Any, actions: Any, num_envs: int, *, discount: float, features: Any, scale: Scale, batch_size: int,
    seed: int, **options: Any,
) -> BonusSource:  # fmt: skip
    del actions
    from dorax.agents.explorers.specs import RND, NovelD  # takes long to import
    from dorax.wrappers.novelty import PredictedNovelty

    described = NovelD(RND(**options), discount, features)
    return PredictedNovelty(observations, num_envs, described, scale=scale, batch_size=batch_size, seed=seed)
