"""Watch agents learn a finite MDP: what they know after every episode, on one page to leaf through."""

from dorax.explorer.page import write_page
from dorax.explorer.presets import AGENTS, agents, world
from dorax.explorer.recording import Frame, Recording, record, shown_episodes

__all__ = ["AGENTS", "Frame", "Recording", "agents", "record", "shown_episodes", "world", "write_page"]
