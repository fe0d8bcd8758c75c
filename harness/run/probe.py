"""Asking a measuring process what machine this is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from harness.spec.errors import MachineError


class Probe:
    """Starts at once, beside the fork servers; `wait()` gives fingerprint and environment."""

    def __init__(self, device: str, threads: int) -> None:
        root = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "harness.measure.conditions", device, str(threads)],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def wait(self) -> dict[str, Any]:
        output, errors = self.process.communicate(timeout=120)
        if self.process.returncode:
            lines = errors.decode(errors="replace").strip().splitlines()
            raise MachineError(f"this machine cannot be described: {lines[-1] if lines else 'no word'}")
        return json.loads(output)
