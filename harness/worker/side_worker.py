"""Worker process of one side of a gate, for several cases that alternate."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from harness.core.protocol import Job
from harness.worker import resource_limits
from harness.worker.case_worker import CaseWorker


class SideWorker:
    """Handles `hold` (once per case), then `turn` (any verb of a case's worker), and `release`."""

    def __init__(self, _: Job, report_compiling: Callable[[bool], None] = lambda _: None) -> None:
        self.report_compiling = report_compiling
        self.cores = os.sched_getaffinity(os.getppid())  # this process is pinned already
        self.workers: dict[str, CaseWorker] = {}
        self.latest: CaseWorker | None = None

    def do_hold(self, case: str, job: Mapping[str, Any]) -> dict[str, Any]:
        """Add a case, without loading it yet."""
        self.workers[case] = CaseWorker(Job.from_json(job), self.report_compiling)
        return {}

    def do_turn(self, case: str, asks: str, **arguments: Any) -> Any:
        """Send the verb `asks` to the case's worker, and return the reply."""
        worker = self.workers[case]
        if self.latest is not worker and hasattr(worker, "prepared"):
            worker.enter()
        self.latest = worker
        return getattr(worker, f"do_{asks}")(**arguments)

    def do_drop(self, case: str) -> dict[str, Any]:
        """Remove a case, and free its memory."""
        dropped = self.workers.pop(case)
        if self.latest is dropped:
            self.latest = None
        return {}

    def do_release(self) -> dict[str, Any]:
        """End the pinning: all backends have sized their pools, and threads may move between cores now."""
        resource_limits.release(self.cores)
        return {}
