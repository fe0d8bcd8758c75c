"""The stages of a workload: given scores, an indexer's scores, or attention to the selection."""

from __future__ import annotations

from collections.abc import Callable

from harness import Unsupported

from .workload import TopkWorkload

WHAT = {
    "select": "takes scores",
    "indexer": "takes an indexer's queries, keys and weights",
    "attention": "attends to what an indexer selects",
}


def only(stage: str) -> Callable[[TopkWorkload], None]:
    """For the semantics of one stage: a function that refuses workloads of another stage."""

    def refuse(w: TopkWorkload) -> None:
        if w.stage != stage:
            raise Unsupported(f"stage={w.stage}: this {WHAT[stage]}; use stage={stage}")

    return refuse
