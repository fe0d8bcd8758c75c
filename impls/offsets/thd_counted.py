"""Packed attention with lengths counted from the ids only: `thd_masked` with `bincount`'s offsets.

Shows how the form proposed in review of TransformerEngine #2522 changes a result. A query shorter than its
keys still gets the right result: a causal mask hides the extra keys. In a ring's stripe, the first query
should have been dropped and shifts every pair of its segment by one.
"""

from harness import Unsupported, implementation

from ._lengths import tail
from ._thd_jax import attend_segments, join
from .workload import OffsetsWorkload


def moves_pairs(w: OffsetsWorkload) -> bool:
    """Whether every seeded row has a segment with shifted pairs: its first token is a query."""
    return w.layout == "striped" and w.kind == "causal"


@implementation(
    framework="jax",
    semantics="attended",
    expect={"incorrect": "a stripe's first query attends to a key after it", "when": moves_pairs},
)
def thd_counted(w: OffsetsWorkload):
    if w.layout == "absent" or (w.layout == "striped" and w.kind == "bottom_right"):
        raise Unsupported(
            f"kind={w.kind}, layout={w.layout}: whether counting suffices depends on the drawn segments; "
            "use thd_masked"
        )

    def attend(segment_ids_q, segment_ids_kv, q, k, v):
        counted = tail(segment_ids_q, segment_ids_kv, w.max_segments)
        return join([attend_segments(w, counted, q, k, v)], q.dtype)

    return attend
