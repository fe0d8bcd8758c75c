"""Machine fingerprint and environment of a run. Timings are compared only if fingerprints are equal.

`python -m harness.worker.fingerprint DEVICE THREADS` prints both as JSON. Versions come from package
metadata, without importing a framework. Only a GPU's cache size needs torch, and a TPU's kind jax.
"""

import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from harness.catalog.known_frameworks import known, packages_of
from harness.core.fingerprint_identity import CACHES
from harness.core.machine import CPUS, data_caches, first_visible_gpu, processor
from harness.core.version import version_of

FLAGS = (
    "XLA_FLAGS",
    "LIBTPU_INIT_ARGS",
    "JAX_ENABLE_X64",
    "JAX_DEFAULT_MATMUL_PRECISION",
    "OMP_NUM_THREADS",
    "OMP_WAIT_POLICY",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "OPENBLAS_CORETYPE",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_TF32_OVERRIDE",
    "PYTORCH_CUDA_ALLOC_CONF",
    "MALLOC_ARENA_MAX",
    "GLIBC_TUNABLES",
    "LD_PRELOAD",
)


def governor() -> str | None:
    path = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    return path.read_text().strip() if path.exists() else None


def fingerprint(device: str, threads: int) -> dict[str, Any]:
    """Facts that must be equal to compare timings: see :mod:`harness.core.fingerprint_identity`."""
    cpu = processor()
    facts: dict[str, Any] = {
        "device": device,
        "cpu": cpu.name,
        "cpu_flags": [name for name in cpu.features if name.startswith(("avx", "amx", "sve", "neon"))],
        "cores": len(os.sched_getaffinity(0)),
        "threads": threads,
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "governor": governor(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "versions": {
            package.name: version_of(package.name)
            for package in packages_of(known())
            if package.fingerprinted and package.only_on in {None, device}
        },
        "flags": {flag: os.environ[flag] for flag in FLAGS if flag in os.environ},
    }
    facts[CACHES] = host_caches()
    if device == "cuda":
        facts["gpu"] = gpu()
        facts[CACHES]["GPU L2"] = gpu_cache()
    if device == "tpu":
        facts["tpu"] = tpu()
    return facts


def host_caches(system: Path = CPUS) -> dict[str, Any]:
    """Caches (`L1d`, `L2`, `L3`) of the first usable core: `bytes`, and number of `cpus` that share it."""
    caches = data_caches(min(os.sched_getaffinity(0)), system)
    if not caches:
        return {"unavailable": f"{system} lists no caches"}
    return {
        f"L{cache.level}{'' if cache.is_unified else 'd'}": {
            "bytes": cache.size_bytes,
            "cpus": len(cache.shared_by),
        }
        for cache in caches
    }


def gpu_cache() -> dict[str, Any]:
    """The `bytes` of the first visible CUDA device's L2 cache, or the reason in `unavailable`."""
    try:
        import torch

        return {"bytes": torch.cuda.get_device_properties(0).L2_cache_size}
    except Exception as error:  # a missing driver or an old torch raises various errors
        return {"unavailable": f"{type(error).__name__}: {error}"}


def tpu() -> dict[str, Any]:
    """The device kind of the first TPU. jax starts the TPU, which only this process may use then."""
    try:
        import jax

        jax.config.update("jax_platforms", "tpu")
        return {"name": jax.devices("tpu")[0].device_kind}
    except Exception as error:  # a missing jax, libtpu or TPU raises various errors
        kind = os.environ.get("TPU_ACCELERATOR_TYPE")
        return {"name": kind} if kind else {"unavailable": f"{type(error).__name__}: {error}"}


def gpu() -> dict[str, Any]:
    """Name, driver, clocks and power limit of the first visible CUDA device, from nvidia-smi.

    nvidia-smi cannot describe a MIG instance. Its error message, which names the instance, is used instead.
    """
    selected, fields = first_visible_gpu(), "name,driver_version,memory.total,clocks.max.sm,power.limit"
    if selected is None:
        return {"unavailable": "CUDA_VISIBLE_DEVICES hides every GPU"}
    command = ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader", f"--id={selected}"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return {"unavailable": str(error)}
    return dict(zip(fields.split(","), map(str.strip, run.stdout.split(",")), strict=False))


def environment() -> dict[str, Any]:
    """State at the start of the run, which may differ between runs that are compared."""
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "load": list(os.getloadavg()),
        "available_bytes": psutil.virtual_memory().available,
        "steal_s": getattr(psutil.cpu_times(), "steal", None),
        "git": git(),
    }


def git() -> dict[str, Any] | None:
    """Commit of the current folder's git repository, and whether it has uncommitted changes."""

    def output_of(*args: str) -> str:
        run = subprocess.run(
            ["git", *args], capture_output=True, encoding="utf-8", errors="replace", timeout=10, check=True
        )
        return run.stdout.strip()

    try:
        return {"commit": output_of("rev-parse", "HEAD"), "dirty": bool(output_of("status", "--porcelain"))}
    except (OSError, subprocess.SubprocessError):
        return None


if __name__ == "__main__":
    everything = {
        "fingerprint": fingerprint(sys.argv[1], int(sys.argv[2])),
        "environment": environment(),
        "gpu": gpu(),
    }
    json.dump(everything, sys.stdout)
