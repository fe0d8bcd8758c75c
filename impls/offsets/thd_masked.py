"""Packed attention that walks segments by lengths and offsets, under a mask of T × T (semantics `attended`).

What TransformerEngine's THD attention is given, as one program with the offsets before it: `of` says whose.
A wrong start or length is a wrong result here, where the offsets alone may look plausible. All pairs
of tokens are compared; cuDNN's kernel skips those of other segments. TransformerEngine #2522.
"""

from typing import Literal

from harness import implementation

from ._thd_jax import attend_segments, join
from .mask_quadratic import mask_quadratic
from .onehot_minmax import onehot_minmax
from .run_length import run_length
from .segment_min import segment_min
from .workload import OffsetsWorkload

OF = {
    "mask_quadratic": mask_quadratic,
    "onehot_minmax": onehot_minmax,
    "run_length": run_length,
    "segment_min": segment_min,
}


@implementation(framework="jax", semantics="attended")
def thd_masked(
    w: OffsetsWorkload,
    *,
    of: Literal["mask_quadratic", "onehot_minmax", "run_length", "segment_min"] = "mask_quadratic",
):
    find = OF[of](w)

    def attend(segment_ids_q, segment_ids_kv, positions_q, positions_kv, q, k, v):
        found = find(segment_ids_q, segment_ids_kv, positions_q, positions_kv)
        return join([attend_segments(w, found, q, k, v)], q.dtype)

    return attend
