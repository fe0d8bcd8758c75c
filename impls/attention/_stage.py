"""The stages of a workload: attention itself, or one part of it alone."""

from __future__ import annotations

from collections.abc import Callable

from harness import Unsupported

from .workload import AttentionWorkload

WHAT = {
    "attention": "takes as many queries as keys",
    "compress": "averages blocks of keys and values",
    "select": "picks blocks by their means",
    "block_lists": "makes lists of picks",
    "transposed_lists": "turns lists of blocks round",
    "gate": "adds gated branches",
    "given_blocks": "attends blocks that are given",
    "decode": "takes one query and a cache",
    "chunk": "takes some queries and a cache",
}


def in_stage(w: AttentionWorkload, stage: str) -> None:
    """Raise :class:`Unsupported` where a workload is of another stage than this answer."""
    if w.stage != stage:
        raise Unsupported(f"stage={w.stage}: this {WHAT[stage]}; use stage={stage}")


def only(stage: str) -> Callable[[AttentionWorkload], None]:
    """A function that refuses workloads of another stage, for a semantics of this one."""
    return lambda w: in_stage(w, stage)
