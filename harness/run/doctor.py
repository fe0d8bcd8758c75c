"""`doctor`: checks this machine for benchmarking, and names the command that installs what is missing."""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.catalog.known_frameworks import Package, known, packages_of
from harness.core.units import format_bytes
from harness.core.version import version_of
from harness.run.machine.probes import probe_fingerprint
from harness.sweep.settings import Settings


@dataclass(frozen=True)
class Finding:
    """One thing examined. `state` is `ok`, `optional` (missing, needed for some uses) or `problem`."""

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
        _memory(settings, environment["available_bytes"]),
        _governor(fingerprint["governor"]),
        _load(environment["load"][0], fingerprint["cores"]),
        _gpu(facts["gpu"]),
        _results(results),
    ]


def _package(package: Package) -> Finding:
    if version := version_of(package.name):
        return Finding(package.name, "ok", version)
    says = f"not installed; needed for {package.gives or 'the implementations that use it'}"
    return Finding(package.name, "optional", says, package.remedy)


def _check(what: str, says: str, remedy: str, *, ok: bool) -> Finding:
    return Finding(what, "ok", says) if ok else Finding(what, "problem", says, remedy)


def _memory(settings: Settings, free: int) -> Finding:
    says = f"limit per group {format_bytes(settings.memory_bytes)}, available now {format_bytes(free)}"
    remedy = "free memory, or lower the limit with --memory"
    return _check("memory", says, remedy, ok=free >= settings.memory_bytes)


def _governor(governor: str | None) -> Finding:
    if governor in {None, "performance"}:
        return Finding("governor", "ok", governor or "not visible here (usually a virtual machine)")
    says = f"{governor}: clock frequencies change during measurements"
    return Finding("governor", "problem", says, "sudo cpupower frequency-set -g performance")


def _load(load: float, cores: int) -> Finding:
    says = f"load average {load:.1f} on {cores} cores"
    remedy = "end other programs; they disturb medians more than ratios"
    return _check("load", says, remedy, ok=load <= cores / 2)


def _gpu(gpu: Mapping[str, Any]) -> Finding:
    if "unavailable" in gpu:
        return Finding("cuda", "optional", "no CUDA device here; --device cuda needs one")
    return Finding("cuda", "ok", ", ".join(map(str, gpu.values())))


def _results(results: Path) -> Finding:
    folder = next(path for path in (results, *results.parents) if path.exists())
    ok = os.access(folder, os.W_OK)
    says = f"{results} can be written" if ok else f"{folder} cannot be written"
    return _check("results", says, "name another folder with --results", ok=ok)
