"""The probe of this machine's fingerprint, by a measuring process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from harness.core.errors import MachineError
from harness.core.paths import PROJECT

SECONDS = 120.0


class FingerprintProbe:
    """Starts at once, beside the fork servers; `wait()` gives fingerprint and environment."""

    def __init__(self, device: str, threads: int) -> None:
        root = str(PROJECT)
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "harness.worker.fingerprint", device, str(threads)],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def wait(self) -> dict[str, Any]:
        with self.process:
            try:
                output, errors = self.process.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                raise MachineError(
                    f"describing this machine took more than {SECONDS:.0f} s; free it and retry"
                ) from None
            finally:
                self.process.kill()  # also after Ctrl-C; without effect when it has ended
        if self.process.returncode:
            lines = errors.decode(errors="replace").strip().splitlines()
            why = lines[-1] if lines else "no word"
            raise MachineError(f"this machine cannot be described ({why}); seqsweep doctor needs the same")
        return json.loads(output)
