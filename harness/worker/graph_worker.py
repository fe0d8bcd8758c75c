"""A case's worker that can also replay its call from a CUDA graph."""

import gc
from collections.abc import Mapping
from typing import Any

from harness.core.errors import Unsupported
from harness.worker import array_files
from harness.worker.case_worker import CaseWorker


class GraphWorker(CaseWorker):
    """A case worker that also answers `capture` and `replay`, after its samples."""

    def do_capture(self, cotangent: str | None) -> dict[str, Any]:
        """Capture the call on the last set of inputs, whose storage every replay reads from then on."""
        if self.case.mode == "bwd":
            raise Unsupported(
                "a pullback alone reads residuals of one set of inputs, so that no replay of it could be "
                "judged on others; take --mode fwd_bwd"
            )
        gc.collect()
        self.graph_inputs, self.graph_cotangent = self.inputs[-1], self._cotangent(cotangent)
        self.captured = self.framework.capture(self.prepared.bind(self.graph_inputs, self.graph_cotangent))
        return {"method": "graph_events", "cache": "flushed"}

    def do_replay(self, inner: int, fresh: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Readings of `inner` eager calls and of as many replays; which one comes first alternates.

        With `fresh` the graph's inputs first get the values named by `inputs` (and `cotangent`), and the
        replay's result is handed over under the name `result`.
        """
        if fresh is not None:
            self._overwrite(fresh["inputs"], fresh["cotangent"])
        gc.collect()
        call = self._next_call(None)
        replay_s = None if self.turn % 2 else self.captured.read(inner)
        eager_s = self.read(call, inner, None)
        if replay_s is None:
            replay_s = self.captured.read(inner)
        if fresh is not None:
            self._hand_over(self.captured.result, self.graph_inputs, fresh["result"])
        return {"replay_s": replay_s / inner, "eager_s": eager_s / inner}

    def _overwrite(self, inputs: str, cotangent: str | None) -> None:
        """Copy other values to the addresses that the graph reads."""
        self.framework.refill(self.graph_inputs, array_files.read(self.folder / inputs, only=self.names))
        if cotangent is not None:
            self.framework.refill(self.graph_cotangent, array_files.read(self.folder / cotangent))
