"""Calls that are captured as CUDA graphs, and whose replays are timed instead."""

from collections.abc import Callable
from typing import Any

from harness.core.errors import Unsupported
from harness.worker.frameworks.base import Framework

PULLBACK = (
    "a pullback alone reads residuals of one set of inputs, so that no replay of it could be judged on "
    "others; take --mode fwd_bwd"
)


class ReplayedCalls:
    """The graphs of a case. Unsupported for a pullback, and for a call that cannot be captured."""

    def __init__(self, framework: Framework, mode: str) -> None:
        if mode == "bwd":
            raise Unsupported(PULLBACK)
        self.framework = framework

    def capture(self, call: Callable[[], Any], inputs: Any, cotangent: Any) -> Callable[[], Any]:
        """A function that replays the call on the arrays that it was bound to."""
        self.arrays = (inputs, cotangent)
        return self.framework.capture(call)

    def refill(self, values: Any, cotangent: Any) -> None:
        """Put other values at the addresses that the latest graph reads."""
        for mine, theirs in zip(self.arrays, (values, cotangent), strict=True):
            if theirs is not None:
                self.framework.refill(mine, theirs)
