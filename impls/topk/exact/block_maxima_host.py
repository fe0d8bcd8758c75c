"""Block maxima on the host: torch takes the maxima and gathers blocks; numpy selects from those.

The algorithm of `block_maxima`, with each step in the library that is faster on a CPU. Torch takes the maxima
of short contiguous blocks at memory speed, on all threads. Numpy partitions with the processor's vector
instructions, several times as fast as `torch.topk` selects. The candidates go through a second level of
maxima. Both libraries use the same memory.
"""

from harness import Unsupported, implementation, stage

from ..workload import TopkWorkload
from .block_maxima import count

AGAIN = 8  # candidates that share a second maximum


@implementation(framework="torch", semantics="exact")
def block_maxima_host(w: TopkWorkload, *, block: int = 64):
    import numpy as np
    import torch

    blocks, rows = count(w, block), w.batch * w.rows
    wide = w.dtype in {"bf16", "f16"}  # numpy has no bf16, and compares f16 one by one
    again = w.topk * block // AGAIN
    thin = block % AGAIN == 0 and again > w.topk
    row, steps = np.arange(rows)[:, None], np.arange(AGAIN)[:, None]

    def largest(keys):
        # numpy sorts NaN after all numbers, so it counts as the largest, as in torch.topk; maxima propagate
        # it.
        return keys.argpartition(-w.topk, axis=1)[:, -w.topk :]

    def on_host(tensor):
        return (tensor.float() if wide else tensor).numpy()

    def places(held):
        """Indices of the k largest candidates in each row."""
        if not thin:
            return largest(held)
        top = largest(np.maximum.reduce(held.reshape(rows, AGAIN, again), axis=1))
        members = (top[:, None] + again * steps).reshape(rows, -1)
        chosen = largest(held.reshape(-1).take(members + row * held.shape[1]))
        return members.reshape(-1).take(chosen + row * members.shape[1])

    def select(scores):
        if scores.device.type != "cpu":
            raise Unsupported("numpy can access host memory only; use block_maxima")
        grid = scores.reshape(rows, blocks, block)
        with stage("maxima"):
            maxima = on_host(grid.amax(dim=-1))
        with stage("select"):
            kept = largest(maxima)
        with stage("gather"):
            chosen = torch.from_numpy((kept + row * blocks).reshape(-1))
            held = grid.reshape(-1, block).index_select(0, chosen)
        with stage("select"):
            place = places(on_host(held).reshape(rows, -1))
        with stage("gather"):
            columns = kept.reshape(-1).take(place // block + row * w.topk) * block + place % block
            values = held.reshape(rows, -1).gather(1, torch.from_numpy(place))
        shape = (w.batch, w.rows, w.topk)
        return values.reshape(shape), torch.from_numpy(columns).reshape(shape)

    return select
