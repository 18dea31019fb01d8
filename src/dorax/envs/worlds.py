"""The environments that carry a name: each is a finite MDP with its keywords."""

from __future__ import annotations

from dorax import mdps
from dorax.envs.finite import FiniteEnv


class BridgeEnv(FiniteEnv):
    def __init__(self, length: int = 15, normalised: bool = False, render_mode: str | None = None) -> None:
        super().__init__(mdps.bridge(length, normalised=normalised), render_mode)


class TreeEnv(FiniteEnv):
    def __init__(self, leaves: int = 5, render_mode: str | None = None) -> None:
        super().__init__(mdps.tree(leaves), render_mode)


class CliffEnv(FiniteEnv):
    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(mdps.cliff(), render_mode)


class DeepSeaEnv(FiniteEnv):
    def __init__(self, size: int = 10, seed: int = 0, render_mode: str | None = None) -> None:
        super().__init__(mdps.deep_sea(size, seed), render_mode)
