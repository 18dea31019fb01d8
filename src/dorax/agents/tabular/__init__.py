"""Agents with tables."""

from dorax.agents.tabular.agent import TabularAgent
from dorax.agents.tabular.learner import TabularLearner
from dorax.agents.tabular.updates import DelayedQLearning, HoeffdingQLearning, NoveltyQLearning, QLearning

__all__ = ["DelayedQLearning", "HoeffdingQLearning", "NoveltyQLearning", "QLearning", "TabularAgent", "TabularLearner"]
