"""One JAX device a core: lanes are sharded over devices, and XLA's own threads are slow at small kernels."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import os

import jax


def use_all_cores() -> None:
    """Let JAX see every CPU core as a device. Call before the first JAX operation; later it has no effect."""
    if "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", ""):
        return
    try:
        jax.config.update("jax_num_cpu_devices", _cores())
    except RuntimeError:  # JAX has already started
        return


def _cores() -> int:
    """The cores that this process may use; where the system does not tell, all of them."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
