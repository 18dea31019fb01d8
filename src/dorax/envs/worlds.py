"""The registered environments of finite MDPs; see `dorax.mdps`."""

from __future__ import annotations

from dorax import mdps
from dorax.envs.finite import FiniteEnv


class BridgeEnv(FiniteEnv):
    """`dorax/Bridge-v0`; see `dorax.mdps.bridge`.

    Args:
        length: number of cells.
        normalised: use rewards in [0, 1].
        render_mode: `"ansi"`, `"rgb_array"` or None.
    """

    def __init__(self, length: int = 15, normalised: bool = False, render_mode: str | None = None) -> None:
        super().__init__(mdps.bridge(length, normalised=normalised), render_mode)


class TreeEnv(FiniteEnv):
    """`dorax/Tree-v0`; see `dorax.mdps.tree`.

    Args:
        leaves: number of leaves.
        render_mode: `"ansi"`, `"rgb_array"` or None.
    """

    def __init__(self, leaves: int = 5, render_mode: str | None = None) -> None:
        super().__init__(mdps.tree(leaves), render_mode)


class CliffEnv(FiniteEnv):
    """`dorax/Cliff-v0`; see `dorax.mdps.cliff`.

    Args:
        render_mode: `"ansi"`, `"rgb_array"` or None.
    """

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(mdps.cliff(), render_mode)


class DeepSeaEnv(FiniteEnv):
    """`dorax/DeepSea-v0`; see `dorax.mdps.deep_sea`.

    Args:
        size: number of rows and of columns.
        seed: seed of the random action mapping.
        is_stochastic: make moves to the right and the last reward random.
        render_mode: `"ansi"`, `"rgb_array"` or None.
    """

    def __init__(
        self, size: int = 10, seed: int = 0, is_stochastic: bool = False, render_mode: str | None = None
    ) -> None:
        super().__init__(mdps.deep_sea(size, seed, is_stochastic=is_stochastic), render_mode)


class RiverSwimEnv(FiniteEnv):
    """`dorax/RiverSwim-v0`; see `dorax.mdps.river_swim`.

    Args:
        length: number of states.
        render_mode: `"ansi"`, `"rgb_array"` or None.
    """

    def __init__(self, length: int = 6, render_mode: str | None = None) -> None:
        super().__init__(mdps.river_swim(length), render_mode)
