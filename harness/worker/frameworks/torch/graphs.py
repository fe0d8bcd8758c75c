"""CUDA graph of a torch call."""

import gc
from collections.abc import Callable
from typing import Any

import torch

from harness.core.errors import Unsupported

WARM_CALLS = 3  # on a side stream: libraries allocate handles and workspaces, which a capture forbids
REMEDY = (
    "what synchronises (.item(), nonzero, copies to the host), allocates beside torch or has shapes that "
    "depend on values has to go from the call"
)


def capture(call: Callable[[], Any]) -> Callable[[], Any]:
    """The call captured as a graph: a function that replays it, into storage that every replay overwrites.

    Unsupported, with CUDA's message, if the call cannot be captured.
    """
    gc.collect()  # nothing of an earlier call may be freed while the graph is recorded
    graph = torch.cuda.CUDAGraph()
    try:
        _warm_up(call)
        with torch.cuda.graph(graph):
            result = call()
    except Exception as error:  # an implementation may raise anything, and CUDA has an error for each
        first = _first(error)
        words = str(first).partition("\n")[0].rstrip(".")
        text = f"it cannot be captured as a CUDA graph ({type(first).__name__}: {words}); {REMEDY}"
        raise Unsupported(text) from error

    def replay() -> Any:
        graph.replay()
        return result

    return replay


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
