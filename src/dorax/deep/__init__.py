"""Agents with networks."""

from dorax.deep.agent import DeepAgent, NetworkLearner

__all__ = ["DeepAgent", "NetworkLearner"]
