"""The worker of one try of a length: whether a case runs at it, and the memory that it takes."""

import gc
from typing import Any

from harness.worker.case_worker import CaseWorker


class TrialWorker(CaseWorker):
    """Answers `prepare` and `attempt`."""

    def do_attempt(self) -> dict[str, Any]:
        """Place a set of inputs and call once; peak and other memory in bytes, and the counter's name."""
        gc.collect()
        memory = self.framework.watch_memory()
        call = self.prepared.bind(self._place_inputs("set0"), None)
        self.framework.sync(call())
        peak, outside, by = memory()
        return {"peak_bytes": peak, "outside_bytes": outside, "by": by}
