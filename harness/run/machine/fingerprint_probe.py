"""The probe of this machine's fingerprint, by a measuring process."""

from __future__ import annotations

from typing import Any

from harness.catalog import child_process
from harness.run.processes.module_subprocess import run_module

SECONDS = 120.0


def probe_fingerprint(device: str, threads: int) -> dict[str, Any]:
    """What :mod:`harness.worker.fingerprint` prints: fingerprint, environment, GPU, and what is installed."""
    words = ["harness.worker.fingerprint", device, str(threads)]
    return run_module(words, "describing this machine", SECONDS, child_process.environment())
