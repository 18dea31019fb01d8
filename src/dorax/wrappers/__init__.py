"""Bonuses for any agent: Gymnasium wrappers that add an exploration bonus to the reward, and their parts."""

from dorax.wrappers.counts import GeneralizedCounts
from dorax.wrappers.diagnosis import Diagnosis, diagnose
from dorax.wrappers.environments import (
    CountBonus,
    EValueBonus,
    NovelDBonus,
    RNDBonus,
    VectorCountBonus,
    VectorEValueBonus,
    VectorNovelDBonus,
    VectorRNDBonus,
)
from dorax.wrappers.exploration import Exploration

__all__ = [
    "CountBonus", "Diagnosis", "EValueBonus", "Exploration", "GeneralizedCounts", "NovelDBonus", "RNDBonus",
    "VectorCountBonus", "VectorEValueBonus", "VectorNovelDBonus", "VectorRNDBonus", "diagnose",
]  # fmt: skip
