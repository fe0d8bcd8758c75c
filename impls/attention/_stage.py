"""The stages of a workload: whole attention, or one part of it."""

from __future__ import annotations

from collections.abc import Callable

from harness import Unsupported

from .workload import AttentionWorkload

WHAT = {
    "attention": "takes as many queries as keys",
    "compress": "averages blocks of keys and values",
    "select": "picks blocks by their means",
    "block_lists": "makes lists of picks",
    "transposed_lists": "transposes lists of blocks",
    "gate": "adds gated branches",
    "given_blocks": "attends to given blocks",
    "decode": "takes one query and a cache",
    "chunk": "takes some queries and a cache",
}


def in_stage(w: AttentionWorkload, stage: str) -> None:
    """Raise :class:`Unsupported` if a workload's stage is not this implementation's."""
    if w.stage != stage:
        raise Unsupported(f"stage={w.stage}: this {WHAT[stage]}; use stage={stage}")


def only(stage: str) -> Callable[[AttentionWorkload], None]:
    """For the semantics of one stage: a function that refuses workloads of another stage."""
    return lambda w: in_stage(w, stage)
