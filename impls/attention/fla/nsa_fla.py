"""fla's own kernels: `parallel_nsa` of flash-linear-attention, in Triton, with flash-attn's window.

They support groups of 16 query heads or a larger power of two, in half precision. Not installed with this
project; flash-attn, which computes the window, is a separate package.
"""

from importlib import import_module
from typing import Any

from harness import Unsupported, implementation

from .._references.paper import refuse_paper
from ..workload import AttentionWorkload

GROUP = 16  # the smallest side of a Triton product


@implementation(framework="torch", semantics="nsa_fla")
def nsa_fla(w: AttentionWorkload):
    import torch

    refuse_paper(w, fla=True)
    group = w.heads // w.kv_heads
    if group < GROUP or group & (group - 1):
        raise Unsupported(f"{group} heads per key head: fla takes powers of 2 from 16 on; use nsa_fla_torch")
    if w.dtype not in {"bf16", "f16"}:
        raise Unsupported(f"dtype={w.dtype}: flash-attn needs bf16 or f16; use dtype=bf16 or nsa_fla_torch")
    parallel_nsa = _package("fla.ops.nsa.parallel", "flash-linear-attention").parallel_nsa
    _package("flash_attn", "flash-attn")
    if not torch.cuda.is_available():
        raise Unsupported("fla's kernels run on CUDA, but torch finds none; use nsa_fla_torch")

    def attend(q, k, v, gates=None, cu_seqlens=None):
        if not q.is_cuda:
            raise Unsupported("fla's kernels run on CUDA, not on the CPU; use device=cuda or nsa_fla_torch")
        shares = q.new_full((*q.shape[:3], 3), 1 / 3) if gates is None else gates
        of_compressed, of_selected, of_window = shares.unbind(-1)
        return parallel_nsa(
            q=q,
            k=k,
            v=v,
            g_cmp=of_compressed,
            g_slc=of_selected,
            g_swa=of_window,
            block_counts=w.selected,
            block_size=w.block,
            window_size=w.window,
            cu_seqlens=cu_seqlens,
        )

    return attend


def _package(module: str, package: str) -> Any:
    """Import an optional package's module; a missing package is refused only when it is needed."""
    try:
        return import_module(module)
    except ImportError as missing:
        why = f"needs the package {package}; pip install {package}, or use nsa_fla_torch"
        raise Unsupported(why) from missing
