"""Agents that learn from the screen: DQN, and what adds to its reward."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from dorax.core.checks import InvalidInput, check_at_least, check_discount, check_probability, check_whole
from dorax.core.counters import EValues


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
    """The bonus multiplier."""
    bonus_at: Literal["visit", "replay"] = "visit"
    """Whether the bonus is computed when the step is collected and stored with it, or at every replay."""
    e_form: Literal["logistic", "count"] = "logistic"
    """What the stream of E learns: E through a logistic function, as in the paper, or counts."""
    e_discount: float = 0.99
    """The paper's gamma_E: how far generalized counts look ahead."""
    acts_by: Literal["epsilon-greedy", "lll"] = "epsilon-greedy"
    """Whether chance picks among the actions of ε-greedy, or counts do."""
    discount: float = 0.99
    """The discount of rewards, the paper's gamma."""
    learning_rate: float = 6.25e-5
    """Adam's learning rate."""
    adam_epsilon: float = 1.5e-4
    """Adam's epsilon."""
    clip: float = 10.0
    """The clipping threshold of squared errors and of the norm of gradients."""
    batch: int = 32
    """Steps in the batch of one update."""
    update_every: int = 4
    """Steps between two updates."""
    target_every: int = 2_000
    """Updates between two copies of the target network."""
    actor_every: int = 2_500
    """Updates between two copies of the network that plays."""
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
    def counter(self) -> EValues | None:
        """What the second stream of the network learns, if there is one."""
        if self.bonus != "e-values" and self.acts_by != "lll":
            return None
        return EValues(self.e_discount, form=self.e_form)

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
