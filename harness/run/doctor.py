"""`doctor`: what this machine offers a benchmark, what is missing, and the command that installs it."""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.catalog.known_frameworks import Package, known, packages_of
from harness.core.errors import MachineError
from harness.core.units import format_bytes
from harness.core.version import version_of
from harness.run.machine.lock import held_by
from harness.run.machine.probes import probe_fingerprint
from harness.sweep.settings import Settings

# How a measuring process differs from a user's own; `make drill-overhead` measures what that costs.
DIFFERENCES: Mapping[str, str] = {
    "JAX_PLATFORMS": "the case's device alone; otherwise jax would map libtpu, which prints",
    "TF_CPP_MIN_LOG_LEVEL=2": "XLA's log would mix with the case's own output",
    "XLA_PYTHON_CLIENT_PREALLOCATE=false": "a GPU's memory is shared by the cases of a group",
    "PYTHONUNBUFFERED=1": "what a case printed is known when it crashes",
    "MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_": "in a gate: one level of page faults, not two",
    "cores": "as many as --threads, while it compiles: XLA sizes its pool by that",
    "address space": "limited by --memory, so that a case fails instead of the machine",
    "oom_score_adj 1000": "the kernel ends a case before it ends the runner",
    "fork": "from a process that has imported the framework: pages are copied at their first write",
    "garbage collector": "runs before a turn and not within one",
    "neighbours": "whoever is not on turn is stopped (SIGSTOP), and keeps its memory",
}


@dataclass(frozen=True)
class Finding:
    """`state` is `ok`, `optional` (missing, and needed for some things only), `problem`, or `differs`.

    `differs` marks a difference between a measuring process and a user's own.
    """

    what: str
    state: str
    says: str
    remedy: str = ""


def examine(results: Path) -> list[Finding]:
    """All findings; nothing is installed or changed."""
    settings = Settings()
    facts = probe_fingerprint("cpu", settings.threads)
    fingerprint, environment = facts["fingerprint"], facts["environment"]
    return [
        Finding("python", "ok", platform.python_version()),
        *(_package(package) for package in packages_of(known())),
        Finding("processor", "ok", f"{fingerprint['cpu']}, {fingerprint['cores']} usable cores"),
        _memory(settings, environment),
        _governor(fingerprint["governor"]),
        _load(environment["load"][0], fingerprint["cores"]),
        _gpu(facts["gpu"]),
        _lock("cpu"),
        _results(results),
        *(Finding(what, "differs", why) for what, why in DIFFERENCES.items()),
    ]


def _package(package: Package) -> Finding:
    if version := version_of(package.name):
        return Finding(package.name, "ok", version)
    says = f"not installed; it gives {package.gives or 'the implementations in it'}"
    return Finding(package.name, "optional", says, package.remedy)


def _memory(settings: Settings, environment: Mapping[str, Any]) -> Finding:
    limit, free = settings.memory_bytes, environment["available_bytes"]
    says = f"limit of a group {format_bytes(limit)}, available now {format_bytes(free)}"
    if free < limit:
        return Finding("memory", "problem", says, "free memory, or lower the limit with --memory")
    return Finding("memory", "ok", says)


def _governor(governor: str | None) -> Finding:
    if governor in {None, "performance"}:
        return Finding("governor", "ok", governor or "not visible here (a virtual machine, usually)")
    return Finding(
        "governor",
        "problem",
        f"{governor}: clocks move while measuring",
        "sudo cpupower frequency-set -g performance",
    )


def _load(load: float, cores: int) -> Finding:
    if load > cores / 2:
        says = f"load average {load:.1f} on {cores} cores: something else is running"
        return Finding("load", "problem", says, "end what else runs; medians suffer, ratios less")
    return Finding("load", "ok", f"load average {load:.1f}")


def _gpu(gpu: Mapping[str, Any]) -> Finding:
    if "unavailable" in gpu:
        return Finding("cuda", "optional", "no CUDA device here; --device cuda needs one")
    return Finding("cuda", "ok", ", ".join(str(value) for value in gpu.values()))


def _lock(device: str) -> Finding:
    try:
        holder = held_by(device)
    except MachineError as error:
        return Finding("lock", "problem", str(error), "remove it, or set TMPDIR")
    if holder:
        return Finding("lock", "problem", f"device {device} is held by {holder}", "wait for it, or end it")
    return Finding("lock", "ok", f"device {device} is free")


def _results(results: Path) -> Finding:
    folder = next(path for path in (results, *results.parents) if path.exists())
    if os.access(folder, os.W_OK):
        return Finding("results", "ok", f"{results} can be written")
    return Finding("results", "problem", f"{folder} cannot be written", "name another folder with --results")
