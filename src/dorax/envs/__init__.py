"""Environments: functional ones in JAX, and environments registered with Gymnasium.

`import dorax` registers the Gymnasium environments, since Gymnasium no longer reads entry points of other
packages. Their modules are imported when an environment is made.
"""

from dorax.envs.acrobot import SparseAcrobot
from dorax.envs.atari import Atari
from dorax.envs.dense import DenseView
from dorax.envs.functional import FunctionalEnv, check_spaces
from dorax.envs.gymnax import from_gymnax
from dorax.envs.host import GymnasiumEnv
from dorax.envs.mountain_car import SparseMountainCar
from dorax.envs.params import with_params

_WORLDS = ("Bridge", "Tree", "Cliff", "DeepSea", "RiverSwim")
_STEPS_OF_CLASSICS = {"SparseMountainCar": 1000, "SparseAcrobot": 500}


def register() -> None:
    """Register `dorax/Bridge-v0` and the other environments with Gymnasium."""
    from gymnasium.envs.registration import register as register_env

    for name in _WORLDS:
        register_env(id=f"dorax/{name}-v0", entry_point=f"dorax.envs.worlds:{name}Env")
    for name, steps in _STEPS_OF_CLASSICS.items():
        register_env(id=f"dorax/{name}-v0", entry_point=f"dorax.envs.classic:{name}Env", max_episode_steps=steps)


__all__ = [
    "Atari", "DenseView", "FunctionalEnv", "GymnasiumEnv", "SparseAcrobot", "SparseMountainCar", "check_spaces",
    "from_gymnax", "register", "with_params",
]  # fmt: skip
