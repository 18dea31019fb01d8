"""E-values for anybody's agent: wrappers that add a bonus to the reward, and what they are made of."""

from dorax.wrappers.counts import GeneralizedCounts
from dorax.wrappers.diagnosis import Diagnosis, diagnose
from dorax.wrappers.environments import EValueBonus, VectorEValueBonus
from dorax.wrappers.exploration import Exploration, LinearSchedule

__all__ = [
    "Diagnosis", "EValueBonus", "Exploration", "GeneralizedCounts", "LinearSchedule", "VectorEValueBonus",
    "diagnose",
]  # fmt: skip
