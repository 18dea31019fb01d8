"""dorax: directed exploration for reinforcement learning, by E-values."""

from dorax import core, envs, mdps
from dorax.core import (
    LLL,
    UCB,
    CountE,
    Deficit,
    EpsilonGreedy,
    EValues,
    InvalidInput,
    InverseCount,
    InverseRootCount,
    InverseRootLogE,
    LogisticE,
    Sample,
    Softmax,
    Visits,
)
from dorax.deep import DeepAgent
from dorax.lanes.devices import use_all_cores
from dorax.lanes.settings import grid
from dorax.lanes.training import Maps
from dorax.linear import LinearAgent
from dorax.tabular import DelayedQLearning, QLearning, TabularAgent, TabularLearner
from dorax.training import train
from dorax.wrappers import (
    Diagnosis,
    EValueBonus,
    Exploration,
    GeneralizedCounts,
    LinearSchedule,
    Network,
    Table,
    Tiles,
    VectorEValueBonus,
    diagnose,
)

__version__ = "0.1.0"

envs.register()

__all__ = [
    "LLL", "UCB", "CountE", "DeepAgent", "Deficit", "DelayedQLearning", "Diagnosis", "EValueBonus", "EValues",
    "EpsilonGreedy", "Exploration", "GeneralizedCounts", "InvalidInput", "InverseCount", "InverseRootCount",
    "InverseRootLogE", "LinearAgent", "LinearSchedule", "LogisticE", "Maps", "Network", "QLearning", "Sample",
    "Softmax", "Table", "TabularAgent", "TabularLearner", "Tiles", "VectorEValueBonus", "Visits", "core", "diagnose",
    "envs", "grid", "mdps", "train", "use_all_cores",
]  # fmt: skip
