"""Running torch.compile's callables uncompiled, for a trace."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def run_uncompiled() -> Generator[list[Any]]:
    """Run the original functions of torch.compile's callables; the list gets an entry for each such call.

    Otherwise dynamo would trace the dispatch mode itself: half a minute for three operators.
    """
    from torch._dynamo import eval_frame

    called: list[Any] = []
    by_stance = eval_frame._callback_from_stance  # every such call goes through it first (torch 2.13)

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
