"""CUDA graph of a torch call, with a flush of the L2 cache before the call in every replay."""

from collections.abc import Callable
from typing import Any

import torch

from harness.core.errors import Unsupported

WARM_CALLS = 3  # on a side stream: libraries allocate handles and workspaces, which a capture forbids
REMEDY = (
    "what synchronises (.item(), nonzero, copies to the host), allocates beside torch or has shapes that "
    "depend on values has to go from the call"
)


class TorchGraph:
    """A graph of four parts: the flush of L2, an event, the call, an event.

    `result` is the call's result, in storage that every replay overwrites. Unsupported, with CUDA's message,
    if the call cannot be captured.
    """

    def __init__(self, call: Callable[[], Any], flush: torch.Tensor) -> None:
        self.flush = flush  # kept alive: the graph writes to its address
        try:
            _warm_up(call)
            # External events are nodes of the graph, and can be read after a replay.
            self.start, self.end = (torch.cuda.Event(enable_timing=True, external=True) for _ in range(2))
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                flush.zero_()
                self.start.record()
                self.result = call()
                self.end.record()
        except Exception as error:  # an implementation may raise anything, and CUDA has an error for each
            first = _first(error)
            words = str(first).partition("\n")[0].rstrip(".")
            text = f"it cannot be captured as a CUDA graph ({type(first).__name__}: {words}); {REMEDY}"
            raise Unsupported(text) from error

    def read(self, replays: int) -> float:
        """Seconds on the device of so many replays of the call, without the flushes."""
        milliseconds = 0.0
        for _ in range(replays):
            self.graph.replay()
            torch.cuda.synchronize()  # the next replay records the same two events
            milliseconds += self.start.elapsed_time(self.end)
        return milliseconds * 1e-3


def _warm_up(call: Callable[[], Any]) -> None:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_CALLS):
            call()
    torch.cuda.current_stream().wait_stream(side)


def _first(error: BaseException) -> BaseException:
    """The error that broke a capture: ending the capture then raises another one, without the cause."""
    while error.__context__ is not None:
        error = error.__context__
    return error
