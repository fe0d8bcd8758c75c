"""Native sparse attention as MSLK's kernels compute it (#296): its published times are for this.

`nsa_mslk` is the formula; the kernels read whole blocks of 128 tokens around the selected ones, count block 0
again for missing picks if `block` is 128 or more, and read window + 1 keys.
"""

from harness import implementation

from ..workload import AttentionWorkload
from ._torch import Form, attention


@implementation(framework="torch", semantics="nsa_mslk_upstream")
def nsa_mslk_upstream(w: AttentionWorkload):
    return attention(w, Form(upstream=True))
