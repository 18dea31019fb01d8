"""Agents with tile coding."""

from dorax.linear.agent import LinearAgent, TileLearner
from dorax.linear.tiles import TileCoder

__all__ = ["LinearAgent", "TileCoder", "TileLearner"]
