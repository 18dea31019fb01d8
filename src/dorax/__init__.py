"""dorax: directed exploration for reinforcement learning with E-values."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dorax import core, envs, mdps
from dorax.core import (
    LLL,
    UCB,
    ConstantBonus,
    Deficit,
    EpsilonGreedy,
    EValues,
    InvalidInput,
    InverseCount,
    InverseRootCount,
    InverseRootLogE,
    LinearSchedule,
    PiecewiseSchedule,
    Sample,
    SampledLLL,
    Softmax,
    Spread,
    Visits,
)

if TYPE_CHECKING:
    from dorax.agents.atari import AtariAgent, DensityModel
    from dorax.agents.deep import DeepAgent
    from dorax.agents.explorers import RND, NovelD
    from dorax.agents.linear import LinearAgent
    from dorax.agents.parallel import ParallelAgent
    from dorax.agents.tabular import (
        DelayedQLearning,
        HoeffdingQLearning,
        NoveltyQLearning,
        QLearning,
        TabularAgent,
        TabularLearner,
    )
    from dorax.engine.devices import use_all_cores
    from dorax.engine.host import HostOptions
    from dorax.engine.probes import Maps
    from dorax.engine.result import Result
    from dorax.engine.settings import grid
    from dorax.engine.training import train
    from dorax.explorer import explore
    from dorax.features.specs import (
        CountNetwork,
        HashedCodes,
        KWinners,
        LearnedPrototypes,
        Prototypes,
        RandomStart,
        Table,
        Tiles,
    )
    from dorax.learners import Learner, evaluate, load, play
    from dorax.wrappers import (
        Diagnosis,
        EValueBonus,
        Exploration,
        GeneralizedCounts,
        VectorEValueBonus,
        diagnose,
    )

__version__ = "0.2.0"

envs.register()

__all__ = [
    "LLL", "RND", "UCB", "AtariAgent", "ConstantBonus", "CountNetwork", "DeepAgent", "Deficit", "DelayedQLearning",
    "DensityModel", "Diagnosis", "EValueBonus", "EValues", "EpsilonGreedy", "Exploration", "GeneralizedCounts",
    "HashedCodes", "HoeffdingQLearning", "HostOptions", "InvalidInput", "InverseCount", "InverseRootCount",
    "InverseRootLogE", "KWinners", "LearnedPrototypes", "Learner", "LinearAgent", "LinearSchedule", "Maps",
    "NovelD", "NoveltyQLearning", "ParallelAgent", "PiecewiseSchedule", "Prototypes", "QLearning", "RandomStart",
    "Result", "Sample", "SampledLLL", "Softmax", "Spread", "Table", "TabularAgent", "TabularLearner", "Tiles",
    "VectorEValueBonus", "Visits", "core", "diagnose", "envs", "evaluate", "explore", "grid", "load", "mdps", "play",
    "train", "use_all_cores",
]  # fmt: skip

# Imported on first use, so that `import dorax` stays fast.
_HOMES = {
    "agents.atari": ("AtariAgent", "DensityModel"),
    "agents.deep": ("DeepAgent",),
    "agents.explorers": ("RND", "NovelD"),
    "agents.linear": ("LinearAgent",),
    "agents.parallel": ("ParallelAgent",),
    "agents.tabular": (
        "DelayedQLearning", "HoeffdingQLearning", "NoveltyQLearning", "QLearning", "TabularAgent", "TabularLearner",
    ),
    "engine.devices": ("use_all_cores",),
    "engine.host": ("HostOptions",),
    "engine.probes": ("Maps",),
    "engine.result": ("Result",),
    "engine.settings": ("grid",),
    "engine.training": ("train",),
    "explorer": ("explore",),
    "features.specs": (
        "CountNetwork", "HashedCodes", "KWinners", "LearnedPrototypes", "Prototypes", "RandomStart", "Table", "Tiles",
    ),
    "learners": ("Learner", "evaluate", "load", "play"),
    "wrappers": (
        "Diagnosis", "EValueBonus", "Exploration", "GeneralizedCounts", "VectorEValueBonus", "diagnose",
    ),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        found = getattr(import_module(f"dorax.{_HOME_OF[name]}"), name)
    elif name in ("agents", "engine", "features", "wrappers"):
        found = import_module(f"dorax.{name}")
    else:
        raise AttributeError(f"module 'dorax' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
