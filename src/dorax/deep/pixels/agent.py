"""Agents that learn from the screen: DQN, and what adds to its reward."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from dorax.core.checks import InvalidInput, check_at_least, check_discount, check_probability
from dorax.core.forms import CountE, LogisticE
from dorax.lanes.running import check_whole


@dataclass(frozen=True)
class PixelAgent:
    """Everything that an agent is, as numbers and words.

    The defaults are the authors', but for Adam's two numbers and the age of the target,
    which are those of Rainbow (Hessel et al., 2018), for ε and for the actor.

    The `bonus` is the only thing in which the agents of the paper differ: none is DQN,
    "density" a pseudo-count by a density model of frames, "e-values" a second stream of
    the network that learns E. A step is one action of one game.

    Of many games played side by side each sees the network change many times faster than
    a single game would, too fast for any policy to last for long. So they are played by a
    copy, renewed every `actor_every` updates.
    """

    bonus: Literal["none", "density", "e-values"] = "none"
    """What is added to the reward."""
    bonus_scale: float = 0.05
    """What it is multiplied with."""
    bonus_at: Literal["visit", "replay"] = "visit"
    """Whether a bonus is worth what it was when it was earned, or is computed anew for each replay."""
    e_form: Literal["logistic", "count"] = "logistic"
    """What the stream of E learns: E through a logistic function, as in the paper, or counts."""
    e_discount: float = 0.99
    """The paper's gamma_E: how far generalized counts look ahead."""
    acts_by: Literal["epsilon-greedy", "lll"] = "epsilon-greedy"
    """Whether chance picks among the actions of ε-greedy, or counts do."""
    discount: float = 0.99
    """How much later rewards count."""
    learning_rate: float = 6.25e-5
    """Adam's step."""
    adam_epsilon: float = 1.5e-4
    """Adam's number against division by little."""
    clip: float = 10.0
    """The most that a squared error, and the norm of a gradient, may be."""
    batch: int = 32
    """Steps that an update replays."""
    update_every: int = 4
    """Steps for every update."""
    target_every: int = 2_000
    """Updates after which the target network is renewed."""
    actor_every: int = 2_500
    """Updates after which the network that plays is renewed."""
    capacity: int = 1_000_000
    """Steps that the replay holds."""
    learning_starts: int = 50_000
    """Steps before the first update."""
    epsilon_first: float = 1.0
    """ε at the beginning."""
    epsilon_last: float = 0.1
    """ε in the end."""
    epsilon_steps: int = 500_000
    """Steps over which ε falls from the one to the other."""
    hidden: int = 256
    """Units of the hidden layer of each stream."""

    def __post_init__(self) -> None:
        for name, allowed in _WORDS.items():
            if getattr(self, name) not in allowed:
                raise InvalidInput(f"{name} is {getattr(self, name)!r}; allowed: {', '.join(map(repr, allowed))}")
        check_whole_numbers(self)
        for name in ("bonus_scale", "learning_rate", "adam_epsilon", "clip"):
            check_at_least(name, getattr(self, name), 0)
        for name in ("discount", "e_discount"):
            check_discount(name, getattr(self, name))
        for name in ("epsilon_first", "epsilon_last"):
            check_probability(name, getattr(self, name))
        if self.bonus_at == "replay" and self.bonus == "density":
            raise InvalidInput("bonus_at is 'replay' with a density; allowed: 'visit', when a frame is counted")
        if self.capacity < self.learning_starts:
            raise InvalidInput(
                f"capacity is {self.capacity}; allowed: learning_starts, {self.learning_starts}, or more"
            )

    @property
    def e_values(self) -> LogisticE | CountE | None:
        """The form of E that the second stream learns, if there is one."""
        if self.bonus != "e-values" and self.acts_by != "lll":
            return None
        return {"logistic": LogisticE, "count": CountE}[self.e_form](discount=self.e_discount)

    def epsilon(self, step: int) -> float:
        share = min(1.0, step / self.epsilon_steps)
        return self.epsilon_first + share * (self.epsilon_last - self.epsilon_first)


def check_whole_numbers(settings: Any, but: str = "") -> None:
    """Raise unless all fields that are declared whole numbers are so, and positive."""
    for field in fields(settings):
        if field.type == "int" and field.name != but:
            check_whole(field.name, getattr(settings, field.name))


_WORDS: dict[str, tuple[Any, ...]] = {
    "bonus": ("none", "density", "e-values"),
    "bonus_at": ("visit", "replay"),
    "e_form": ("logistic", "count"),
    "acts_by": ("epsilon-greedy", "lll"),
}
