"""Inputs of attention: queries, keys, values and the additional inputs of a sparse form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness import Array, Shapes, Unsupported, cast, packed_rows

from ._queries import relate
from .workload import AttentionWorkload


def refuse(w: AttentionWorkload) -> None:
    """Raise :class:`Unsupported` for what no stage defines, naming the field."""
    if w.heads % w.kv_heads:
        raise Unsupported(f"heads {w.heads} is not a multiple of kv_heads {w.kv_heads}; choose a multiple")
    if w.varlen and w.batch != 1:
        raise Unsupported(f"varlen packs sequences into one row, not into batch {w.batch}; use batch 1")
    if w.varlen and w.cuts == "60_40" and w.segments != 2:
        raise Unsupported(f"cuts=60_40 packs two sequences, not {w.segments}; use segments=2")
    if w.varlen and w.sequences > w.seq:
        raise Unsupported(f"seq {w.seq} is too short for {w.segments} segments; use a longer seq")
    if w.lengths != "uniform" and not w.varlen:
        raise Unsupported(f"lengths={w.lengths} needs packed documents; use varlen=true")


def shapes(w: AttentionWorkload) -> Shapes:
    refuse(w)
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
        arrays["cu_seqlens"] = Array((w.sequences + 1,), "i32")
    return arrays


def inputs(w: AttentionWorkload, rng: Any) -> Mapping[str, Any]:
    """Normal q, k, v and indexer; gates are a sigmoid of normals; segments are cut as `cuts` says.

    Documents of real lengths are in random order, with a row's padding last. Queries and keys are then
    related as :func:`relate` says.
    """
    import numpy as np

    drawn = np.float64 if w.dtype == "f64" else np.float32
    arrays = {}
    for name, array in shapes(w).items():
        if not isinstance(array, Array) or name == "cu_seqlens":
            continue
        values = rng.standard_normal(array.shape, dtype=drawn)
        arrays[name] = cast(1 / (1 + np.exp(-values)) if name == "gates" else values, w.dtype)
    if w.varlen:
        if w.packed:
            documents = packed_rows(w.lengths, w.packing, w.packing_seed, w.seq, 1)[0]
            cuts = np.cumsum(rng.permutation(documents))[: w.sequences - 1]
        elif w.cuts == "60_40":
            cuts = np.array([w.seq * 3 // 5])
        elif w.cuts == "uniform":
            cuts = np.arange(1, w.segments) * w.seq // w.segments
        else:
            cuts = np.sort(rng.choice(w.seq - 1, w.segments - 1, replace=False) + 1)
        arrays["cu_seqlens"] = np.concatenate([[0], cuts, [w.seq]]).astype(np.int32)
    return relate(w, arrays, rng)
