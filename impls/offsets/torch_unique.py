"""Runs by torch's `unique_consecutive`; partners by binary search among sorted (id, key) pairs.

A query has a partner if the nearest key in its segment is within reach. Under a causal mask this is the last
key at or before it; under bottom_right the next that has as many tokens left; in a sliding window one less
than `window` before it. Both sides search the other's sorted pairs, so all kinds and ids of any size are
supported, in O(T log T). Lengths and starts come from the runs that remain. The number of runs per row is not
known in advance.
"""

from harness import implementation, stage

from .workload import OffsetsWorkload


@implementation(framework="torch", semantics="exact")
def torch_unique(w: OffsetsWorkload):
    import torch

    step = 2**32  # between ids: more than two positions can differ by
    reach = w.window if w.kind == "sliding" else 2**31

    def left_in_run(ids, positions):
        _, run, lengths = torch.unique_consecutive(ids, return_inverse=True, return_counts=True)
        return lengths[run] - positions

    def pairs(ids, positions):
        """(id, key) as one ascending number: the mask allows a partner at or before it, within reach."""
        if w.kind == "padding":
            return ids.long() * step
        if w.kind == "bottom_right":
            return ids.long() * step - left_in_run(ids, positions)
        return ids.long() * step + positions

    def tail(ids):
        runs, lengths = torch.unique_consecutive(ids, return_counts=True)
        starts = torch.cumsum(lengths, 0) - lengths
        tokens = runs != 0
        counts = torch.zeros(w.max_segments + 1, dtype=torch.int64, device=ids.device)
        inside = tokens & (runs <= w.max_segments)
        counts.index_add_(0, runs[inside].long(), lengths[inside])
        offsets = torch.full((w.max_segments + 1,), -1, dtype=torch.int64, device=ids.device)
        segment_starts = starts[tokens][: w.max_segments + 1]
        offsets[: len(segment_starts)] = segment_starts
        return counts[1:].int(), offsets.int()

    def of_row(ids_q, ids_kv, positions_q, positions_kv):
        with stage("encode"):
            q, kv = pairs(ids_q, positions_q), pairs(ids_kv, positions_kv)
        with stage("sort"):
            sides = ((q, ids_q), (kv, ids_kv))
            sorted_q, sorted_kv = (torch.sort(side[ids != 0]).values for side, ids in sides)
        if not len(sorted_q) or not len(sorted_kv):
            return *tail(ids_q * 0), *tail(ids_kv * 0)
        with stage("search"):
            before = torch.searchsorted(sorted_kv, q, right=True) - 1
            behind = torch.searchsorted(sorted_q, kv)
            # Pairs of different ids are at least 2³² − 2³¹ apart, so
            # a partner within reach is of the same segment.
            met_q = (before >= 0) & (q - sorted_kv[before.clamp(min=0)] < reach)
            met_kv = (behind < len(sorted_q)) & (sorted_q[behind.clamp(max=len(sorted_q) - 1)] - kv < reach)
        with stage("count"):
            return *tail(ids_q * met_q), *tail(ids_kv * met_kv)

    def offsets(segment_ids_q, segment_ids_kv, positions_q, positions_kv):
        rows = zip(segment_ids_q, segment_ids_kv, positions_q, positions_kv, strict=True)
        q_len, q_off, kv_len, kv_off = (
            torch.stack(part) for part in zip(*(of_row(*row) for row in rows), strict=True)
        )
        return q_len, kv_len, q_off, kv_off

    return offsets
