"""The stages of a workload: attention itself, or the lists of blocks that its kernel walks."""

from __future__ import annotations

from harness import Unsupported

from .workload import AttentionWorkload

WHAT = {"attention": "takes queries and keys", "block_lists": "makes lists of picks"}


def in_stage(w: AttentionWorkload, stage: str) -> None:
    """Raise :class:`Unsupported` where a workload is of another stage than this answer."""
    if w.stage != stage:
        raise Unsupported(f"stage={w.stage}: this {WHAT[stage]}; use stage={stage}")
