"""`nsa_mslk` whose compressed branch visits every block mean and masks the later ones: twice its FLOPs.

This is MSLK #296's `mask_mod`. With its `compress_factor`, and in `nsa_mslk`, means after the queries of a
step are skipped. There is a difference from the second step on.
"""

from harness import implementation

from ..workload import AttentionWorkload
from ._torch import Form, attention


@implementation(framework="torch", semantics="nsa_mslk")
def nsa_mslk_mask_mod(w: AttentionWorkload):
    return attention(w, Form(skip=False))
