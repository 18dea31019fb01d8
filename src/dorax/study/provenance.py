"""Where a run was made: hardware, versions, commit and command."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = (
    "dorax",
    "jax",
    "jaxlib",
    "equinox",
    "optax",
    "numpy",
    "gymnasium",
    "ale-py",
    "stable-baselines3",
    "torch",
    "bsuite",
)
_NOT_MEASURED = "not measured"


def provenance() -> dict[str, str]:
    """Return attributes to store with a run of this process: hardware, versions, commit and command."""
    import jax

    device, cores = jax.devices()[0], f"{os.cpu_count()} cores, {platform.machine()}"
    memory = (device.memory_stats() or {}).get("peak_bytes_in_use")  # most GPU allocators report it
    return {
        "hardware": f"{device.device_kind}, {cores}",
        "peak_memory": _NOT_MEASURED if memory is None else f"{memory / 1e9:.1f} GB",
        "versions": ", ".join(f"{package} {_version(package)}" for package in _PACKAGES if _is_imported(package)),
        "commit": _commit(),
        "command": command(sys.argv[1:]),
    }


def where(runs: Sequence[Mapping[str, Any]]) -> str:
    """Describe where runs were made, without repetition.

    Args:
        runs: attributes of each run, from `provenance`.

    Returns:
        Machines, versions and commits as text.
    """
    words = [f"{_device(run)}; {run['versions']}; commit {run['commit']}" for run in runs]
    return " | ".join(dict.fromkeys(words))


def command(arguments: Sequence[str]) -> str:
    """Format the command line without its output folder, which has no meaning on other machines.

    Args:
        arguments: arguments of the command.

    Returns:
        The command line.
    """
    kept: list[str] = []
    is_value = False
    for argument in arguments:
        if not is_value and argument != "--out" and not argument.startswith("--out="):
            kept.append(argument)
        is_value = argument == "--out"
    return " ".join(["dorax", *kept])


def _device(run: Mapping[str, Any]) -> str:
    memory = run.get("peak_memory", _NOT_MEASURED)
    return f"{run['hardware']}" + ("" if memory == _NOT_MEASURED else f", peak memory {memory}")


def _is_imported(package: str) -> bool:
    return package.replace("-", "_") in sys.modules


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    """Return the commit of the code. DORAX_COMMIT names it where there is no git history."""
    if named := os.environ.get("DORAX_COMMIT"):
        return named
    asked = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return asked.stdout.strip() or "unknown"
