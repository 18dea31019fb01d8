"""Agents with networks and replay."""

from dorax.agents.deep.agent import DeepAgent
from dorax.agents.deep.rnd import RND

__all__ = ["RND", "DeepAgent"]
