"""XLA's plan for `approx_max_k` (its `approx_topk_shape.cc`), and the recall that it promises.

On a TPU the first stage keeps the best of every group of 2^log2 scores, and a sort of these candidates gives
the answer. Other backends make the same plan, but then select from the whole row.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log, log2
from typing import Any

from ._expected_recall import expected_recall
from .workload import TopkWorkload

TILE, FLAT_TILE = 128, 1024  # candidates are a multiple of this; the second is for scores of one dimension
FIRST_STAGE = "PartialReduce"  # the call in a TPU's program if it approximates
EXACT_BY_FALLBACK = "exact by fallback"


@dataclass(frozen=True)
class Plan:
    """The first stage returns `candidates` scores, the best of every group of 2^`log2`."""

    candidates: int
    log2: int


def plan(seq: int, topk: int, recall: float, *, logical: int | None = None, rank: int = 3) -> Plan:
    """The plan for rows of `seq` scores; `logical` is the length of the full row that they belong to.

    A group has one score (log2 0) if larger groups would miss `recall` by XLA's bound, about twice the true
    loss. Then nothing is approximated.
    """
    tile = FLAT_TILE if rank == 1 else TILE
    whole = seq if logical is None else logical
    if seq <= tile:
        return Plan(seq, 0)
    # The largest score is the best of its group, however large the group is.
    if topk == 1:
        return Plan(tile, ceil(log2(ceil(whole / tile))))
    if recall >= 1:
        return Plan(seq, 0)
    # L groups reach a recall of about (1 − 1/L)^(k − 1) ≈ exp((1 − k)/L), here solved for L (TPU-KNN, arXiv
    # 2206.14286).
    groups = min(max(floor((1 - topk) / log(recall)), tile), whole)
    reduction = floor(log2(whole // groups))
    if reduction == 0:
        return Plan(seq, 0)
    reduction = min(reduction, ceil(log2(seq // tile)))
    return Plan(ceil(ceil(seq / tile) / 2**reduction) * tile, reduction)


def plan_of(w: TopkWorkload, shards: int = 1) -> Plan:
    """A shard's plan, with the whole row as its logical length."""
    return plan(w.seq // shards, w.topk, w.recall, logical=w.seq)


def plan_facts(w: TopkWorkload, static: Any, shards: int = 1) -> dict[str, float | int | str | None]:
    """Facts of this case: its plan, and whether the compiled program follows it."""
    planned = plan_of(w, shards)
    return {
        "planned_log2_reduction": planned.log2,
        "candidates": planned.candidates * shards,
        "approximation": _plan_outcome(planned, static),
    }


def _plan_outcome(planned: Plan, static: Any) -> str | None:
    if planned.log2 == 0:
        return "not planned: no group would hold two scores"
    if FIRST_STAGE in static.custom_calls:
        return "engaged"
    return EXACT_BY_FALLBACK if static.program else None


def expected_recall_of(w: TopkWorkload, static: Any, options: Any) -> float | None:
    """Recall of a plan of buckets under random placement; None if no plan is known.

    The plan comes from an implementation's own options, or from the operator if the program calls it.
    """
    if {"buckets", "keep"} <= set(options):
        return expected_recall(w.seq, w.topk, options["buckets"], options["keep"])
    if FIRST_STAGE not in static.custom_calls:
        return None
    shards = options.get("shards", 1)
    groups = plan_of(w, shards).candidates * shards
    return None if w.seq % groups else expected_recall(w.seq, w.topk, groups, 1)
