"""E-values for any agent: Gymnasium wrappers that add an exploration bonus to the reward, and their parts."""

from dorax.wrappers.counts import GeneralizedCounts
from dorax.wrappers.diagnosis import Diagnosis, diagnose
from dorax.wrappers.environments import EValueBonus, VectorEValueBonus
from dorax.wrappers.exploration import Exploration

__all__ = [
    "Diagnosis", "EValueBonus", "Exploration", "GeneralizedCounts", "VectorEValueBonus",
    "diagnose",
]  # fmt: skip
