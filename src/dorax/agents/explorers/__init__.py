"""What tells an agent where to explore: counts in tables or by networks, and errors of predictors."""

from dorax.agents.explorers.presets import PRESETS, Preset, preset
from dorax.agents.explorers.specs import RND, NovelD

__all__ = ["PRESETS", "RND", "NovelD", "Preset", "preset"]
