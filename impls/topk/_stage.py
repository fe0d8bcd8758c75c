"""The stages of a workload: scores are given, or an indexer's; what is selected may be attended."""

from __future__ import annotations

from collections.abc import Callable

from harness import Unsupported

from .workload import TopkWorkload

WHAT = {
    "select": "takes scores",
    "indexer": "takes an indexer's queries, keys and weights",
    "attention": "attends what an indexer selects",
}


def only(stage: str) -> Callable[[TopkWorkload], None]:
    """A function that refuses workloads of another stage, for a semantics of this one."""

    def refuse(w: TopkWorkload) -> None:
        if w.stage != stage:
            raise Unsupported(f"stage={w.stage}: this {WHAT[stage]}; use stage={stage}")

    return refuse
