"""Agents with tables, and the engine that trains many of them at once."""

from dorax.tabular.agent import TabularAgent
from dorax.tabular.learner import TabularLearner
from dorax.tabular.learners import DelayedQLearning, QLearning
from dorax.tabular.training import Training, train

__all__ = [
    "DelayedQLearning",
    "QLearning",
    "TabularAgent",
    "TabularLearner",
    "Training",
    "train",
]
