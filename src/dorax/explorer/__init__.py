"""Watch agents learn a finite MDP: a web page with their values and counts after every episode."""

from dorax.explorer.page import write_page
from dorax.explorer.presets import AGENTS, agents
from dorax.explorer.recording import Frame, Recording, record, shown_episodes

__all__ = ["AGENTS", "Frame", "Recording", "agents", "record", "shown_episodes", "write_page"]
