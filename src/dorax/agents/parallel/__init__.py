"""Agents that play many games in parallel and choose their actions by shared counts."""

from dorax.agents.parallel.agent import ParallelAgent

__all__ = ["ParallelAgent"]
