"""Sparse random codes: a state is described by the most active units of a random layer.

The layer is much wider than its input, each unit sees a few of the inputs, and only the few
most active of its thousands of units form the code. Similar inputs then share most of their
active units and dissimilar ones hardly any, as in the olfactory code of the fly (Dasgupta,
Stevens and Navlakha, 2017). In dense codes, random or learned, all states have something in
common, and their counts would blur together. Because units see only a few inputs, a change in
one place of an image leaves most of them as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from dorax.core.checks import InvalidInput, check_at_least
from dorax.wrappers.inputs import Normalised

_INPUTS_PER_UNIT = 8


class KWinnersCoder:
    """Computes the codes of the observations of a Box.

    Args:
        box: the observation space.
        units: width of the random layer.
        active: number of units in a code.
        seed: seed of the inputs that each unit sees, and of their signs.
    """

    def __init__(self, box: spaces.Box, units: int, active: int, seed: int) -> None:
        check_at_least("the number of units", units, 2)
        check_at_least("the number of active units", active, 1)
        if active >= units:
            raise InvalidInput(f"the number of active units is {active}; allowed: fewer than all units, {units}")
        self._active = int(active)
        self._normalised = Normalised(box)
        inputs = self._normalised.size
        random = np.random.default_rng(seed)
        shape = int(units), min(_INPUTS_PER_UNIT, inputs)
        # Without replacement: a unit that saw one input twice would be among the most active for any observation.
        priorities = random.random((shape[0], inputs), dtype=np.float32)
        self._inputs = np.argpartition(priorities, shape[1] - 1, axis=1)[:, : shape[1]]
        self._signs = random.choice(np.array([-1, 1], np.float32), size=shape)

    def keys(self, observation: Any) -> tuple[int, ...]:
        """Return the indices of the most active units."""
        x = self._normalised(observation)
        activation = np.sum(x[self._inputs] * self._signs, axis=1)
        return tuple(np.argpartition(activation, -self._active)[-self._active :].tolist())

    visit = keys

    def merged(self) -> dict[int, int]:
        """Return no keys: units are never merged."""
        return {}

    def observe(self, observation: Any) -> None:
        """Update the normalisation, during the first observations."""
        self._normalised.observe(observation)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state of the normalisation."""
        return self._normalised.arrays()

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Replace the state of the normalisation by what `arrays` returned."""
        self._normalised.restore(arrays)
