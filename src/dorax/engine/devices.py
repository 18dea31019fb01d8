"""One JAX device per CPU core: lanes are sharded over devices, since XLA's own threads are slow on small kernels."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import os

import jax


def use_all_cores() -> None:
    """Let JAX use every CPU core as a device. Call before the first JAX operation; later it has no effect."""
    if "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", ""):
        return
    try:
        jax.config.update("jax_num_cpu_devices", _cores())
    except RuntimeError:  # JAX has already started
        return


def _cores() -> int:
    """Number of cores that this process may use; all cores where the system does not say."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
