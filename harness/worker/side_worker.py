"""The worker of one side of a gate: it holds several cases, which take turns."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from harness.core.protocol import Job
from harness.worker import resource_limits
from harness.worker.case_worker import CaseWorker


class SideWorker:
    """Answers `hold` (once per case), then `turn` (any verb of a case's worker), and `release`."""

    def __init__(self, _: Job, tell_compiling: Callable[[bool], None] = lambda _: None) -> None:
        self.tell_compiling = tell_compiling
        self.cores = os.sched_getaffinity(os.getppid())  # this process is pinned already
        self.workers: dict[str, CaseWorker] = {}
        self.latest: CaseWorker | None = None

    def do_hold(self, case: str, job: Mapping[str, Any]) -> dict[str, Any]:
        """Hold a case; nothing of it is loaded yet."""
        self.workers[case] = CaseWorker(Job.from_json(job), self.tell_compiling)
        return {}

    def do_turn(self, case: str, asks: str, **arguments: Any) -> Any:
        """The answer of the case's worker to the verb `asks`."""
        worker = self.workers[case]
        if self.latest is not worker and hasattr(worker, "prepared"):
            worker.enter()
        self.latest = worker
        return getattr(worker, f"do_{asks}")(**arguments)

    def do_drop(self, case: str) -> dict[str, Any]:
        """Drop a case, and free what it holds."""
        dropped = self.workers.pop(case)
        if self.latest is dropped:
            self.latest = None
        return {}

    def do_release(self) -> dict[str, Any]:
        """Lift the pinning: all backends have sized their pools, and threads may now move between cores."""
        resource_limits.release(self.cores)
        return {}
