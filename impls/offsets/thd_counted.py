"""Packed attention over lengths that are counted from the ids alone: `thd_masked` by `bincount`'s offsets.

What the form proposed in review of TransformerEngine #2522 does to a result. A query shorter than its keys
is none the worse: a causal mask hides the keys that were counted too many. In a ring's stripe the first
query that was not dropped moves every pair of its segment by one.
"""

from harness import Unsupported, implementation

from ._lengths import tail
from ._thd_jax import attend_segments, join
from .workload import OffsetsWorkload


def moves_pairs(w: OffsetsWorkload) -> bool:
    """Whether every seeded row has a segment whose pairs are moved: its first token is a query."""
    return w.layout == "striped" and w.kind == "causal"


@implementation(
    framework="jax",
    semantics="attended",
    expect={"incorrect": "a stripe's first query meets a key that lies behind it", "when": moves_pairs},
)
def thd_counted(w: OffsetsWorkload):
    if w.layout == "absent" or (w.layout == "striped" and w.kind == "bottom_right"):
        raise Unsupported(
            f"kind={w.kind}, layout={w.layout}: which segments are drawn decides whether counting suffices; "
            "use thd_masked"
        )

    def attend(segment_ids_q, segment_ids_kv, q, k, v):
        counted = tail(segment_ids_q, segment_ids_kv, w.max_segments)
        return join([attend_segments(w, counted, q, k, v)], q.dtype)

    return attend
