"""Context parallelism: every device attends its stripe to every other, and partial results are merged.

A device of a ring has every n-th token of a packed row, so that all have work under a causal mask. Each pair
of stripes needs its own lengths and offsets (layout `striped`), without the tokens that have no partner in
that pair. The n partial results of a query are merged using their largest logits. The result must equal
attention over the whole row, so one wrong offset among the n² pairs is detected. Here one program computes
the devices' parts in turn, without communication. TransformerEngine's THD attention over a ring (P2P), #2522.
"""

from dataclasses import replace

from harness import Unsupported, implementation

from ._thd_jax import attend_segments, join
from .segment_min import segment_min
from .workload import OffsetsWorkload


@implementation(framework="jax", semantics="attended")
def thd_ring(w: OffsetsWorkload, *, devices: int = 4):
    import jax.numpy as jnp

    if w.layout != "self":
        raise Unsupported(f"layout={w.layout}: a ring splits one row into stripes; use layout=self")
    if w.kind not in {"causal", "padding"}:
        raise Unsupported(f"kind={w.kind} gives other pairs on the indices of a stripe; use kind=causal")
    if devices < 1 or w.seq % devices:
        raise Unsupported(f"seq {w.seq} is not divisible by {devices} devices; use a divisor of seq")
    local = replace(w, seq=w.seq // devices, layout="striped")
    find = segment_min(local)

    def attend(segment_ids_q, segment_ids_kv, positions_q, positions_kv, q, k, v):
        def of_device(i):
            mine, queries = slice(i, None, devices), q[:, i::devices]
            parts = []
            for j in range(devices):
                other = slice(j, None, devices)
                found = find(
                    segment_ids_q[:, mine],
                    segment_ids_kv[:, other],
                    positions_q[:, mine],
                    positions_kv[:, other],
                )
                parts.append(attend_segments(local, found, queries, k[:, other], v[:, other]))
            return join(parts, q.dtype)

        stripes = jnp.stack([of_device(i) for i in range(devices)], axis=2)
        return stripes.reshape(q.shape)

    return attend
