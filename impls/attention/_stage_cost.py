"""Minimum work of single stages: inputs are read once, results are written once."""

from __future__ import annotations

from math import prod

from harness import Array, Cost

from ._cost import tile_scoring
from ._stage_inputs import shapes_of_stage
from .workload import KERNEL_BLOCK, AttentionWorkload


def compress_cost(w: AttentionWorkload) -> Cost:
    """An addition for every element of keys and values."""
    read = _arrays(w)
    return Cost(
        flops=float(sum(prod(array.shape) for array in read)), bytes=_nbytes(read) * (1 + 1 / w.block)
    )


def select_cost(w: AttentionWorkload) -> Cost:
    """An addition for each element of the queries, and a product of each tile and block before its end."""
    query, means = read = _arrays(w)
    picks = Array((w.batch, w.heads, -(-w.seq // w.tile), min(w.selected, means.shape[1])), "i32")
    products = 2.0 * w.batch * w.heads * w.head_dim * tile_scoring(w)
    return Cost(flops=prod(query.shape) + products, bytes=_nbytes([*read, picks]))


def transposed_cost(w: AttentionWorkload) -> Cost:
    """As many entries written as read, and a count for every block; there is nothing to multiply."""
    lists, counts = _arrays(w)
    turned = Array((w.batch, w.heads, -(-w.seq // KERNEL_BLOCK)), "i32")
    return Cost(bytes=_nbytes([lists, lists, counts, turned]))


def gate_cost(w: AttentionWorkload) -> Cost:
    """Three products and two sums for every element; ungated two sums and a division."""
    read = _arrays(w)
    each = 5.0 if w.gated else 3.0
    return Cost(flops=each * prod(read[0].shape), bytes=_nbytes([*read, read[0]]))


def _arrays(w: AttentionWorkload) -> list[Array]:
    return [array for array in shapes_of_stage(w).values() if isinstance(array, Array)]


def _nbytes(arrays: list[Array]) -> float:
    return float(sum(array.nbytes for array in arrays))
