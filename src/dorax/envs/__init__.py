"""Environments: functional ones in JAX, and environments registered with Gymnasium by `import dorax`."""

from dorax.envs.acrobot import SparseAcrobot
from dorax.envs.atari import Atari
from dorax.envs.dense import DenseView
from dorax.envs.functional import FunctionalEnv, check_spaces
from dorax.envs.gymnax import from_gymnax
from dorax.envs.host import GymnasiumEnv
from dorax.envs.mountain_car import SparseMountainCar
from dorax.envs.params import with_params

__all__ = [
    "Atari", "DenseView", "FunctionalEnv", "GymnasiumEnv", "SparseAcrobot", "SparseMountainCar", "check_spaces",
    "from_gymnax", "with_params",
]  # fmt: skip
