"""A call that saves its inputs and its selection; the backward recomputes one branch at a time.

This is what MSLK #296's backward does: a branch is computed, differentiated and freed before the next begins.
Gates need no exception, as a gate's gradient depends only on its own branch's result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from harness import stage

from .._bounds import BYTES
from ..workload import AttentionWorkload

BRANCHES = ("compressed", "selected", "window")  # their stages, in their order


def recompute_by_branch(
    whole: Callable[..., tuple[Any, Sequence[Any]]], branch: Callable[..., Any], inputs: Sequence[Any]
) -> Any:
    """The result of `whole(*inputs)`, which also returns the picks.

    `branch(at, *inputs, picks)` is the share of branch `at` in the result, with the result's shape.
    """
    return _recompute_function().apply(whole, branch, *inputs)


def saved_bytes(w: AttentionWorkload, *_: Any) -> dict[str, int]:
    """Fact: bytes saved for a backward: q, k, v, gates and picks of int64; unknown for drawn lengths."""
    if w.varlen:
        return {}
    elements = w.batch * w.seq * ((w.heads + 2 * w.kv_heads) * w.head_dim + 3 * w.heads * w.gated)
    picks = w.batch * w.heads * -(-w.seq // w.tile) * min(w.selected, w.seq // w.block)
    return {"bytes_saved_for_backward": elements * BYTES[w.dtype] + picks * 8}


@cache
def _recompute_function() -> Any:
    import torch
    from torch.autograd.function import once_differentiable

    class Recomputed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, whole: Any, branch: Any, *inputs: Any) -> Any:
            result, picks = whole(*inputs)
            ctx.branch, ctx.inputs = branch, len(inputs)
            ctx.save_for_backward(*inputs, *picks)
            return result

        @staticmethod
        @once_differentiable
        def backward(  # pyright: ignore[reportIncompatibleMethodOverride] - by the decorator's own type
            ctx: Any, *grad_outputs: Any
        ) -> tuple[Any, ...]:
            (cotangent,) = grad_outputs
            inputs, picks = ctx.saved_tensors[: ctx.inputs], ctx.saved_tensors[ctx.inputs :]
            asked = [at for at, wanted in enumerate(ctx.needs_input_grad[2:]) if wanted]
            sums: list[Any] = [None] * len(inputs)

            def add_gradients(number: int) -> None:
                leaves: list[Any] = [None if x is None else x.detach() for x in inputs]
                wanted = [leaves[at].requires_grad_() for at in asked]
                with torch.enable_grad():
                    part = ctx.branch(number, *leaves, picks)
                with stage(BRANCHES[number]):
                    seed = cotangent.to(part.dtype)
                    found: Any = torch.autograd.grad(part, wanted, seed, allow_unused=True)
                    for at, gradient in zip(asked, found, strict=True):
                        if gradient is not None:
                            sums[at] = gradient if sums[at] is None else sums[at].add_(gradient)

            for number in range(len(BRANCHES)):
                add_gradients(number)  # in a function, whose return frees the branch's results
            return None, None, *sums

    return Recomputed
