"""Inputs of stages with given blocks, or with one query and a cache with block means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness import Array, Shapes, Unsupported, cast

from . import _stage_inputs as of_others
from ._queries import refuse_distribution, relate
from .workload import AttentionWorkload

PAPER_STAGES = ("given_blocks", "decode", "chunk")


def shapes(w: AttentionWorkload) -> Shapes:
    refuse_distribution(w)
    if w.stage not in PAPER_STAGES:
        return of_others.shapes(w)
    if w.heads % w.kv_heads:
        raise Unsupported(f"heads {w.heads} is not a multiple of kv_heads {w.kv_heads}; choose a multiple")
    if w.varlen or not w.causal:
        raise Unsupported(f"stage={w.stage} takes one causal sequence; use varlen=false and causal=true")
    if w.query_count > w.seq:
        raise Unsupported(f"queries {w.queries} exceed the {w.seq} tokens; use fewer queries or a longer seq")
    query = Array((w.batch, w.query_count, w.heads, w.head_dim), w.dtype)
    key = Array((w.batch, w.seq, w.kv_heads, w.head_dim), w.dtype)
    arrays = {"q": query, "k": key, "v": key}
    if w.stage == "chunk":
        return arrays
    if w.stage == "given_blocks":
        picks = Array((w.batch, w.kv_heads, w.seq, min(w.selected, -(-w.seq // w.block))), "i32")
        return {**arrays, "picks": picks}
    mean = Array((w.batch, _means(w), w.kv_heads, w.head_dim), w.dtype)
    arrays |= {"means_k": mean, "means_v": mean}
    return arrays | ({"gates": Array((w.batch, 1, w.heads, 3), w.dtype)} if w.gated else {})


def inputs(w: AttentionWorkload, rng: Any) -> Mapping[str, Any]:
    """Normal q, k, v, and gates as a sigmoid of normals. Means of the rounded keys and values, rounded.

    Picks are distinct blocks that begin no later than the query, each choice equally likely; −1 if there are
    fewer.
    """
    import numpy as np

    if w.stage not in PAPER_STAGES:
        return of_others.inputs(w, rng)
    drawn = np.float64 if w.dtype == "f64" else np.float32
    arrays = {}
    for name, array in shapes(w).items():
        if isinstance(array, Array) and name in {"q", "k", "v", "gates"}:
            values = rng.standard_normal(array.shape, dtype=drawn)
            arrays[name] = cast(1 / (1 + np.exp(-values)) if name == "gates" else values, w.dtype)
    arrays = relate(w, arrays, rng)
    if w.stage == "chunk":
        return arrays
    if w.stage == "decode":
        return arrays | _both_means(w, arrays)
    blocks = np.arange(-(-w.seq // w.block))
    future = blocks > (np.arange(w.seq) // w.block)[:, None]
    ranks = rng.random((w.batch, w.kv_heads, w.seq, len(blocks)), dtype=np.float32) + future
    picks = np.argsort(ranks, axis=-1)[..., : w.selected]
    unseen = np.take_along_axis(ranks, picks, -1) >= 1
    return arrays | {"picks": np.where(unseen, -1, picks).astype(np.int32)}


def complete(w: AttentionWorkload, arrays: dict[str, Any], given: frozenset[str]) -> dict[str, Any]:
    """Add the block means of captured keys and values; lengths must begin at 0, ascend, and end at `seq`."""
    import numpy as np

    cuts = arrays.get("cu_seqlens")
    if cuts is not None and not (cuts[0] == 0 and cuts[-1] == w.seq and (np.diff(cuts) > 0).all()):
        raise ValueError(f'"cu_seqlens" must ascend from 0 to seq, {w.seq}; it is {cuts.tolist()}')
    if w.stage == "decode" and given & {"k", "v"} and not given & {"means_k", "means_v"}:
        return arrays | _both_means(w, arrays)
    return arrays


def _both_means(w: AttentionWorkload, arrays: Mapping[str, Any]) -> dict[str, Any]:
    import numpy as np

    wide = np.float64 if w.dtype == "f64" else np.float32
    return {f"means_{name}": cast(_mean(w, arrays[name].astype(wide)), w.dtype) for name in "kv"}


def _means(w: AttentionWorkload) -> int:
    """Number of whole compression blocks of the cache."""
    length, stride = w.compression
    return max(0, (w.seq - length) // max(stride, 1) + 1)


def _mean(w: AttentionWorkload, x: Any) -> Any:
    """The mean of every compression block, [b, blocks, kv_heads, d]."""
    import numpy as np

    length, stride = w.compression
    if not _means(w):
        return x[:, :0]
    return np.lib.stride_tricks.sliding_window_view(x, length, axis=1)[:, ::stride].mean(-1)
