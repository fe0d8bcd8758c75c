"""Move the non-zero ids to the front of the row, then count them: the first version of #2522.

Gives the same result as `bincount`, except −1 for the length of an unused slot. The compaction is unnecessary
work, because bincount puts padding into slot 0 anyway. Also ignores positions and the other side.
"""

from harness import implementation

from ._lengths import offsets_of
from .family import fails_by_counting, partnerless
from .workload import OffsetsWorkload


@implementation(
    framework="jax",
    semantics="exact",
    expect={
        "incorrect": "counts tokens without a partner: the first version of #2522",
        "when": partnerless,
    },
    fails=fails_by_counting,
)
def compact_bincount(w: OffsetsWorkload):
    import jax
    import jax.numpy as jnp

    def lengths(ids):
        def of_row(row):
            places = jnp.where(row != 0, size=row.shape[0], fill_value=-1)[0]
            front = jnp.where(places >= 0, row[jnp.maximum(places, 0)], 0)
            return jnp.bincount(front, length=w.max_segments + 1)[1:]

        counts = jax.vmap(of_row)(ids).astype(jnp.int32)
        return jnp.where(counts == 0, -1, counts)

    def offsets(segment_ids_q, segment_ids_kv):
        return (
            lengths(segment_ids_q),
            lengths(segment_ids_kv),
            offsets_of(segment_ids_q, w.max_segments),
            offsets_of(segment_ids_kv, w.max_segments),
        )

    return offsets
