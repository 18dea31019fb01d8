"""Worlds to step through, registered with Gymnasium.

`import dorax` registers them: Gymnasium no longer reads entry points of other packages.
The environments themselves are imported when one is made.
"""

_WORLDS = ("Bridge", "Tree", "Cliff", "DeepSea")


def register() -> None:
    """Make `dorax/Bridge-v0` and its sisters known to Gymnasium."""
    from gymnasium.envs.registration import register as register_env

    for name in _WORLDS:
        register_env(id=f"dorax/{name}-v0", entry_point=f"dorax.envs.worlds:{name}Env")
