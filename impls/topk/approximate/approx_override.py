"""`lax.approx_max_k` on shards with `reduction_input_size_override=seq` (the whole length), then a merge.

Without the override, a shard would plan its groups for its own length, and be exact if each group has one
score, for example for 16384 columns at topk 2048 and recall 0.95. As one of eight with the override, it plans
for 131072 and halves what it returns (MaxText #4243 under context parallelism; jax's `ann.py` has the option
for this). The largest of all shards' candidates are then selected exactly. On CPU the operator sorts, and the
candidates are the shard's largest: the recall is 1 if a shard returns k of them.
"""

from harness import Unsupported, implementation

from .._approx_plan import plan_facts
from ..workload import TopkWorkload


@implementation(
    framework="jax",
    semantics="recall",
    facts=lambda w, static, options: plan_facts(w, static, options["shards"]),
)
def approx_override(w: TopkWorkload, *, shards: int = 8):
    import jax.numpy as jnp
    from jax import lax

    if shards < 1 or w.seq % shards:
        raise Unsupported(f"seq {w.seq} does not divide into {shards} shards; use a divisor")
    size = w.seq // shards
    if size < w.topk:
        raise Unsupported(f"a shard has {size} scores, fewer than topk {w.topk}; use fewer shards")

    def select(scores):
        candidates, columns = lax.approx_max_k(
            scores.reshape(w.batch, w.rows, shards, size),
            w.topk,
            recall_target=w.recall,
            reduction_input_size_override=w.seq,
            aggregate_to_topk=False,
        )
        columns += size * jnp.arange(shards, dtype=columns.dtype)[:, None]
        candidates, columns = (part.reshape(w.batch, w.rows, -1) for part in (candidates, columns))
        values, places = lax.top_k(candidates, w.topk)
        return values, jnp.take_along_axis(columns, places, axis=-1)

    return select
