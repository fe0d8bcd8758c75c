"""What torch.compile has made, run as the functions inside: for a trace, which compiles nothing."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def run_uncompiled() -> Generator[list[Any]]:
    """Run the functions inside of torch.compile's callables; the list has a callback for each call of one.

    Compiled here, a trace's mode itself would be traced by dynamo: half a minute for three operators.
    """
    from torch._dynamo import eval_frame

    called: list[Any] = []
    by_stance = eval_frame._callback_from_stance  # what every such call asks first (torch 2.13)

    def note(callback: Any) -> Any:
        if callback:
            called.append(callback)
        return by_stance(callback)

    eval_frame._callback_from_stance = note
    try:
        with torch.compiler.set_stance("force_eager"):
            yield called
    finally:
        eval_frame._callback_from_stance = by_stance
