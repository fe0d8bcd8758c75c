"""The measurement of this machine's ceilings, by a fresh process that is set up as a measuring one."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

from harness.run.machine.lock import device_lock
from harness.run.processes.fork_client import worker_environment
from harness.run.processes.module_subprocess import run_module

SECONDS = 300.0


def measure_ceilings(device: str, threads: int) -> dict[str, Any]:
    """The readings of a device, when they were taken, and the load before. MachineError without an answer."""
    load = os.getloadavg()[0]
    words = ["harness.worker.frameworks.torch.ceilings", device, str(threads)]
    with device_lock(device):
        what = f"measuring the ceilings of {device}"
        readings = run_module(words, what, SECONDS, worker_environment(device))
    return {**readings, "measured": datetime.now(UTC).isoformat(timespec="seconds"), "load": load}
