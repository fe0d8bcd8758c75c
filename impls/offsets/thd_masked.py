"""Packed attention by segment lengths and offsets, with a T × T mask (semantics `attended`).

Computes the offsets and then what TransformerEngine's THD attention computes from them, in one program.
Option `of` names the implementation that gives the offsets. A wrong start or length is a wrong result here,
while the offsets themselves may look plausible. All pairs of tokens are compared; cuDNN's kernel skips pairs
of different segments. TransformerEngine #2522.
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
