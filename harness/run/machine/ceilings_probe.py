"""The measurement of this machine's ceilings, by a fresh process that is set up as a measuring one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

from harness.core.errors import MachineError
from harness.run.machine.lock import device_lock
from harness.run.processes.fork_client import worker_environment

SECONDS = 300.0


def measure_ceilings(device: str, threads: int) -> dict[str, Any]:
    """The readings of a device, when they were taken, and the load before. MachineError without an answer."""
    load = os.getloadavg()[0]
    with device_lock(device, " ".join(["seqsweep", *sys.argv[1:]])):
        try:
            answer = subprocess.run(
                [sys.executable, "-m", "harness.worker.frameworks.torch_ceilings", device, str(threads)],
                env=worker_environment(device),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                encoding="utf-8",
                timeout=SECONDS,
                check=True,
            )
        except subprocess.TimeoutExpired:
            raise MachineError(
                f"measuring the ceilings of {device} took more than {SECONDS:.0f} s; free it and retry"
            ) from None
        except subprocess.CalledProcessError as error:
            last = (error.stderr.strip().splitlines() or ["no word"])[-1]
            raise MachineError(f"the ceilings of {device} cannot be measured: {last}") from None
    return {
        **json.loads(answer.stdout),
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "load": load,
    }
