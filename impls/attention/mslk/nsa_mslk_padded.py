"""`nsa_mslk` of packed sequences as a batch as long as the longest: what the native way saves (MSLK #296).

Zeros behind a sequence are no tokens: they enter no mean, and no block of them can be picked.
"""

from harness import Unsupported, implementation

from ..workload import AttentionWorkload
from ._torch import Form, attention


@implementation(framework="torch", semantics="nsa_mslk")
def nsa_mslk_padded(w: AttentionWorkload):
    if not w.varlen:
        raise Unsupported(
            "varlen=false: one sequence needs no padding; use varlen=true or attention/nsa_mslk"
        )
    return attention(w, Form(), pad=True)
