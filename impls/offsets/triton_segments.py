"""Runs in one Triton kernel: each program marks id changes in a block; the last to finish ends its row.

Programs do not wait for each other. Each adds one to its row's count when its marks are written. The one that
finds all others done joins the marks and then processes only the runs, as `run_length` does. Positions rise
within a run, so a binary search finds what is cut off its end. Reads every id once, and no position except at
the ends of runs. The only other launch clears one word per row.

A row may have any number of runs, and ids of any size. Comparing runs with runs grows with the square of
their number, in one program. Rows full of gaps therefore give right results, but slowly.
"""

from harness import Unsupported, implementation

from .workload import OffsetsWorkload

BLOCK, RUNS = 2048, 64


@implementation(framework="triton", semantics="exact")
def triton_segments(w: OffsetsWorkload):
    import torch

    from ._triton_segments import segments

    if w.kind == "sliding":
        raise Unsupported("kind=sliding: a run's ends do not decide it; use torch_unique or kind=causal")
    blocks_q, blocks_kv = -(-w.seq // BLOCK), -(-w.keys // BLOCK)
    blocks, places = blocks_q + blocks_kv, w.max_segments

    def offsets(segment_ids_q, segment_ids_kv, positions_q, positions_kv):
        def empty(size, dtype=torch.int32):
            return torch.empty((w.batch, size), dtype=dtype, device=segment_ids_q.device)

        lengths_and_offsets = (empty(places), empty(places), empty(places + 1), empty(places + 1))
        marks, counts = empty(blocks * BLOCK, torch.int16), empty(blocks)
        runs, arrived = empty(w.seq + w.keys + 2), empty(1).zero_()
        segments[(blocks, w.batch)](
            segment_ids_q, segment_ids_kv, positions_q, positions_kv,
            *lengths_and_offsets,
            marks, counts, runs, arrived,
            w.seq, w.keys, blocks_q, blocks_kv, places,
            w.kind, BLOCK, RUNS, num_warps=8,
        )  # fmt: skip
        return lengths_and_offsets

    return offsets
