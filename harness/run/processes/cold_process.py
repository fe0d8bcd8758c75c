"""Cold start in a newly executed interpreter, which imports the framework itself."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from harness.catalog.known_frameworks import traits_of
from harness.core.plain_data import from_plain
from harness.core.protocol import Job
from harness.run.processes.executor import Ended
from harness.run.processes.fork_client import worker_environment
from harness.run.processes.output_log import last_line


@dataclass(frozen=True)
class ColdReading:
    """One cold start: seconds by step, and why other steps have none."""

    steps: Mapping[str, float] = field(default_factory=dict[str, float])
    missing: Mapping[str, str] = field(default_factory=dict[str, str])


def start_cold(job: Job, seconds: float, later: int, cache: str | None) -> ColdReading:
    """The cold start of a new process, up to its call number `later`; with a `cache`, up to compiling.

    `cache` is the folder of a filled compiler cache. Raises Ended where the process fails, or has not ended
    after `seconds`.
    """
    caches = traits_of(job.framework).program_caches
    with tempfile.TemporaryDirectory(dir=job.folder) as scratch:
        file = Path(scratch) / "cold.json"
        asked = {"job": job.to_json(), "later": later, "cached": cache, "started": time.monotonic()}
        file.write_text(json.dumps(asked))
        process = subprocess.Popen(
            [sys.executable, "-m", "harness.worker.cold_worker", str(file)],
            env={**worker_environment(job.case.device), **dict.fromkeys(caches, cache or scratch)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )
        try:
            _, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise Ended("timeout", f"no cold start within {seconds:.0f} s; raise --timeout") from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with the processes that it has started
            process.wait()
        try:
            return from_plain(ColdReading, json.loads(file.with_suffix(".answer").read_text()))
        except (OSError, ValueError):
            raise Ended("crashed", f"a new process failed: {last_line(errors)}") from None
