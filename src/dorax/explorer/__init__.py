"""Watch agents learn a finite MDP: a web page with their values and counts after every episode."""

from dorax.explorer.notebook import Explored, explore
from dorax.explorer.page import page_of, write_page
from dorax.explorer.presets import AGENTS, agents
from dorax.explorer.recording import Frame, Recording, record, shown_episodes

__all__ = [
    "AGENTS", "Explored", "Frame", "Recording", "agents", "explore", "page_of", "record", "shown_episodes",
    "write_page",
]  # fmt: skip
