"""Make explorers from an agent's counter and bonus."""

from __future__ import annotations

from typing import Any

from dorax.agents.explorers.protocol import Explorer
from dorax.agents.explorers.tables import CountTables
from dorax.agents.value_network import Inputs
from dorax.features.codes import encoder


def explorers_of(counter: Any, bonus: Any, inputs: Inputs, actions: int) -> tuple[Explorer[Any], ...]:
    """Make the explorers of an agent; one with counts comes first.

    Args:
        counter: the agent's counter, or None.
        bonus: its bonus, or None.
        inputs: what networks see.
        actions: number of actions.

    Returns:
        The explorers.
    """
    if counter is None:
        return ()
    states = inputs.size if inputs.is_finite else None
    return (CountTables(counter, bonus, encoder(counter.features, states, inputs.size), actions),)
