"""How a state is described, for agents and wrappers alike."""
