"""Probes of this machine, in processes set up like measuring ones: fingerprint and roofline ceilings."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from harness.catalog import child_process
from harness.core.errors import MachineError
from harness.run.machine.lock import device_lock
from harness.run.processes.fork_client import worker_environment
from harness.run.processes.output_log import last_line

FINGERPRINT_SECONDS, CEILINGS_SECONDS = 120.0, 300.0


def probe_fingerprint(device: str, threads: int) -> dict[str, Any]:
    """The output of :mod:`harness.worker.fingerprint`: `fingerprint`, `environment` and `gpu`."""
    arguments = ["harness.worker.fingerprint", device, str(threads)]
    return run_module(arguments, "describing this machine", FINGERPRINT_SECONDS, child_process.environment())


def measure_ceilings(device: str, threads: int) -> dict[str, Any]:
    """The roofline ceilings of a device, with time and load average. MachineError without an answer."""
    load = os.getloadavg()[0]
    arguments = ["harness.worker.frameworks.torch.ceilings", device, str(threads)]
    with device_lock(device):
        what = f"measuring the ceilings of {device}"
        ceilings = run_module(arguments, what, CEILINGS_SECONDS, worker_environment(device))
    return {**ceilings, "measured": datetime.now(UTC).isoformat(timespec="seconds"), "load": load}


def run_module(arguments: Sequence[str], what: str, seconds: float, environment: Mapping[str, str]) -> Any:
    """The output of `python -m ARGUMENTS`, which prints JSON.

    MachineError if it fails, or takes more than `seconds`; its sentence starts with the task, `what`.
    """
    try:
        answer = subprocess.run(
            [sys.executable, "-m", *arguments],
            stdin=subprocess.DEVNULL,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=True,
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        why = last_line(str(error.stderr or error))
        raise MachineError(f"{what} failed: {why}; end other programs and retry") from None
    return json.loads(answer.stdout)
