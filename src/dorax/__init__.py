"""dorax: directed exploration for reinforcement learning with E-values."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dorax import core, envs, mdps
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
        CountBonus,
        Diagnosis,
        EValueBonus,
        Exploration,
        GeneralizedCounts,
        NovelDBonus,
        RNDBonus,
        VectorCountBonus,
        VectorEValueBonus,
        VectorNovelDBonus,
        VectorRNDBonus,
        diagnose,
    )

__version__ = "0.2.0"

__all__ = [
    "LLL", "RND", "UCB", "AtariAgent", "ConstantBonus", "CountBonus", "CountNetwork", "DeepAgent", "Deficit",
    "DelayedQLearning", "DensityModel", "Diagnosis", "EValueBonus", "EValues", "EpsilonGreedy", "Exploration",
    "GeneralizedCounts", "HashedCodes", "HoeffdingQLearning", "HostOptions", "InvalidInput", "InverseCount",
    "InverseRootCount", "InverseRootLogE", "KWinners", "LearnedPrototypes", "Learner", "LinearAgent", "LinearSchedule",
    "Maps", "NovelD", "NovelDBonus", "NoveltyQLearning", "ParallelAgent", "PiecewiseSchedule", "Prototypes",
    "QLearning", "RNDBonus", "RandomStart", "Result", "Sample", "SampledLLL", "Softmax", "Spread", "Table",
    "TabularAgent", "TabularLearner", "Tiles", "VectorCountBonus", "VectorEValueBonus", "VectorNovelDBonus",
    "VectorRNDBonus", "Visits", "core", "diagnose", "envs", "evaluate", "explore", "grid", "load", "mdps", "play",
    "train", "use_all_cores",
]  # fmt: skip

# Imported on first use, JAX among them: `import dorax` takes no longer than what a script needs of it.
_HOMES = {
    "agents.atari": ("AtariAgent", "DensityModel"),
    "agents.deep": ("DeepAgent",),
    "agents.explorers": ("RND", "NovelD"),
    "agents.linear": ("LinearAgent",),
    "agents.parallel": ("ParallelAgent",),
    "agents.tabular": (
        "DelayedQLearning", "HoeffdingQLearning", "NoveltyQLearning", "QLearning", "TabularAgent", "TabularLearner",
    ),
    "core": (
        "LLL", "UCB", "ConstantBonus", "Deficit", "EValues", "EpsilonGreedy", "InvalidInput", "InverseCount",
        "InverseRootCount", "InverseRootLogE", "LinearSchedule", "PiecewiseSchedule", "Sample", "SampledLLL", "Softmax",
        "Spread", "Visits",
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
        "CountBonus", "Diagnosis", "EValueBonus", "Exploration", "GeneralizedCounts", "NovelDBonus", "RNDBonus",
        "VectorCountBonus", "VectorEValueBonus", "VectorNovelDBonus", "VectorRNDBonus", "diagnose",
    ),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def _register_environments() -> None:
    """Register `dorax/Bridge-v0` and others: Gymnasium no longer reads entry points of other packages."""
    from gymnasium.envs.registration import register

    for name in ("Bridge", "Tree", "Cliff", "DeepSea", "RiverSwim"):
        register(id=f"dorax/{name}-v0", entry_point=f"dorax.envs.worlds:{name}Env")
    for name, steps in {"SparseMountainCar": 1000, "SparseAcrobot": 500}.items():
        register(id=f"dorax/{name}-v0", entry_point=f"dorax.envs.classic:{name}Env", max_episode_steps=steps)


_register_environments()


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        found = getattr(import_module(f"dorax.{_HOME_OF[name]}"), name)
    elif name in ("agents", "core", "engine", "envs", "features", "mdps", "wrappers"):
        found = import_module(f"dorax.{name}")
    else:
        raise AttributeError(f"module 'dorax' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
