"""dorax: directed exploration for reinforcement learning, by E-values."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
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

# Nobody needs all of these: each is imported when it is first asked for.
_HOMES = {
    "deep": ("DeepAgent",),
    "lanes.devices": ("use_all_cores",),
    "lanes.settings": ("grid",),
    "lanes.training": ("Maps",),
    "linear": ("LinearAgent",),
    "tabular": ("DelayedQLearning", "QLearning", "TabularAgent", "TabularLearner"),
    "training": ("train",),
    "wrappers": (
        "Diagnosis", "EValueBonus", "Exploration", "GeneralizedCounts", "LinearSchedule", "Network", "Table", "Tiles",
        "VectorEValueBonus", "diagnose",
    ),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        found = getattr(import_module(f"dorax.{_HOME_OF[name]}"), name)
    elif name in _HOMES:
        found = import_module(f"dorax.{name}")
    else:
        raise AttributeError(f"module 'dorax' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
