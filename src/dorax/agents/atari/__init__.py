"""Agents that learn Atari games from the screen."""

from dorax.agents.atari.agent import AtariAgent
from dorax.agents.atari.density import DensityModel
from dorax.agents.atari.learner import ScreenLearner

__all__ = ["AtariAgent", "DensityModel", "ScreenLearner"]
