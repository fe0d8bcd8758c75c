"""`nsa_mslk` of packed sequences, padded to a batch as long as the longest: shows the padding's cost (#296).

Zeros after a sequence are not tokens: they enter no mean, and no block of them can be picked.
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
