"""Inputs of stages that are measured separately: random results of the preceding stage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness import Array, Shapes, Unsupported, cast

from . import _inputs
from .workload import KERNEL_BLOCK, AttentionWorkload


def shapes(w: AttentionWorkload) -> Shapes:
    """Inputs of attention, or of the stage that is measured separately."""
    return _inputs.shapes(w) if w.stage == "attention" else shapes_of_stage(w)


def inputs(w: AttentionWorkload, rng: Any) -> Mapping[str, Any]:
    return _inputs.inputs(w, rng) if w.stage == "attention" else stage_inputs(w, rng)


def shapes_of_stage(w: AttentionWorkload) -> Shapes:
    _refuse(w)
    picks = _picks(w)
    query = Array((w.batch, w.seq, w.heads, w.head_dim), w.dtype)
    key = Array((w.batch, w.seq, w.kv_heads, w.head_dim), w.dtype)
    if w.stage == "compress":
        return {"k": key, "v": key}
    if w.stage == "select":
        scoring = "f64" if w.dtype == "f64" else "f32"
        return {"q": query, "means": Array((w.batch, w.seq // w.block, *key.shape[2:]), scoring)}
    if w.stage == "block_lists":
        return {"picks": picks}
    if w.stage == "transposed_lists":
        lists = Array((*picks.shape[:-1], width(w)), "i32")
        return {"blocks": lists, "counts": Array(picks.shape[:-1], "i32")}
    branches = dict.fromkeys(("compressed", "selected", "window"), query)
    return branches | ({"gates": Array((*query.shape[:3], 3), w.dtype)} if w.gated else {})


def stage_inputs(w: AttentionWorkload, rng: Any) -> Mapping[str, Any]:
    """Normal arrays, gates that are a sigmoid of normals, and distinct picks."""
    import numpy as np

    if w.stage == "block_lists":
        return {"picks": draw_picks(w, rng)}
    if w.stage == "transposed_lists":
        return lists_of(w, draw_picks(w, rng))
    drawn = np.float64 if w.dtype == "f64" else np.float32
    arrays = {}
    for name, array in shapes_of_stage(w).items():
        assert isinstance(array, Array)
        values = rng.standard_normal(array.shape, dtype=drawn)
        arrays[name] = cast(1 / (1 + np.exp(-values)) if name == "gates" else values, array.dtype)
    return arrays


def width(w: AttentionWorkload) -> int:
    """Largest number of blocks in a list: those of all picks, or all there are."""
    return min(w.selected * max(1, w.block // KERNEL_BLOCK), -(-w.seq // KERNEL_BLOCK))


def lists_of(w: AttentionWorkload, picks: Any) -> Mapping[str, Any]:
    """Lists of the kernel's blocks, each once, ascending, −1 after their count."""
    import numpy as np

    whole, parts, none = max(1, KERNEL_BLOCK // w.block), max(1, w.block // KERNEL_BLOCK), w.seq
    read = np.sort((picks[..., None] // whole * parts + np.arange(parts)).reshape(*picks.shape[:-1], -1), -1)
    read[..., 1:][read[..., 1:] == read[..., :-1]] = none
    blocks = np.sort(read, -1)[..., : width(w)]
    counts = (blocks < none).sum(-1, dtype=np.int32)
    return {"blocks": np.where(blocks < none, blocks, -1).astype(np.int32), "counts": counts}


def _refuse(w: AttentionWorkload) -> None:
    """Raise :class:`Unsupported` for what a single stage does not define, naming the field."""
    _inputs.refuse(w)
    if not w.causal:
        raise Unsupported("causal=false: picks are those of causal selection; use causal=true")
    if w.varlen:
        raise Unsupported("varlen=true: a single stage takes one sequence; use varlen=false")
    if w.seq % w.block:
        raise Unsupported(f"seq {w.seq} is not a multiple of block {w.block}; choose a multiple")
    if w.stage in {"block_lists", "transposed_lists"} and w.block % KERNEL_BLOCK and KERNEL_BLOCK % w.block:
        raise Unsupported(f"block {w.block}: the kernel's blocks have 128 tokens; use a divisor or multiple")


def _picks(w: AttentionWorkload) -> Array:
    return Array((w.batch, w.heads, -(-w.seq // w.tile), w.selected), "i32")


def draw_picks(w: AttentionWorkload, rng: Any) -> Any:
    """Distinct blocks that begin before their tile's end, each choice equally likely; sorted.

    A tile that sees fewer than `selected` picks them all, and 0 for the rest. This is Floyd's sampling: a
    number that is already taken is replaced by the largest one of the step.
    """
    import numpy as np

    shape = _picks(w)
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
