"""Count ids directly: one bincount, and one comparison with the preceding token (review of #2522).

Ignores positions and the other side, so a token counts even without a partner. This is right for
self-attention. It is wrong for a query shorter than its keys, an absent segment, or a ring's stripe.
"""

from harness import implementation

from ._lengths import tail
from .family import fails_by_counting, partnerless
from .workload import OffsetsWorkload


@implementation(
    framework="jax",
    semantics="exact",
    expect={
        "incorrect": "counts tokens without a partner: the form proposed in review of #2522",
        "when": partnerless,
    },
    fails=fails_by_counting,
)
def bincount(w: OffsetsWorkload):
    def offsets(segment_ids_q, segment_ids_kv):
        return tail(segment_ids_q, segment_ids_kv, w.max_segments)

    return offsets
