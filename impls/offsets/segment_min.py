"""Per-segment extremes by `segment_min` and `segment_max`: the merged rule of #2522 without its one-hot.

Linear in seq, independent of max_segments. Extremes are computed for every id up to the longer row's length,
since ids numbered from 1 give no more segments than tokens. They are also computed up to max_segments, since
a stripe of a ring may have fewer tokens than that. Segments beyond max_segments therefore have correct
offsets. An empty extreme is the int32 limit, which no key exceeds.
"""

from harness import Unsupported, implementation

from ._lengths import left_in_run, tail
from .workload import OffsetsWorkload


@implementation(framework="jax", semantics="exact")
def segment_min(w: OffsetsWorkload):
    import jax
    import jax.numpy as jnp
    from jax.ops import segment_max
    from jax.ops import segment_min as minimum

    if w.kind == "sliding":
        raise Unsupported("kind=sliding: segments' extremes do not decide a sliding window; use kind=causal")
    ids = max(w.seq, w.keys, w.max_segments) + 1

    def of_row(q, kv, keys_q, keys_kv):
        """Which queries reach no further than the largest key, and which keys at least the least query."""
        met_q = keys_q <= segment_max(keys_kv, kv, num_segments=ids)[q]
        met_kv = keys_kv >= minimum(keys_q, q, num_segments=ids)[kv]
        return jnp.where(met_q, q, 0), jnp.where(met_kv, kv, 0)

    def offsets(segment_ids_q, segment_ids_kv, positions_q, positions_kv):
        q, kv = segment_ids_q, segment_ids_kv
        if w.kind == "bottom_right":
            keys = left_in_run(q, positions_q), left_in_run(kv, positions_kv)
        elif w.kind == "causal":
            # With negated keys, "at or after the least key" becomes bottom_right's "no further than the
            # largest".
            keys = -positions_q, -positions_kv
        else:
            keys = jnp.zeros_like(q), jnp.zeros_like(kv)
        return tail(*jax.vmap(of_row)(q, kv, *keys), w.max_segments)

    return offsets
