"""Agents with networks and replay."""

from dorax.agents.deep.agent import DeepAgent

__all__ = ["DeepAgent"]
