"""dorax: directed exploration for reinforcement learning, by E-values."""

from dorax import core, envs, mdps
from dorax.core import (
    LLL,
    UCB,
    Deficit,
    EpsilonGreedy,
    EValues,
    InvalidInput,
    InverseCount,
    InverseRootCount,
    InverseRootLogE,
    Sample,
    Softmax,
    Visits,
)
from dorax.tabular import (
    DelayedQLearning,
    QLearning,
    TabularAgent,
    TabularLearner,
    grid,
    train,
    use_all_cores,
)

__version__ = "0.1.0"

envs.register()

__all__ = [
    "LLL", "UCB", "Deficit", "DelayedQLearning", "EValues", "EpsilonGreedy", "InvalidInput", "InverseCount",
    "InverseRootCount", "InverseRootLogE", "QLearning", "Sample", "Softmax", "TabularAgent", "TabularLearner", "Visits",
    "core", "envs", "grid", "mdps", "train", "use_all_cores",
]  # fmt: skip
