"""FlexAttention compiled by torch, and what it refuses: f64, a backward on the CPU, no C++ compiler."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Any

from harness import Unsupported

from .workload import AttentionWorkload


def refuse_flex(w: AttentionWorkload, instead: str) -> None:
    """Raise Unsupported in f64, for which torch 2.13 compiles no kernel."""
    if w.dtype == "f64":
        raise Unsupported(f"dtype=f64: FlexAttention has no kernel for it; use dtype=f32 or {instead}")


def compiled_flex(w: AttentionWorkload, instead: str) -> Callable[..., Any]:
    """`attend(q, k, v, mask)` of arrays [b, seq, heads, d]; refuses what torch compiles no kernel for."""
    import torch
    from torch.nn.attention.flex_attention import flex_attention

    compiled = torch.compile(flex_attention, dynamic=False)
    compiler = any(map(shutil.which, (os.environ.get("CXX", "g++"), "g++", "clang++")))

    def attend(q: Any, k: Any, v: Any, mask: Any) -> Any:
        if q.device.type == "cpu" and not compiler:
            raise Unsupported(f"torch finds no C++ compiler for the CPU; install g++ or use {instead}")
        if q.device.type == "cpu" and torch.is_grad_enabled() and q.requires_grad:
            raise Unsupported(f"FlexAttention has no backward on the CPU; use mode fwd or {instead}")
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        result: Any = compiled(q, k, v, block_mask=mask, enable_gqa=w.heads > w.kv_heads)
        return result.transpose(1, 2)

    return attend
