"""Inputs of a workload: queries, keys, values and what a form reads beside them, or picks of blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness import Array, Shapes, Unsupported, cast

from .workload import AttentionWorkload

KERNEL_BLOCK = 128  # tokens in a block of MSLK's kernel


def shapes(w: AttentionWorkload) -> Shapes:
    if w.heads % w.kv_heads:
        raise Unsupported(f"heads {w.heads} is no multiple of kv_heads {w.kv_heads}; choose one that is")
    if w.varlen and w.batch != 1:
        raise Unsupported(f"varlen packs sequences into one row, not into batch {w.batch}; use batch 1")
    if w.varlen and w.segments > w.seq:
        raise Unsupported(f"seq {w.seq} cannot hold {w.segments} segments; use a longer seq")
    if w.stage == "block_lists":
        return shapes_of_lists(w)
    query = Array((w.batch, w.seq, w.heads, w.head_dim), w.dtype)
    key = Array((w.batch, w.seq, w.kv_heads, w.head_dim), w.dtype)
    arrays = {"q": query, "k": key, "v": key}
    if w.gated:
        arrays["gates"] = Array((w.batch, w.seq, w.heads, 3), w.dtype)
    if w.indexer_heads:
        arrays["index_q"] = Array((w.batch, w.seq, w.indexer_heads, w.indexer_dim), w.dtype)
        arrays["index_k"] = Array((w.batch, w.seq, w.indexer_dim), w.dtype)
        arrays["index_w"] = Array((w.batch, w.seq, w.indexer_heads), w.dtype)
    if w.varlen:
        arrays["cu_seqlens"] = Array((w.segments + 1,), "i32")
    return arrays


def inputs(w: AttentionWorkload, rng: Any) -> Mapping[str, Any]:
    """Normal q, k, v and indexer; gates are a sigmoid of normals; segments are cut at distinct places."""
    import numpy as np

    if w.stage == "block_lists":
        return {"picks": draw_picks(w, rng)}
    drawn = np.float64 if w.dtype == "f64" else np.float32
    arrays = {}
    for name, array in shapes(w).items():
        if not isinstance(array, Array) or name == "cu_seqlens":
            continue
        values = rng.standard_normal(array.shape, dtype=drawn)
        arrays[name] = cast(1 / (1 + np.exp(-values)) if name == "gates" else values, w.dtype)
    if w.varlen:
        cuts = np.sort(rng.choice(w.seq - 1, w.segments - 1, replace=False) + 1)
        arrays["cu_seqlens"] = np.concatenate([[0], cuts, [w.seq]]).astype(np.int32)
    return arrays


def shapes_of_lists(w: AttentionWorkload) -> Shapes:
    """Raises :class:`Unsupported` for what the stage does not define, naming the field."""
    if not w.causal:
        raise Unsupported("causal=false: picks are those of causal selection; use causal=true")
    if w.varlen:
        raise Unsupported("varlen=true: lists are made for one sequence; use varlen=false")
    if w.seq % w.block:
        raise Unsupported(f"seq {w.seq} is no multiple of block {w.block}; choose one that is")
    if w.block % KERNEL_BLOCK and KERNEL_BLOCK % w.block:
        raise Unsupported(f"block {w.block} and the kernel's 128 share no edges; use a multiple or a divisor")
    return {"picks": Array((w.batch, w.heads, -(-w.seq // w.tile), w.selected), "i32")}


def draw_picks(w: AttentionWorkload, rng: Any) -> Any:
    """Distinct blocks that begin before their tile's end, each choice as likely as any other; sorted.

    A tile that sees fewer than `selected` picks them all, and 0 for the rest (Floyd's sampling:
    a number that is taken already makes way for the largest one of the step).
    """
    import numpy as np

    shape = shapes_of_lists(w)["picks"]
    assert isinstance(shape, Array)
    ends = np.minimum(np.arange(1, shape.shape[2] + 1) * w.tile, w.seq)
    seen = -(-ends // w.block)
    picks = np.full(shape.shape, -1, np.int32)
    for i in range(w.selected):
        last = np.maximum(seen - w.selected + i, -1)
        drawn = np.floor(rng.random(shape.shape[:3]) * (last + 1)).astype(np.int32)
        duplicate = (picks[..., :i] == drawn[..., None]).any(-1)
        picks[..., i] = np.where(duplicate, last, drawn)
    few = np.arange(w.selected)
    picks = np.where(seen[:, None] < w.selected, np.where(few < seen[:, None], few, 0), picks)
    return np.sort(picks, -1).astype(np.int32)
